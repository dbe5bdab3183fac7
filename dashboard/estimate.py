"""What a campaign will cost, before it starts. Rough on purpose, and shown as rough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.client import Json

ROUND_TRIPS = 4.0
"""Handshake (one with H3, two with H2), request, and one or two in which slow start opens the window."""
UNSHAPED_MBIT_S = 100.0
"""What an unshaped link is taken to carry."""
TRIAL_OVERHEAD_S = 0.06
"""Starting a client, reading its output, storing the trial."""
CELL_OVERHEAD_S = 3.0
"""Shaping the link for a cell and probing it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cost of a campaign."""

    cells: int
    trials: int
    """With the warm-up round."""
    total_bytes: float
    """Bodies only; endpoints of unknown size count as 0."""
    seconds: float
    unknown_sizes: int
    """Endpoints whose size is not known."""
    production: bool
    """True when any endpoint is somebody else's server."""


def estimate(
    catalogue: Json, endpoints: Sequence[str], profiles: Sequence[str], clients: Sequence[str], rounds: int
) -> Estimate:
    """Cells, trials, bytes and a rough duration for a choice; ``catalogue`` is that of ``pages.new.catalogue``."""
    repeats = len(clients) * (rounds + 1)
    chosen = [catalogue["endpoints"][e] for e in endpoints if e in catalogue["endpoints"]]
    conditions = [catalogue["profiles"][p] for p in profiles if p in catalogue["profiles"]]
    sizes = [e["expected_bytes"] or 0 for e in chosen]
    seconds = sum(
        CELL_OVERHEAD_S + repeats * _trial_s(endpoint, profile) for endpoint in chosen for profile in conditions
    )
    cells = len(chosen) * len(conditions)
    return Estimate(
        cells=cells,
        trials=cells * repeats,
        total_bytes=float(sum(sizes)) * len(conditions) * repeats,
        seconds=seconds,
        unknown_sizes=sum(1 for e in chosen if e["expected_bytes"] is None),
        production=any(e["origin"] == "production" for e in chosen),
    )


def _trial_s(endpoint: Json, profile: Json) -> float:
    rtt_s: float = ((endpoint["base_rtt_ms"] or 0.0) + profile["extra_rtt_ms"]) / 1000
    bits = 8.0 * (endpoint["expected_bytes"] or 0)
    rate: float = (profile["rate_mbit_s"] or UNSHAPED_MBIT_S) * 1e6
    return ROUND_TRIPS * rtt_s + bits / rate + TRIAL_OVERHEAD_S
