"""Requested beside achieved: what the link and the machine did during the trials of a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.client import Json
from dashboard.formatting import DASH, NBSP, ms, number
from lastbyte.domain.tolerance import DEFAULT

Z_999 = 3.2905
"""Two-sided 99.9 % of the normal distribution: a loss outside such an interval is no accident."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the proof."""

    what: str
    requested: str
    achieved: str
    out: bool = False
    """Out of tolerance: drawn in red."""
    help: str = ""


def rows(cell: Json, trials: Sequence[Json], profile: Json | None) -> list[Row]:
    """Every line that is known; ``profile`` of the catalogue gives what each direction was asked to do."""
    proofs = [t["proof"] for t in trials if t.get("proof")]
    return [*_rtt(cell), *_losses(cell, proofs, profile), *_rate(cell, trials), *_host(proofs)]


def _rtt(cell: Json) -> list[Row]:
    proof = cell.get("proof") or {}
    achieved = proof.get("rtt_achieved_ms")
    if achieved is None:
        return [Row("Round-trip time", ms(proof.get("rtt_requested_ms")), "not probed")]
    asked = proof.get("rtt_requested_ms") or 0.0
    spread = (
        f" ({ms(proof['rtt_min_ms'])} to {ms(proof['rtt_max_ms'])}, {proof['probes_sent']} probes, "
        f"{proof['probes_lost']} lost)"
        if proof.get("rtt_min_ms") is not None and proof.get("probes_sent")
        else ""
    )
    found = [
        Row(
            "Round-trip time",
            ms(asked),
            f"{ms(achieved)}{spread}",
            bool(cell.get("unproven_reason"))
            and abs(achieved - asked) > max(DEFAULT.rtt_ms, DEFAULT.rtt_share * asked),
            f"Median of the probes before the first trial; may differ by {number(DEFAULT.rtt_ms)} ms or "
            f"{number(100 * DEFAULT.rtt_share)} %, whichever is larger.",
        )
    ]
    if proof.get("gate_waits"):
        calm = "calm after it" if proof.get("gate_calm") else "still not calm"
        found.append(Row("Waits for a calm link", DASH, f"{proof['gate_waits']}, {calm}", not proof.get("gate_calm")))
    return found


def _losses(cell: Json, proofs: Sequence[Json], profile: Json | None) -> list[Row]:
    found = []
    for key, name in (("downlink", "Loss, to the client"), ("uplink", "Loss, from the client")):
        asked = (profile or {}).get(key, {}).get("expected_loss_pct", cell["loss_pct"])
        offered = sum(p[key]["offered_packets"] for p in proofs)
        overflow = sum(p[key]["overflow_packets"] for p in proofs)
        lost = sum(p[key]["dropped_packets"] for p in proofs) - overflow
        if not offered:
            continue
        low, high = wilson(lost, offered, 1.96)
        wide_low, wide_high = wilson(lost, offered, Z_999)
        bursts = bool(
            (profile or {}).get(key, {}).get("loss_gemodel") or (profile or {}).get(key, {}).get("loss_state")
        )
        found.append(
            Row(
                name,
                f"{number(round(asked, 3))}{NBSP}%",
                f"{100 * lost / offered:.2f}{NBSP}% ({100 * low:.2f} to {100 * high:.2f}, "
                f"{lost:,} of {offered:,} packets)",
                not bursts and not wide_low <= asked / 100 <= wide_high,
                "Dropped of all packets offered in all trials, with the 95 % binomial interval; overflow counts apart. "
                "Red where the requested loss lies outside the 99.9 % interval.",
            )
        )
        if overflow:
            found.append(
                Row(
                    "Dropped by a full queue, " + ("to" if key == "downlink" else "from") + " the client",
                    DASH,
                    f"{overflow:,} packets",
                    help="Drops beyond what the requested loss explains. A full queue is part of the path, no fault.",
                )
            )
    return found


def _rate(cell: Json, trials: Sequence[Json]) -> list[Row]:
    goodputs = [
        t["body_bytes"] * 8e-3 / (t["ttlb_ms"] - t["ttfb_ms"])
        for t in trials
        if t["outcome"] == "ok" and t["body_bytes"] and t["ttlb_ms"] and t["ttfb_ms"] and t["ttlb_ms"] > t["ttfb_ms"]
    ]
    if not goodputs:
        return []
    asked = cell["rate_mbit_s"]
    requested = f"{number(asked)}{NBSP}Mbit/s" if asked is not None else "not shaped"
    return [
        Row(
            "Rate",
            requested,
            f"{max(goodputs):.1f}{NBSP}Mbit/s in the fastest trial's body",
            asked is not None and max(goodputs) > asked * 1.05 + 1,
            "Body bytes over the time from first to last byte. The first part of a body comes with the first byte, so "
            "short bodies may seem a little faster than the link.",
        )
    ]


def _host(proofs: Sequence[Json]) -> list[Row]:
    hosts = [p["host"] for p in proofs if p.get("host")]
    errors = sum(p["udp_rcvbuf_errors"] for p in proofs)
    found = [
        Row(
            "UDP packets lost in the socket buffer",
            "0",
            f"{errors:,}",
            errors > 0,
            "RcvbufErrors of the kernel: packets that came through the link and were dropped at the client.",
        )
    ]
    if hosts:
        steal = max(h["steal_share"] for h in hosts)
        busy = sorted(h["busy_share"] for h in hosts)[len(hosts) // 2]
        found += [
            Row("CPU stolen by other machines", DASH, f"{100 * steal:.1f}{NBSP}% at most", steal > DEFAULT.steal_share),
            Row("CPU busy", DASH, f"{100 * busy:.0f}{NBSP}% in the median trial"),
        ]
    return found


def wilson(successes: int, trials: int, z: float) -> tuple[float, float]:
    """Wilson's interval of a share (1927): ends as shares."""
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / (1 + z * z / trials)
    return max(0.0, centre - half), min(1.0, centre + half)
