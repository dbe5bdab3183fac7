"""Campaigns: endpoints x profiles x clients for so many rounds, and how they are laid out."""

from __future__ import annotations

import enum
import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.tls import group_faults

MAX_ROUNDS = 1000
MAX_TRIALS = 1_000_000
MIN_ROUNDS_TO_STOP = 6
"""Fewer pairs give no verdict (``lastbyte.stats.paired``)."""


class CampaignState(enum.StrEnum):
    """Life of a campaign."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    """Nothing of it is measured until it is resumed."""
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """True when nothing more will be measured."""
        return self in (CampaignState.DONE, CampaignState.CANCELLED)


class CellState(enum.StrEnum):
    """Life of a cell."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"
    """Given up: workers crashed over it three times in a row."""


class Priority(enum.StrEnum):
    """Whose cells a vantage measures first, among those that wait; a cell under way is never interrupted."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class AaArms(enum.StrEnum):
    """Which clients run twice in each round, to show how far a client seems to differ from itself."""

    OFF = "off"
    BASELINE = "baseline"
    """The first H2 client."""
    BOTH = "both"
    """The first H2 and the first H3 client."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a cell has enough rounds (``lastbyte.stats.sequential``)."""

    min_rounds: int
    max_rounds: int
    target_width_pct: float
    """Stop when the interval is at most so wide from end to end, in percent."""
    equivalence_pct: float


DEFAULT_EQUIVALENCE_PCT = 3.0
DEFAULT_TARGET_WIDTH_PCT = 4.0


@dataclass(frozen=True, slots=True)
class CampaignSpec:
    """What a user asks for."""

    name: str
    endpoint_ids: tuple[str, ...]
    profile_names: tuple[str, ...]
    client_ids: tuple[str, ...]
    rounds: int
    """Counted rounds per cell; the warm-up round comes on top. With ``max_rounds``: the least, at the first look."""
    seed: int
    """Seed of the order of arms; the same seed gives the same order."""
    vantage: str = "local"
    priority: Priority = Priority.NORMAL
    aa: AaArms = AaArms.OFF
    max_rounds: int | None = None
    """Sequential stopping: rounds go on until the answer is known, up to this many. None: just ``rounds``."""
    target_width_pct: float | None = None
    """Width of the interval that is narrow enough, in percent; None: 4, where ``max_rounds`` is set."""
    equivalence_pct: float = DEFAULT_EQUIVALENCE_PCT
    """Differences up to this much, either way, count as none."""
    capture: CapturePolicy = CapturePolicy.NEVER
    tls_groups: tuple[str, ...] = ()
    """Key exchange groups that every client offers, and no other; empty: each program's own choice."""
    """Which rounds on top are watched."""

    @property
    def most_rounds(self) -> int:
        """Counted rounds that a cell can have."""
        return self.rounds if self.max_rounds is None else self.max_rounds

    @property
    def stopping(self) -> StoppingRule | None:
        """When cells may end before ``most_rounds``; None: never."""
        if self.max_rounds is None or self.max_rounds <= self.rounds:
            return None
        width = DEFAULT_TARGET_WIDTH_PCT if self.target_width_pct is None else self.target_width_pct
        return StoppingRule(self.rounds, self.max_rounds, width, self.equivalence_pct)

    @property
    def cells_planned(self) -> int:
        """Number of cells."""
        return len(self.endpoint_ids) * len(self.profile_names)

    @property
    def trials_planned(self) -> int:
        """Number of trials at most, the warm-up and capture rounds included."""
        return self.cells_planned * self.trials_per_cell

    @property
    def trials_per_cell(self) -> int:
        """Number of trials of a cell at most, the warm-up and capture rounds included."""
        return len(self.client_ids) * (self.most_rounds + 1 + self.capture.rounds)

    def validate(self) -> None:
        """Raise InvalidInput naming the field when the spec can't be run."""
        for fault in self.faults():
            raise fault

    def faults(self) -> Iterator[InvalidInput]:
        """Everything for which the spec can't be run."""
        for field, values in (
            ("endpoints", self.endpoint_ids),
            ("profiles", self.profile_names),
            ("clients", self.client_ids),
        ):
            if not values:
                yield InvalidInput(field, "is empty.", "Name at least one.")
            if len(set(values)) != len(values):
                yield InvalidInput(field, "names the same one twice.", "Name each once.")
        if not 1 <= self.rounds <= MAX_ROUNDS:
            yield InvalidInput("rounds", f"{self.rounds} is out of range.", f"Use 1 to {MAX_ROUNDS}.")
        yield from group_faults(self.tls_groups)
        yield from self._stopping_faults()
        if not 0 <= self.seed < 2**63:
            yield InvalidInput("seed", f"{self.seed} is out of range.", "Use 0 to 2^63-1.")
        if self.trials_planned > MAX_TRIALS:
            yield InvalidInput(
                "rounds",
                f"the campaign would have {self.trials_planned} trials.",
                f"Keep endpoints x profiles x clients x (rounds + 1) at or below {MAX_TRIALS}.",
            )

    def _stopping_faults(self) -> Iterator[InvalidInput]:
        if not 0 < self.equivalence_pct <= 100:
            yield InvalidInput(
                "equivalence_pct", f"{self.equivalence_pct:g} is out of range.", "Use above 0 to 100 percent."
            )
        if self.target_width_pct is not None and not 0 < self.target_width_pct <= 1000:
            yield InvalidInput(
                "target_width_pct", f"{self.target_width_pct:g} is out of range.", "Use above 0 to 1000 percent."
            )
        if self.max_rounds is None:
            if self.target_width_pct is not None:
                yield InvalidInput("target_width_pct", "needs max_rounds.", "Say how many rounds there may be at most.")
            return
        if not self.rounds <= self.max_rounds <= MAX_ROUNDS:
            yield InvalidInput(
                "max_rounds", f"{self.max_rounds} is out of range.", f"Use rounds ({self.rounds}) to {MAX_ROUNDS}."
            )
        if self.max_rounds > self.rounds and self.rounds < MIN_ROUNDS_TO_STOP:
            yield InvalidInput(
                "rounds",
                f"{self.rounds} are too few to look at a cell for the first time.",
                f"Use {MIN_ROUNDS_TO_STOP} or more with max_rounds.",
            )


def order_of_arms(seed: int, endpoint_id: str, profile_name: str, round_index: int, arms: Sequence[str]) -> list[str]:
    """The arms of one round in their seeded random order.

    Each round has a generator of its own, derived by SHA-256 from the seed and the round's place, so a resumed cell
    runs the rounds that are left in the very order in which it would have run them.
    """
    key = f"{seed}\x1f{endpoint_id}\x1f{profile_name}\x1f{round_index}".encode()
    generator = random.Random(hashlib.sha256(key).digest())  # noqa: S311 - an order to reproduce, not a secret
    order = sorted(arms)
    generator.shuffle(order)
    return order


def seed_of_round(seed: int, endpoint_id: str, profile_name: str, round_index: int) -> int:
    """Seed of the link's random numbers in one round, 32 bits: the same for every arm, so that they meet the same
    losses as far as they send the same packets (common random numbers)."""
    key = f"netem\x1f{seed}\x1f{endpoint_id}\x1f{profile_name}\x1f{round_index}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4]) or 1
