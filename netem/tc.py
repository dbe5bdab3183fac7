"""What tc is told and what it answers (tc(8), tc-netem(8)). Pure: no process is started here.

Every port of a box carries one netem qdisc. It holds packets for two reasons at once, so its limit is the sum of two
parts: the delay line (what is in flight on a link of that length and rate) and the bottleneck queue proper.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lastbyte.domain.profile import ETHERNET_MTU_FRAME_BYTES, Impairment
from lastbyte.domain.trial import DirectionCounters

UNLIMITED_LINE_MBIT_S = 1000.0
"""A link without a rate limit still needs a finite delay line: it is sized for this rate."""


@dataclass(frozen=True, slots=True)
class QdiscState:
    """The root qdisc of one interface as ``tc -j -s qdisc show`` reports it."""

    device: str
    kind: str
    handle: str
    limit_packets: int | None
    delay_ms: float
    loss_pct: float
    rate_mbit_s: float | None
    counters: DirectionCounters


def delay_line_packets(delay_ms: float, rate_mbit_s: float | None) -> int:
    """Full-sized packets in flight on a link of that one-way delay and rate."""
    rate_bit_s = (rate_mbit_s if rate_mbit_s is not None else UNLIMITED_LINE_MBIT_S) * 1e6
    return math.ceil(delay_ms / 1e3 * rate_bit_s / (8 * ETHERNET_MTU_FRAME_BYTES))


def limit_packets(impairment: Impairment, base_delay_ms: float = 0.0) -> int:
    """The netem limit: delay line plus queue."""
    return delay_line_packets(impairment.delay_ms + base_delay_ms, impairment.rate_mbit_s) + impairment.queue_packets


def qdisc_arguments(device: str, handle: int, impairment: Impairment, base_delay_ms: float = 0.0) -> list[str]:
    """Arguments after ``tc`` that put a fresh netem on ``device``.

    ``base_delay_ms`` is the one-way distance of the endpoint, added to the profile's own delay. The handle must differ
    from the one before: replacing a netem under the same handle *changes* it, which keeps its counters, the packets it
    holds, and every option that is not named again, the old rate among them.
    """
    arguments = ["qdisc", "replace", "dev", device, "root", "handle", f"{handle:x}:", "netem"]
    arguments += ["limit", str(limit_packets(impairment, base_delay_ms))]
    delay_us = round((impairment.delay_ms + base_delay_ms) * 1000)
    if delay_us:
        arguments += ["delay", f"{delay_us}us"]
    if impairment.loss_pct:
        arguments += ["loss", "random", f"{impairment.loss_pct:.6f}%"]
    if impairment.rate_mbit_s is not None:
        arguments += ["rate", f"{round(impairment.rate_mbit_s * 1e6)}bit"]
    return arguments


def parse_qdiscs(text: str) -> dict[str, QdiscState]:
    """Root qdiscs by interface from ``tc -j -s qdisc show``; raises ValueError for anything else."""
    rows = json.loads(text)
    if not isinstance(rows, list):
        raise ValueError("tc did not answer with a list of qdiscs.")  # noqa: TRY004 (one kind of error for bad output)
    return {row["dev"]: _state(row) for row in rows if isinstance(row, Mapping) and row.get("root") and "dev" in row}


def _state(row: Mapping[str, object]) -> QdiscState:
    options = _mapping(row.get("options"))
    limit = options.get("limit")
    rate_byte_s = _number(_mapping(options.get("rate")).get("rate"))
    return QdiscState(
        device=str(row["dev"]),
        kind=str(row.get("kind", "")),
        handle=str(row.get("handle", "")),
        limit_packets=int(limit) if isinstance(limit, int) else None,
        delay_ms=_number(_mapping(options.get("delay")).get("delay")) * 1e3,
        loss_pct=_number(_mapping(options.get("loss-random")).get("loss")) * 1e2,
        rate_mbit_s=rate_byte_s * 8 / 1e6 if rate_byte_s else None,
        counters=DirectionCounters(
            sent_packets=int(_number(row.get("packets"))),
            sent_bytes=int(_number(row.get("bytes"))),
            dropped_packets=int(_number(row.get("drops"))),
            backlog_packets=int(_number(row.get("qlen"))),
        ),
    )


def differences(state: QdiscState, handle: int, impairment: Impairment, base_delay_ms: float = 0.0) -> Sequence[str]:
    """What the qdisc read back has otherwise than asked; empty when it is as asked."""
    wrong: list[str] = []
    if state.kind != "netem" or state.handle != f"{handle:x}:":
        wrong.append(f"qdisc {state.kind} {state.handle} instead of netem {handle:x}:")
    if state.limit_packets != limit_packets(impairment, base_delay_ms):
        wrong.append(f"limit {state.limit_packets} instead of {limit_packets(impairment, base_delay_ms)}")
    # tc counts time in ticks of 64 ns and keeps probabilities in 32 bits.
    if not math.isclose(state.delay_ms, impairment.delay_ms + base_delay_ms, abs_tol=0.002):
        wrong.append(f"delay {state.delay_ms} ms instead of {impairment.delay_ms + base_delay_ms}")
    if not math.isclose(state.loss_pct, impairment.loss_pct, abs_tol=0.0001):
        wrong.append(f"loss {state.loss_pct} % instead of {impairment.loss_pct}")
    if not math.isclose(state.rate_mbit_s or 0.0, impairment.rate_mbit_s or 0.0, rel_tol=1e-5):
        wrong.append(f"rate {state.rate_mbit_s} Mbit/s instead of {impairment.rate_mbit_s}")
    return wrong


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
