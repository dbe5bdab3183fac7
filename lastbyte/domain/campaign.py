"""Campaigns: endpoints x profiles x clients for so many rounds, and how they are laid out."""

from __future__ import annotations

import enum
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass

from lastbyte.domain.errors import InvalidInput

MAX_ROUNDS = 1000
MAX_TRIALS = 1_000_000


class CampaignState(enum.StrEnum):
    """Life of a campaign."""

    QUEUED = "queued"
    RUNNING = "running"
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


@dataclass(frozen=True, slots=True)
class CampaignSpec:
    """What a user asks for."""

    name: str
    endpoint_ids: tuple[str, ...]
    profile_names: tuple[str, ...]
    client_ids: tuple[str, ...]
    rounds: int
    """Counted rounds per cell; the warm-up round comes on top."""
    seed: int
    """Seed of the order of arms; the same seed gives the same order."""
    vantage: str = "local"

    @property
    def cells_planned(self) -> int:
        """Number of cells."""
        return len(self.endpoint_ids) * len(self.profile_names)

    @property
    def trials_planned(self) -> int:
        """Number of trials, the warm-up round included."""
        return self.cells_planned * len(self.client_ids) * (self.rounds + 1)

    def validate(self) -> None:
        """Raise InvalidInput naming the field when the spec can't be run."""
        for field, values in (
            ("endpoints", self.endpoint_ids),
            ("profiles", self.profile_names),
            ("clients", self.client_ids),
        ):
            if not values:
                raise InvalidInput(field, "is empty.", "Name at least one.")
            if len(set(values)) != len(values):
                raise InvalidInput(field, "names the same one twice.", "Name each once.")
        if not 1 <= self.rounds <= MAX_ROUNDS:
            raise InvalidInput("rounds", f"{self.rounds} is out of range.", f"Use 1 to {MAX_ROUNDS}.")
        if not 0 <= self.seed < 2**63:
            raise InvalidInput("seed", f"{self.seed} is out of range.", "Use 0 to 2^63-1.")
        if self.trials_planned > MAX_TRIALS:
            raise InvalidInput(
                "rounds",
                f"the campaign would have {self.trials_planned} trials.",
                f"Keep endpoints x profiles x clients x (rounds + 1) at or below {MAX_TRIALS}.",
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
