"""Endpoints and profiles that people make, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from api.schemas.campaigns import WholeNumber
from api.schemas.catalogue import ProfileOut
from api.schemas.common import PRINTABLE, Input
from api.tc_preview import TcOut
from lastbyte.domain.courtesy import BudgetChange
from lastbyte.domain.endpoint import Endpoint, EndpointKind, endpoint_for_url
from lastbyte.domain.errors import InvalidInput, InvalidInputs
from lastbyte.domain.profile import Profile
from netem.profiles import parse_profiles

Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
Text = Annotated[str, StringConstraints(max_length=500, pattern=PRINTABLE)]

MAX_FAULTS = 50
PLACE = "body"

T = TypeVar("T")


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else value


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Strict = ConfigDict(strict=True, extra="forbid")


class BudgetIn(Input):
    """Where the courtesy budget of an endpoint's host differs from the default; null: as the default."""

    model_config = Strict

    requests_per_day: WholeNumber | None = Field(default=None, ge=0, le=1_000_000)
    bytes_per_day: WholeNumber | None = Field(default=None, ge=0, le=10**15)
    min_gap_s: Number | None = Field(default=None, ge=0, le=3600)

    def to_change(self) -> BudgetChange:
        """For the catalogue."""
        return BudgetChange(self.requests_per_day, self.bytes_per_day, self.min_gap_s)


class EndpointChangeIn(Input):
    """What an endpoint is."""

    model_config = ConfigDict(
        **Strict,
        json_schema_extra={
            "examples": [{"url": "https://example.org/100KB.bin", "provider": "example", "size_label": "100KB"}]
        },
    )

    url: Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=PRINTABLE)] = Field(
        description="https URL of the object."
    )
    provider: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)] | None = Field(
        default=None, description="Heading of its heatmap; null: its host."
    )
    size_label: Annotated[str, StringConstraints(min_length=1, max_length=50, pattern=PRINTABLE)] | None = Field(
        default=None, description="Nominal size, for example 100KB; null: the end of its path."
    )
    kind: EndpointKind = Field(default=EndpointKind.OBJECT, strict=False)
    expected_sha256: Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{64}$")] | None = Field(
        default=None, description="SHA-256 of the body; a trial that gets another one is a failure. Null: not asserted."
    )
    expected_bytes: WholeNumber | None = Field(
        default=None, ge=1, le=10**12, description="Body size to assert; null: not asserted."
    )
    budget: BudgetIn = Field(default=BudgetIn(), description="Its own courtesy budget.")

    def to_endpoint(self, endpoint_id: str) -> Endpoint:
        """The endpoint; raises InvalidInput naming the URL when it can't be fetched."""
        made = endpoint_for_url(self.url, ())
        return Endpoint(
            id=endpoint_id,
            provider=self.provider or made.provider,
            url=self.url,
            size_label=self.size_label or made.size_label[:50],
            kind=self.kind,
            origin=made.origin,
            expected_bytes=self.expected_bytes,
            expected_sha256=self.expected_sha256.lower() if self.expected_sha256 else None,
        )


class EndpointIn(EndpointChangeIn):
    """A new endpoint."""

    model_config = ConfigDict(
        **Strict,
        json_schema_extra={
            "examples": [
                {
                    "id": "example-100KB",
                    "url": "https://example.org/100KB.bin",
                    "provider": "example",
                    "size_label": "100KB",
                    "expected_bytes": 100000,
                    "budget": {"requests_per_day": 500},
                }
            ]
        },
    )

    id: Slug = Field(description="Letters, digits, dot, dash, underscore.")


class DirectionIn(Input):
    """What one direction does to packets; see docs/profiles.md for each field and its range."""

    model_config = Strict

    delay_ms: Number | None = None
    loss_pct: Number | None = None
    rate_mbit_s: Number | None = None
    queue_packets: WholeNumber | None = None
    queue_bdp: Number | None = None
    jitter_ms: Number | None = None
    jitter_distribution: Text | None = None
    jitter_correlation_pct: Number | None = None
    loss_correlation_pct: Number | None = None
    loss_gemodel: dict[str, Number] | None = None
    loss_state: dict[str, Number] | None = None
    reorder_pct: Number | None = None
    reorder_correlation_pct: Number | None = None
    reorder_gap: WholeNumber | None = None
    duplicate_pct: Number | None = None
    duplicate_correlation_pct: Number | None = None
    corrupt_pct: Number | None = None
    corrupt_correlation_pct: Number | None = None
    slot: dict[str, Number | WholeNumber] | None = None


