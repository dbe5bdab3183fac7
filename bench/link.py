"""How true the link itself is: delay, rate and loss of each kind of box that can be had here, over their whole ranges.

Echo requests and UDP streams between the two ends of the path, so neither a client nor an origin is in the figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.timeline import Change, Step, Timeline
from lastbyte.stats.binomial import interval_pct
from netem import tc
from netem.factory import ShapedPathFactory, available_boxes
from netem.path import ShapedPath
from netem.player import Player, changes
from netem.probe import measure_loss, measure_rate
from netem.traffic import End

DELAYS_MS = (0, 5, 10, 25, 50, 100, 150, 200)
RATES_MBIT_S = (1, 2, 5, 10, 20, 40, 100)
LOSSES_PCT = (0.1, 0.3, 1, 2.5, 5, 10)
DELAY_GOAL_MS = 0.5
RATE_GOAL_PCT = 2.0
LOSS_CONFIDENCE = 0.99
LOSS_DRAWS = 2 * len(LOSSES_PCT)
STEP_GOAL_MS = 5.0
PINGS = 300


@dataclass(slots=True)
class _Figures:
    """What one box gave."""

    box: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    goals: list[dict[str, Any]] = field(default_factory=list)

    def add(self, what: str, requested: str, achieved: str, value: float, at_most: float, unit: str) -> None:
        row = {"box": self.box, "what": what, "requested": requested, "achieved": achieved}
        self.rows.append({**row, "value": value, "at_most": at_most, "unit": unit})
        goal = f"{self.box} {what} at {requested}, {unit}"
        self.goals.append({"what": goal, "value": value, "at_most": at_most})


def run() -> dict[str, Any]:
    """A table per box; every row is a goal."""
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    for status in available_boxes():
        if os.environ.get("LASTBYTE_BOX", "auto") not in ("auto", status.kind):
            continue
        if not status.usable:
            print(f"{status.kind}: {status.reason}")
            continue
        figures = _Figures(status.kind)
        with _path(status.kind) as path:
            _delays(path, figures)
            _rates(path, figures)
            _losses(path, figures)
            _steps(path, figures)
        print(f"{status.kind} box, Linux {status.version}:")
        for row in figures.rows:
            print(_line(row))
        rows += figures.rows
        goals += figures.goals
    return {"goals": goals, "rows": rows}


@contextmanager
def _path(kind: str) -> Iterator[ShapedPath]:
    with ShapedPathFactory(kind, uplink="none").open() as path:
        yield path


def _ends(path: ShapedPath) -> tuple[End, End]:
    link = path.addresses.access
    return End(path.client, link.near), End(path.uplink, link.far)


def _delays(path: ShapedPath, figures: _Figures) -> None:
    """Round trips with the delay on the downlink alone, so that a delay is one direction's: 95 % of them must be
    within half a millisecond of it, the path's own round trip and the measuring included."""
    for delay_ms in DELAYS_MS:
        path.configure(Profile("delay", "", Impairment(delay_ms=delay_ms), Impairment()))
        samples = path.probe_rtt(PINGS, 0.005).samples_ms
        p95 = float(np.percentile(np.abs(np.asarray(samples) - delay_ms), 95))
        shown = f"median {np.median(samples):.2f} ms, p95 off by {p95:.2f}, n {len(samples)}"
        figures.add("delay", f"{delay_ms} ms", shown, p95, DELAY_GOAL_MS, "ms")


def _rates(path: ShapedPath, figures: _Figures) -> None:
    """Full frames, 30 % more than the link takes, timed where they arrive; both who keeps a rate: netem, and the
    token bucket that takes over where a timeline changes it."""
    client, uplink = _ends(path)
    bucket = Timeline((Step(60_000, Change(rate_share=0.5)),))
    for rate in RATES_MBIT_S:
        item = Impairment(rate_mbit_s=rate)
        for name, timeline in (("rate (netem)", None), ("rate (tbf)", bucket)):
            path.configure(Profile("rate", "", item, Impairment(), timeline=timeline))
            report = measure_rate(path, uplink, client, item)
            if report.offered < rate:  # the link was not full, so that its rate is not what was measured
                print(f"{name} {rate} Mbit/s: left out, because no more than {report.offered:.1f} could be sent")
                continue
            off_pct = abs(report.achieved / rate - 1) * 100
            shown = f"{report.achieved:.3f} Mbit/s of {report.offered:.1f} offered"
            figures.add(name, f"{rate} Mbit/s", shown, off_pct, RATE_GOAL_PCT, "% off")


def _losses(path: ShapedPath, figures: _Figures) -> None:
    """Small packets far below the rate of the link. The interval is exact; since it is drawn anew for each direction
    and loss, its level is that at which all of them together leave it one time in a hundred (Bonferroni)."""
    client, uplink = _ends(path)
    level = 1 - (1 - LOSS_CONFIDENCE) / LOSS_DRAWS
    for loss in LOSSES_PCT:
        item = Impairment(loss_pct=loss, queue_packets=10_000)
        path.configure(Profile("loss", "", item, item))
        for name, source, sink in (("downlink loss", uplink, client), ("uplink loss", client, uplink)):
            report = measure_loss(path, source, sink, item)
            low, high = interval_pct(report.lost, report.sent, LOSS_CONFIDENCE)
            wide_low, wide_high = interval_pct(report.lost, report.sent, level)
            outside = max(0.0, wide_low - loss, loss - wide_high)
            inside = "inside" if low <= loss <= high else "outside"
            shown = f"{report.achieved:.3f} % of {report.sent}; {inside} the 99 % interval {low:.3f} to {high:.3f}"
            figures.add(name, f"{loss:g} %", shown, outside, 0.0, "points outside")


def _steps(path: ShapedPath, figures: _Figures) -> None:
    """How late the changes of a timeline take effect, on a link that carries traffic meanwhile."""
    item = Impairment(rate_mbit_s=10, delay_ms=10)
    timeline = Timeline((Step(0), Step(30, Change(rate_share=0.5))), 50)
    profile = Profile("steps", "", item, Impairment(), timeline=timeline)
    path.configure(profile)
    client, uplink = _ends(path)
    handle = int(path.box.console.qdiscs()[path.box.ports[0]].handle.rstrip(":"), 16)
    player = Player(changes(profile, tc.shapes_of(profile), path.box.ports, handle), path.box.console.run)
    measure_rate(path, uplink, client, item)
    player.stop()
    late_ms = player.late_ms
    p95 = float(np.percentile(late_ms, 95))
    shown = f"median {np.median(late_ms):.2f} ms, p95 {p95:.2f}, worst {max(late_ms):.2f}, n {len(late_ms)}"
    figures.add("timeline step late", "0 ms", shown, p95, STEP_GOAL_MS, "ms at p95")


def _line(row: dict[str, Any]) -> str:
    verdict = "ok" if row["value"] <= row["at_most"] else f"missed: {row['at_most']:g} {row['unit']}"
    return f"  {row['what']:>18} {row['requested']:>10}: {row['achieved']}; {row['value']:.3f} {row['unit']}, {verdict}"
