"""Campaigns as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from api.schemas.common import PRINTABLE, EndpointName, Input, Moment, Name, Output, PageQuery, Timestamp
from lastbyte.domain.campaign import DEFAULT_EQUIVALENCE_PCT, MAX_ROUNDS, AaArms, CampaignState, Priority
from lastbyte.domain.capture import CapturePolicy
from lastbyte.ports import CampaignFilter, CampaignRecord
from lastbyte.services.campaigns import CampaignRequest, eta_s

MAX_NAMES = 1000
"""Longest list of endpoints, profiles or clients in one request."""


def _whole(value: Any) -> Any:
    # JSON has one kind of number: 10.0 is 10 there. Strings and booleans are not numbers.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _aa(value: Any) -> Any:
    return AaArms.BASELINE if value is True else AaArms.OFF if value is False else value


WholeNumber = Annotated[int, BeforeValidator(_whole)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MAX_NAMES)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=PRINTABLE)]
Labels = Annotated[list[Label], Field(max_length=20)]
EndpointNames = Annotated[list[EndpointName], Field(min_length=1, max_length=MAX_NAMES)]


class CampaignIn(Input):
    """endpoints x profiles x clients for so many rounds."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "loss on the testbed",
                    "endpoints": ["testbed-caddy-100KB", "testbed-caddy-1MB"],
                    "profiles": ["baseline", "loss-1"],
                    "clients": ["curl-quiche"],
                    "rounds": 10,
                    "seed": 42,
                }
            ]
        },
    )

    endpoints: EndpointNames = Field(description="Ids from GET /endpoints, or https URLs of your own.")
    profiles: Names = Field(description="Names from GET /profiles.")
    clients: Names = Field(description="Ids from GET /clients; the name of a program stands for all its protocols.")
    rounds: WholeNumber = Field(
        default=10, ge=1, le=MAX_ROUNDS, description="Counted rounds per cell; a warm-up round comes on top."
    )
    name: Annotated[str, StringConstraints(max_length=200, pattern=PRINTABLE)] = Field(
        default="", description="For people; one is made up when it is empty."
    )
    seed: WholeNumber | None = Field(
        default=None, ge=0, lt=2**63, description="Seed of the order of arms; drawn and stored when absent."
    )
    vantage: Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]*$")] | None = (
        Field(default=None, description="Where to measure from; null: the default place.")
    )

    aa: Annotated[AaArms, BeforeValidator(_aa)] = Field(
        default=AaArms.OFF,
        strict=False,
        description="Run the first H2 client (`baseline`, or true), or also the first H3 client (`both`), twice in "
        "each round, as an arm `<client>@aa`: how far a client seems to differ from itself.",
    )
    max_rounds: WholeNumber | None = Field(
        default=None,
        ge=1,
        le=MAX_ROUNDS,
        description="Sequential stopping: a cell has at least `rounds` and goes on until its answer is known, up to "
        "this many. Null: just `rounds`.",
    )
    target_width_pct: Annotated[float, BeforeValidator(_number)] | None = Field(
        default=None, gt=0, le=1000, description="Width of a narrow enough interval in percent; null: 4."
    )
    equivalence_pct: Annotated[float, BeforeValidator(_number)] = Field(
        default=DEFAULT_EQUIVALENCE_PCT, gt=0, le=100, description="Differences up to this much count as none."
    )
    labels: Labels = Field(default=[], description="Words by which it is found again, for example `nightly`.")
    capture: CapturePolicy = Field(
        default=CapturePolicy.NEVER,
        strict=False,
        description="Rounds on top in which packets, TLS secrets and qlog are kept; never counted, since watching "
        "perturbs. `last-round`: one; `last-three-rounds`: three.",
    )

    tls_groups: list[Literal["X25519MLKEM768", "X25519", "P-256", "P-384", "P-521"]] = Field(
        default=[],
        max_length=5,
        description="Key exchange groups that every client offers, the preferred one first, and no other. "
        "Empty: each program's own choice.",
    )
    priority: Priority = Field(
        default=Priority.NORMAL,
        strict=False,
        description="Whose cells its vantage measures first, among those that wait; a cell under way is never "
        "interrupted.",
    )

    def to_request(self) -> CampaignRequest:
        """For the use case."""
        return CampaignRequest(
            endpoints=self.endpoints,
            profiles=self.profiles,
            clients=self.clients,
            rounds=self.rounds,
            name=self.name.strip(),
            seed=self.seed,
            vantage=self.vantage,
            aa=self.aa,
            max_rounds=self.max_rounds,
            target_width_pct=self.target_width_pct,
            equivalence_pct=self.equivalence_pct,
            labels=self.labels,
            capture=self.capture,
            tls_groups=self.tls_groups,
            priority=self.priority,
        )

    @classmethod
    def of(cls, request: CampaignRequest) -> CampaignIn:
        """The body that asks for this; not validated, since old campaigns may lack what is wanted today."""
        values: dict[str, Any] = {item.name: getattr(request, item.name) for item in fields(request)}
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return cls.model_construct(None, **listed)


