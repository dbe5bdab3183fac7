"""How fast a client is on a machine when the link does not hold it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

NEAR_CEILING = 2.0
"""A cell whose rate is at least the ceiling divided by this says more of the client than of the protocol."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The unshaped rate of one build of a client on one machine."""

    client_id: str
    sha256: str
    """Digest of the build; another build has another ceiling."""
    rate_mbit_s: float
    """Median over the rounds of the body's bits per second of TTLB, in Mbit/s."""
    n: int
    """Rounds that succeeded."""
    body_bytes: int
    box_kind: str
    measured_at: datetime
