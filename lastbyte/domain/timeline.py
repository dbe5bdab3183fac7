"""Timelines: a profile that changes while a trial runs, counted from the trial's start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.impairment import Impairment

MIN_STEP_MS = 5.0
"""Steps come no closer than this: a change takes effect within a millisecond or two."""
MAX_AT_MS = 600_000.0
MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """What a step makes of one direction. What is not named is as the profile has it, not as the last step left it."""

    delay_ms: float | None = None
    jitter_ms: float | None = None
    loss_pct: float | None = None
    rate_mbit_s: float | None = None
    rate_share: float | None = None
    """Share of the profile's own rate, instead of ``rate_mbit_s``: 0.1 is a tenth."""

    def applied_to(self, impairment: Impairment) -> Impairment:
        """``impairment`` during the step."""
        changed = impairment
        if self.delay_ms is not None:
            changed = replace(changed, delay_ms=self.delay_ms)
        if self.jitter_ms is not None:
            correlation = impairment.jitter_correlation_pct if self.jitter_ms else 0.0
            changed = replace(changed, jitter_ms=self.jitter_ms, jitter_correlation_pct=correlation)
        if self.loss_pct is not None:
            changed = replace(
                changed, loss_pct=self.loss_pct, loss_correlation_pct=0.0, loss_gemodel=None, loss_state=None
            )
        if self.rate_mbit_s is not None:
            changed = replace(changed, rate_mbit_s=self.rate_mbit_s)
        if self.rate_share is not None and impairment.rate_mbit_s is not None:
            changed = replace(changed, rate_mbit_s=impairment.rate_mbit_s * self.rate_share)
        return changed

    @property
    def changes_rate(self) -> bool:
        """Whether the step touches the rate."""
        return self.rate_mbit_s is not None or self.rate_share is not None


UNCHANGED = Change()


@dataclass(frozen=True, slots=True)
class Step:
    """From ``at_ms`` on each direction is the profile's with these changes; an empty step ends a change."""

    at_ms: float
    """Milliseconds after the trial's start (of each repetition, when the timeline repeats)."""
    downlink: Change = field(default_factory=Change)
    uplink: Change = field(default_factory=Change)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Steps in order of time. Before the first one the profile is as it stands."""

    steps: tuple[Step, ...]
    repeat_every_ms: float | None = None
    """The steps come again after this time, for as long as the trial lasts; None: once."""

    def schedule(self) -> Iterator[tuple[float, Step]]:
        """(milliseconds since the trial's start, step), in order; endless when the timeline repeats."""
        start_ms = 0.0
        while True:
            for step in self.steps:
                yield start_ms + step.at_ms, step
            if self.repeat_every_ms is None:
                return
            start_ms += self.repeat_every_ms

    def variants(self, direction: str, impairment: Impairment) -> list[Impairment]:
        """``impairment`` itself and what each step makes of it; ``direction`` is ``downlink`` or ``uplink``."""
        changes: list[Change] = [getattr(step, direction) for step in self.steps]
        return [impairment, *(change.applied_to(impairment) for change in changes)]

    def changes_rate(self, direction: str) -> bool:
        """Whether some step changes that direction's rate."""
        return any(getattr(step, direction).changes_rate for step in self.steps)

    def validate(self, field_name: str, downlink: Impairment, uplink: Impairment) -> None:
        """Raise InvalidInput naming ``field_name``.x when steps are out of order or ask for what can't be."""
        if not 1 <= len(self.steps) <= MAX_STEPS:
            raise InvalidInput(f"{field_name}.steps", f"{len(self.steps)} steps.", f"Use 1 to {MAX_STEPS}.")
        before = -MIN_STEP_MS
        for index, step in enumerate(self.steps):
            where = f"{field_name}.steps.{index}"
            if not before + MIN_STEP_MS <= step.at_ms <= MAX_AT_MS:
                raise InvalidInput(
                    f"{where}.at_ms",
                    f"{step.at_ms:g} is not at least {MIN_STEP_MS:g} ms after the step before.",
                    f"Use 0 to {MAX_AT_MS:.0f} ms in ascending order.",
                )
            before = step.at_ms
            for direction, impairment in (("downlink", downlink), ("uplink", uplink)):
                _validate_change(f"{where}.{direction}", getattr(step, direction), impairment)
        if self.repeat_every_ms is not None and not before + MIN_STEP_MS <= self.repeat_every_ms <= MAX_AT_MS:
            raise InvalidInput(
                f"{field_name}.repeat_every_ms",
                f"{self.repeat_every_ms:g} is out of range.",
                f"Use at least {MIN_STEP_MS:g} ms more than the last step, at most {MAX_AT_MS:.0f}.",
            )


@dataclass(frozen=True, slots=True)
class Played:
    """What was played of a timeline during one trial."""

    steps: int
    worst_late_ms: float
    """How long after its time the latest step had taken effect, in milliseconds."""


def _validate_change(where: str, change: Change, impairment: Impairment) -> None:
    if change.rate_share is not None:
        if not 0 < change.rate_share <= 100:
            raise InvalidInput(
                f"{where}.rate_share", f"{change.rate_share} is out of range.", "Use more than 0 to 100."
            )
        if impairment.rate_mbit_s is None or change.rate_mbit_s is not None:
            raise InvalidInput(
                f"{where}.rate_share",
                "needs a profile with a rate, and no rate_mbit_s beside it.",
                "Set the profile's rate_mbit_s and one of the two.",
            )
    change.applied_to(impairment).validate(where)
