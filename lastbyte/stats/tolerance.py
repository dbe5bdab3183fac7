"""When a link counts as what it was asked to be."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

RTT_TOLERANCE_MS = 1.0
RTT_TOLERANCE_SHARE = 0.02


def rtt_out_of_tolerance(requested_ms: float, samples_ms: Sequence[float]) -> str:
    """Why the round-trip time of a link is not what was requested; empty when it is.

    The median of the samples, in ms, may differ by 1 ms or 2 %, whichever is larger.
    """
    if not samples_ms:
        return "No probe came back through the link before the trials."
    achieved = statistics.median(samples_ms)
    allowed = max(RTT_TOLERANCE_MS, RTT_TOLERANCE_SHARE * requested_ms)
    if abs(achieved - requested_ms) <= allowed:
        return ""
    return f"RTT was {achieved:.2f} ms where {requested_ms:g} ms ± {allowed:g} ms was requested."