class ChangeIn(Input):
    """What a step makes of one direction."""

    model_config = Strict

    delay_ms: Number | None = None
    jitter_ms: Number | None = None
    loss_pct: Number | None = None
    rate_mbit_s: Number | None = None
    rate_share: Number | None = None


class StepIn(Input):
    """From ``at_ms`` on, the profile with these changes."""

    model_config = Strict

    at_ms: Number
    both: ChangeIn | None = None
    downlink: ChangeIn | None = None
    uplink: ChangeIn | None = None


class TimelineIn(Input):
    """Changes while a trial runs."""

    model_config = Strict

    steps: list[StepIn] = Field(max_length=200)
    repeat_every_ms: Number | None = None


class ProfileChangeIn(Input):
    """What a profile does: as in netem/profiles.toml, ``both`` is what ``downlink`` and ``uplink`` start from."""

    model_config = ConfigDict(
        **Strict,
        json_schema_extra={"examples": [{"description": "Office", "both": {"delay_ms": 10, "rate_mbit_s": 50}}]},
    )

    description: Text = ""
    group: Text = ""
    source: Text = ""
    both: DirectionIn | None = None
    downlink: DirectionIn | None = None
    uplink: DirectionIn | None = None
    timeline: TimelineIn | None = None

    def to_profile(self, name: str) -> Profile:
        """The profile; raises InvalidInputs naming everything that can't be."""
        table = self.model_dump(exclude_none=True, exclude={"name", "base_rtt_ms"})
        return every_fault(lambda: parse_profiles({"profiles": {name: table}}, PLACE)[name], table, f"{PLACE}: {name}")


class ProfileIn(ProfileChangeIn):
    """A new profile."""

    model_config = ConfigDict(
        **Strict,
        json_schema_extra={
            "examples": [
                {
                    "name": "office",
                    "description": "Office uplink",
                    "both": {"delay_ms": 10, "rate_mbit_s": 50},
                    "downlink": {"loss_pct": 0.5},
                }
            ]
        },
    )

    name: Slug = Field(description="Letters, digits, dot, dash, underscore.")


class ProfilePreviewIn(ProfileChangeIn):
    """A profile to look at before it is made."""

    model_config = ConfigDict(
        **Strict, json_schema_extra={"examples": [{"both": {"delay_ms": 10, "loss_pct": 1}, "base_rtt_ms": 20}]}
    )

    name: Slug = "preview"
    base_rtt_ms: Number = Field(default=0.0, ge=0, le=10_000, description="Distance of the endpoint, in ms of RTT.")


class ProfilePreviewOut(ProfileOut):
    """The profile as it would be, and the commands that make it."""

    tc: TcOut


def every_fault(make: Callable[[], T], table: dict[str, Any], prefix: str) -> T:
    """What ``make`` makes of ``table``; raises InvalidInputs with all faults rather than the first.

    Each field that is found wrong is taken out of ``table`` and the rest looked at again.
    """
    faults: list[InvalidInput] = []
    while True:
        try:
            made = make()
        except InvalidInput as exc:
            field = exc.field.removeprefix(prefix).lstrip(".: ") or "name"
            faults.append(InvalidInput(field, exc.message, exc.remedy))
            if len(faults) >= MAX_FAULTS or not (_take_out(table, field) or _take_out(table, field.rpartition(".")[0])):
                raise InvalidInputs(faults) from exc
        else:
            if faults:
                raise InvalidInputs(faults)
            return made


def _take_out(table: dict[str, Any], field: str) -> bool:
    """Remove the field at this dotted place, in ``both`` where it came from there; False when it is nowhere."""
    if not field:
        return False
    *path, last = field.split(".")
    for start in (path, ["both", *path[1:]] if path[:1] in (["downlink"], ["uplink"]) else None):
        if start is None:
            continue
        place: Any = table
        for part in start:
            if isinstance(place, list) and part.isdigit() and int(part) < len(place):
                place = place[int(part)]
            else:
                place = place.get(part) if isinstance(place, dict) else None
        if isinstance(place, dict) and last in place:
            del place[last]
            return True
    return False
