"""What ``lastbyte measure`` says: tables for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.link_probe import DirectionProbe
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.services.one_shot import CellResult, OneShot, baseline_of
from lastbyte.stats.paired import MIN_ROUNDS_FOR_VERDICT, Comparison, Verdict
from lastbyte.stats.phases import Decomposition

Ticker = Callable[[Profile, Trial], None]

FORMAT = "lastbyte-measure/1"

_WORDS = {
    Verdict.H3_FASTER: "faster",
    Verdict.H2_FASTER: "slower",
}
_PHASES = {"handshake": "the handshake", "wait": "the wait for the first byte", "transfer": "the transfer"}
_COLOURS = {Verdict.H3_FASTER: "blue", Verdict.H2_FASTER: "red", Verdict.UNPROVEN: "yellow"}


def outcome(trial: Trial) -> str:
    """One trial in a word or a time."""
    observation = trial.observation
    if observation.timings is not None:
        return f"{observation.timings.ttlb_s * 1000:.1f} ms"
    return observation.failure.kind.value if observation.failure else "?"


def print_tables(console: Console, job: OneShot, results: list[CellResult]) -> None:
    """A table per profile: TTLB per arm and the difference to the baseline arm; fits 80 columns."""
    baseline = baseline_of(job.clients)
    for result in results:
        console.print(_title(job.endpoint, result), highlight=False, soft_wrap=True)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
        table.add_column("client", no_wrap=True)
        for name in ("handshake", "TTFB", "TTLB", "p5 - p95"):
            table.add_column(f"{name}\nms", justify="right", no_wrap=True)
        table.add_column("n", justify="right")
        table.add_column("failed")
        for client in job.clients:
            table.add_row(client.id, *_times(result, client.id), _failures(result, client.id))
        console.print(table)
        for client in job.clients:
            if client != baseline:
                difference = _difference(result.against(baseline.id, client.id))
                console.print(f"  {client.id} against {baseline.id}: {difference}", highlight=False, soft_wrap=True)
                if line := _phases(result.phases(baseline.id, client.id)):
                    console.print(f"    {line}", highlight=False, soft_wrap=True)
        floor = result.floor(baseline.id)
        if floor is not None and floor.floor_pct is not None:
            console.print(f"  noise floor: {floor.floor_pct:.1f} % (A/A)", highlight=False, soft_wrap=True)
        for reason, count in result.left_out().most_common():
            trials = "1 trial" if count == 1 else f"{count} trials"
            console.print(f"  [yellow]left out:[/] {trials} ({reason})", highlight=False, soft_wrap=True)
        console.print(f"  [dim]{_link(result)}[/]\n", highlight=False, soft_wrap=True)


def document(job: OneShot, results: list[CellResult], started_at: datetime, *, interrupted: bool) -> dict[str, Any]:
    """The whole run as one JSON document; times in seconds, percentages in percent."""
    baseline = baseline_of(job.clients)
    return {
        "format": FORMAT,
        "started_at": started_at.isoformat(),
        "finished_at": datetime.now(UTC).isoformat(),
        "interrupted": interrupted,
        "endpoint": dataclasses.asdict(job.endpoint),
        "rounds": job.rounds,
        "seed": job.seed,
        "timeout_s": job.timeout_s,
        "baseline": baseline.id,
        "profiles": [
            {
                "profile": dataclasses.asdict(result.profile),
                "proof": {**dataclasses.asdict(result.proof), "unproven_reason": result.unproven_reason},
                "aa_floor_pct": floor.floor_pct if (floor := result.floor(baseline.id)) else None,
                "arms": {
                    client.id: {
                        "n": len(result.ttlb_s(client.id)),
                        "failures": dict(_failure_counts(result, client.id)),
                        "left_out": result.left_out(client.id),
                        "median_ttlb_s": result.median_ttlb_s(client.id),
                        "against_baseline": None if client == baseline else _against(result, baseline.id, client.id),
                    }
                    for client in job.clients
                },
                "trials": [dataclasses.asdict(trial) for trial in result.trials],
            }
            for result in results
        ],
    }


def dumps(document: dict[str, Any]) -> str:
    """The document as JSON text."""
    return json.dumps(document, indent=2, default=_plain) + "\n"


def write(document: dict[str, Any], directory: Path, endpoint: Endpoint) -> Path:
    """Write the document into ``directory`` under a name that tells host and time; returns the file."""
    stamp = datetime.fromisoformat(document["started_at"]).strftime("%Y%m%dT%H%M%SZ")
    file = directory / f"{stamp}-{endpoint.host}.json"
    draft = file.with_suffix(".json.part")
    draft.write_text(dumps(document), encoding="utf-8")
    draft.replace(file)
    return file


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (frozenset, set, tuple)):
        return list(value)
    return str(value)


def _title(endpoint: Endpoint, result: CellResult) -> str:
    place = (
        f"testbed stand-in, {endpoint.base_rtt_ms:g} ms base RTT"
        if endpoint.origin is Origin.TESTBED
        else result.proof.address
    )
    return f"{endpoint.url}  ({place})  profile {result.profile.name}"


def _times(result: CellResult, client_id: str) -> list[str]:
    timings = [t.observation.timings for t in result.counted(client_id) if t.observation.timings]
    if not timings:
        return ["-", "-", "-", "-", "0"]
    ttlb = [timing.ttlb_s * 1000 for timing in timings]
    phases = ([t.handshake_s for t in timings], [t.ttfb_s for t in timings])
    known = [
        [value * 1000 for value in phase if value is not None] for phase in phases
    ]  # not every client reports them
    return [
        *(f"{np.quantile(column, 0.5):.1f}" if column else "-" for column in (*known, ttlb)),
        f"{np.quantile(ttlb, 0.05):.1f} - {np.quantile(ttlb, 0.95):.1f}",
        str(len(timings)),
    ]


def _failure_counts(result: CellResult, client_id: str) -> Counter[str]:
    return Counter(
        t.observation.failure.kind.value for t in result.counted(client_id) if t.observation.failure is not None
    )


def _failures(result: CellResult, client_id: str) -> str:
    counts = _failure_counts(result, client_id)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common()) or "none"


def _difference(comparison: Comparison) -> str:
    if comparison.diff_pct is None:
        return _open_difference(comparison)
    text = f"[bold]{comparison.diff_pct:+.1f} %[/] TTLB"
    if comparison.ci_low_pct is not None and comparison.ci_high_pct is not None:
        text += f", 95 % interval {comparison.ci_low_pct:+.1f} to {comparison.ci_high_pct:+.1f} %"
    word = _WORDS.get(comparison.verdict, comparison.verdict.value)
    if comparison.below_floor:
        word += ", below the noise floor"
    colour = _COLOURS.get(comparison.verdict, "default")
    too_few = f" (a verdict needs {MIN_ROUNDS_FOR_VERDICT} rounds)" if comparison.n < MIN_ROUNDS_FOR_VERDICT else ""
    return f"{text}, n={comparison.n}: [{colour}]{word}[/]{too_few}"


def _phases(found: Decomposition | None) -> str:
    """Which phase explains the difference; empty where there are too few rounds to tell."""
    if found is None or found.n < MIN_ROUNDS_FOR_VERDICT:
        return ""
    parts = {part.phase: part for part in found.phases}
    if found.explains is not None:
        part = parts[found.explains]
        return (
            f"explained by [bold]{_PHASES[part.phase]}[/]: {part.diff_ms:+.1f} of {found.total.diff_ms:+.1f} ms, "
            f"95 % interval {part.ci_low_ms:+.1f} to {part.ci_high_ms:+.1f} ms"
        )
    listed = ", ".join(f"{_PHASES[name]} {part.diff_ms:+.1f}" for name, part in parts.items())
    return f"no single phase explains it: {listed} ms"


def _against(result: CellResult, baseline_id: str, client_id: str) -> dict[str, Any]:
    phases = result.phases(baseline_id, client_id)
    return {
        **dataclasses.asdict(result.against(baseline_id, client_id)),
        "p_value": result.p_value(baseline_id, client_id),
        "phases": dataclasses.asdict(phases) if phases else None,
    }


def _open_difference(comparison: Comparison) -> str:
    if comparison.at_least_pct is not None:
        return f"at least {comparison.at_least_pct:+.1f} % TTLB, since it timed out, n={comparison.n}"
    if comparison.at_most_pct is not None:
        return f"at most {comparison.at_most_pct:+.1f} % TTLB, since the other timed out, n={comparison.n}"
    return "time-outs leave it open" if comparison.n else "no round in which both succeeded"


def _link(result: CellResult) -> str:
    rtt = result.proof.rtt
    achieved = f"{sorted(rtt.samples_ms)[len(rtt.samples_ms) // 2]:.2f} ms" if rtt.samples_ms else "no answer"
    text = f"Link: {result.proof.box_kind} box, RTT {achieved} of {rtt.requested_ms:g} ms requested"
    if link := result.proof.link:
        text += f"; down {_way(link.downlink)}; up {_way(link.uplink)}"
    return f"{text}. Unproven: {result.unproven_reason}" if result.unproven_reason else f"{text}."


def _way(way: DirectionProbe) -> str:
    """Rate and loss of one direction as found, beside what was requested."""
    if way.rate_requested_mbit_s is None:
        rate = "rate unlimited"
    elif way.rate_mbit_s is None:
        rate = f"{way.rate_requested_mbit_s:g} Mbit/s ({way.rate_unjudged or 'not measured'})"
    else:
        rate = f"{way.rate_mbit_s:.2f} of {way.rate_requested_mbit_s:g} Mbit/s"
    return f"{rate}, lost {way.lost} of {way.sent} ({way.loss_requested_pct:.3g} % requested)"