class CampaignEditIn(Input):
    """What can be changed of a campaign; what is absent stays."""

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"labels": ["nightly", "office"]}]}
    )

    name: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)] | None = None
    labels: Labels | None = None


class RerunIn(Input):
    """How a campaign is run again."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [{"same_seed": True}]})

    same_seed: bool = Field(default=False, description="Take the seed of the first run; else one is drawn.")
    name: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=PRINTABLE)] | None = Field(
        default=None, description="Null: the name of the first run."
    )


class CampaignQuery(PageQuery):
    """Which campaigns."""

    state: CampaignState | None = Field(default=None, description="Only campaigns in this state.")
    label: list[Label] = Field(default=[], max_length=20, description="Only campaigns with each of these labels.")
    name: Name | None = Field(default=None, description="Only campaigns whose name holds this, in either case.")
    provider: Name | None = Field(default=None, description="Only campaigns with an endpoint of this provider.")
    vantage: Name | None = Field(default=None, description="Only campaigns measured from here.")
    created_from: Moment | None = Field(default=None, description="Created at or after this time (RFC 3339).")
    created_to: Moment | None = Field(default=None, description="Created before this time (RFC 3339).")

    def to_filter(self) -> CampaignFilter:
        """For the store."""
        return CampaignFilter(
            state=self.state,
            labels=tuple(self.label),
            name=self.name,
            provider=self.provider,
            vantage=self.vantage,
            created_from=self.created_from,
            created_to=self.created_to,
        )


class CampaignLinks(Output):
    """Where its parts are."""

    self: str
    cells: str
    trials: str
    heatmap: str
    spec: str
    cancel: str
    pause: str
    resume: str
    rerun: str

    @classmethod
    def under(cls, url: str) -> CampaignLinks:
        """Of the campaign at ``url``."""
        return cls(self=url, **{part: f"{url}/{part}" for part in cls.model_fields if part != "self"})


class CampaignOut(Output):
    """A campaign with its progress."""

    id: str
    name: str
    state: CampaignState
    created_at: Timestamp
    started_at: Timestamp | None
    finished_at: Timestamp | None
    endpoints: list[str]
    profiles: list[str]
    clients: list[str]
    priority: Priority
    rounds: int
    max_rounds: int | None
    target_width_pct: float | None
    equivalence_pct: float
    aa: AaArms
    capture: CapturePolicy
    tls_groups: list[str] = Field(description="Key exchange groups that were pinned; empty: none.")
    seed: int
    vantage: str
    labels: list[str]
    cells_planned: int
    cells_done: int
    cells_given_up: int = Field(description="In quarantine: workers crashed over them; each says why.")
    trials_planned: int = Field(description="At most, the warm-up and capture rounds included.")
    trials_done: int = Field(description="Stored trials, failed ones too.")
    trials_failed: int
    rounds_saved: int = Field(description="Rounds that cells did not need, over all cells.")
    trials_saved: int = Field(description="Trials of those rounds.")
    waiting_for: list[str] = Field(description="Why some cells must wait; empty when none must.")
    progress: float = Field(ge=0, le=1, description="(trials_done + trials_saved) / trials_planned.")
    eta_s: float | None = Field(description="Seconds left; null until it is known, or when cancelled.")
    source: dict[str, Any] | None = Field(
        default=None, description="Where an imported campaign came from; null: it was measured here."
    )
    links: CampaignLinks

    @classmethod
    def of(cls, campaign: CampaignRecord, url: str) -> CampaignOut:
        """From the domain; ``url`` is where the campaign is found."""
        spec, progress = campaign.spec, campaign.progress
        return cls(
            id=campaign.id,
            name=spec.name,
            state=campaign.state,
            created_at=campaign.created_at,
            started_at=campaign.started_at,
            finished_at=campaign.finished_at,
            endpoints=list(spec.endpoint_ids),
            profiles=list(spec.profile_names),
            clients=list(spec.client_ids),
            rounds=spec.rounds,
            max_rounds=spec.max_rounds,
            target_width_pct=spec.target_width_pct,
            equivalence_pct=spec.equivalence_pct,
            aa=spec.aa,
            capture=spec.capture,
            tls_groups=list(spec.tls_groups),
            priority=spec.priority,
            seed=spec.seed,
            vantage=spec.vantage,
            labels=list(campaign.labels),
            cells_planned=progress.cells_planned,
            cells_done=progress.cells_done,
            cells_given_up=progress.cells_given_up,
            trials_planned=progress.trials_planned,
            trials_done=progress.trials_done,
            trials_failed=progress.trials_failed,
            rounds_saved=progress.rounds_saved,
            trials_saved=progress.trials_saved,
            waiting_for=list(progress.waiting_for),
            progress=(progress.trials_done + progress.trials_saved) / progress.trials_planned,
            eta_s=eta_s(campaign),
            source=dict(campaign.source) if campaign.source is not None else None,
            links=CampaignLinks.under(url),
        )
