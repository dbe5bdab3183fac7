"""What tc answers, and whether it is what was asked. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lastbyte.domain.profile import Impairment
from lastbyte.domain.trial import DirectionCounters
from netem import tc


@dataclass(frozen=True, slots=True)
class QdiscState:
    """The root qdisc of one interface as ``tc -j -s qdisc show`` reports it."""

    device: str
    kind: str
    handle: str
    options: Mapping[str, float]
    """Numbers by path, such as "delay.jitter" (s), "loss-random.loss" (share), "rate.rate" (bytes/s)."""
    bucket_byte_s: float | None
    """Rate of the token bucket below it, if any."""
    counters: DirectionCounters

    @property
    def limit_packets(self) -> int | None:
        """Packets it may hold."""
        return int(self.options["limit"]) if "limit" in self.options else None

    @property
    def delay_ms(self) -> float:
        """Constant delay."""
        return self.options.get("delay.delay", 0.0) * 1e3

    @property
    def loss_pct(self) -> float:
        """Random loss."""
        return self.options.get("loss-random.loss", 0.0) * 1e2

    @property
    def rate_mbit_s(self) -> float | None:
        """Rate limit, whoever keeps it."""
        rate_byte_s = self.options.get("rate.rate") if self.bucket_byte_s is None else self.bucket_byte_s
        return rate_byte_s * 8 / 1e6 if rate_byte_s else None


def parse_qdiscs(text: str) -> dict[str, QdiscState]:
    """Root qdiscs by interface from ``tc -j -s qdisc show``; raises ValueError for anything else."""
    rows = json.loads(text)
    if not isinstance(rows, list):
        raise ValueError("tc did not answer with a list of qdiscs.")  # noqa: TRY004 (one kind of error for bad output)
    known = [row for row in rows if isinstance(row, Mapping) and "dev" in row]
    buckets = {str(row["dev"]): _flat(row.get("options")).get("rate") for row in known if row.get("kind") == "tbf"}
    return {str(row["dev"]): _state(row, buckets.get(str(row["dev"]))) for row in known if row.get("root")}


def _state(row: Mapping[str, object], bucket_byte_s: float | None) -> QdiscState:
    return QdiscState(
        device=str(row["dev"]),
        kind=str(row.get("kind", "")),
        handle=str(row.get("handle", "")),
        options=_flat(row.get("options")),
        bucket_byte_s=bucket_byte_s,
        counters=DirectionCounters(
            sent_packets=int(_number(row.get("packets"))),
            sent_bytes=int(_number(row.get("bytes"))),
            dropped_packets=int(_number(row.get("drops"))),
            backlog_packets=int(_number(row.get("qlen"))),
        ),
    )


def differences(
    state: QdiscState, handle: int, shape: tc.Shape, item: Impairment | None = None, seed: int | None = None
) -> Sequence[str]:
    """What the qdiscs read back have otherwise than asked; empty when they are as asked.

    ``item``: the variant that is on now; None: at rest. A seed that was not asked for is netem's own, and any.
    """
    wrong: list[str] = []
    if state.kind != "netem" or state.handle != f"{handle:x}:":
        wrong.append(f"qdisc {state.kind} {state.handle} instead of netem {handle:x}:")
    wanted = _wanted(shape, item or shape.impairment)
    if seed is not None:
        wanted["seed"] = seed
    for key in sorted({*wanted, *state.options} - ({"seed"} if seed is None else set())):
        asked, has = wanted.get(key, 0.0), state.options.get(key, 0.0)
        if not _same(key, asked, has):
            wrong.append(f"{key} {has:g} instead of {asked:g}")
    bucket = tc.bucket_rate_mbit_s(item or shape.impairment) * 1e6 / 8 if shape.elastic else 0.0
    if not _same("rate.rate", bucket, state.bucket_byte_s or 0.0):
        wrong.append(f"token bucket of {state.bucket_byte_s} bytes/s instead of {bucket:g}")
    return wrong


def _wanted(shape: tc.Shape, item: Impairment) -> dict[str, float]:
    """Options as tc prints them: seconds, shares, bytes per second."""
    rate = tc.ORDER_KEEPING_MBIT_S if shape.elastic else item.rate_mbit_s
    wanted: dict[str, float] = {
        "limit": shape.limit_packets,
        "delay.delay": (item.delay_ms + shape.base_delay_ms) / 1e3,
        "delay.jitter": item.jitter_ms / 1e3,
        "delay.correlation": item.jitter_correlation_pct / 1e2,
        "loss-random.loss": item.loss_pct / 1e2,
        "loss-random.correlation": item.loss_correlation_pct / 1e2,
        "rate.rate": (rate or 0.0) * 1e6 / 8,
    }
    for name in ("duplicate", "corrupt"):
        wanted[f"{name}.{name}"] = getattr(item, f"{name}_pct") / 1e2
        wanted[f"{name}.correlation"] = getattr(item, f"{name}_correlation_pct") / 1e2
    if tc.reorders(item, shape.base_delay_ms):
        wanted["reorder.reorder"] = item.reorder_pct / 1e2
        wanted["reorder.correlation"] = item.reorder_correlation_pct / 1e2
        wanted["gap"] = item.reorder_gap
    if item.loss_gemodel is not None:
        ge = item.loss_gemodel
        values = {"p": ge.p_pct, "r": ge.r_pct, "1-h": ge.bad_loss_pct, "1-k": ge.good_loss_pct}
        wanted.update({f"loss-gemodel.{key}": value / 1e2 for key, value in values.items()})
    if item.loss_state is not None:
        names = ("p13", "p31", "p32", "p23", "p14")
        wanted.update({f"loss-state.{name}": getattr(item.loss_state, f"{name}_pct") / 1e2 for name in names})
    if item.slot is not None:
        wanted["slot.min-delay"] = item.slot.min_ms / 1e3
        wanted["slot.max-delay"] = item.slot.longest_ms / 1e3
        wanted["slot.packets"] = item.slot.packets
        wanted["slot.bytes"] = item.slot.bytes
    return wanted


def _same(key: str, asked: float, has: float) -> bool:
    # tc counts time in ticks of 64 ns, rates in whole bytes, and keeps probabilities in 32 bits.
    if key in ("limit", "gap", "slot.packets", "slot.bytes", "seed"):
        return asked == has
    if key == "rate.rate":
        return math.isclose(asked, has, rel_tol=1e-5, abs_tol=1.0)
    if key in ("delay.delay", "delay.jitter", "slot.min-delay", "slot.max-delay"):
        return math.isclose(asked, has, abs_tol=2e-6)
    return math.isclose(asked, has, abs_tol=1e-6)


def _flat(value: object, prefix: str = "") -> dict[str, float]:
    """Numbers of nested objects by dotted path; what is no number is passed over."""
    found: dict[str, float] = {}
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, Mapping):
                found.update(_flat(item, f"{prefix}{key}."))
            elif isinstance(item, int | float) and not isinstance(item, bool):
                found[f"{prefix}{key}"] = item  # an int stays one: seeds have 64 bits
    return found


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
