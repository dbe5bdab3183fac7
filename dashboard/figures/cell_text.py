"""What a heatmap cell says: three short lines inside it, everything else on hover."""

from __future__ import annotations

from html import escape

from dashboard.client import Json
from dashboard.figures.grid import Panel
from dashboard.formatting import DASH, NBSP, interval, ms, number, signed_pct, size_label
from dashboard.words import FEW_ROUNDS, explanation, failing_arms

MARKS = {"inconclusive": "?", "equivalent": "=", "unproven": "!"}
"""One sign before the word, so that the kinds differ at a glance in black and white too."""

TITLES = {
    "h3 faster": "H3 faster",
    "h2 faster": "H3 slower",
    "equivalent": "Equivalent",
    "inconclusive": "Inconclusive",
    "unproven": "Unproven link",
    "failing": "Failing",
    "no data": "No data",
    "measuring": "Being measured",
    "pending": "Not measured yet",
}


WITHOUT_NUMBER = {"pending": ("·", "", ""), "measuring": ("…", "measuring", ""), "no data": (DASH, "no data", "")}


def words_in_cell(cell: Json, kind: str) -> tuple[str, str, str]:
    """The big number, the line under it, and the small print."""
    if kind in WITHOUT_NUMBER:
        return WITHOUT_NUMBER[kind]
    if kind == "failing":
        failed = cell["baseline"]["failures"] + cell["candidate"]["failures"]
        return "<b>✕</b>", " and ".join(failing_arms(cell)) + " failing", f"{failed} failed"
    line = f"{MARKS[kind]} {kind}" if kind in MARKS else interval_of(cell)
    if kind == "inconclusive" and cell["n"] < FEW_ROUNDS:
        line = "? few rounds"
    return f"<b>{signed_pct(cell['diff_pct'])}</b>", line, rounds_line(cell)


def rounds_line(cell: Json) -> str:
    """``n = 10``, with what failed and whether more is coming."""
    failed = cell["baseline"]["failures"] + cell["candidate"]["failures"]
    line = f"n{NBSP}={NBSP}{cell['n']}"
    if failed:
        line += f" · {failed}{NBSP}failed"
    return line + (" …" if cell["state"] == "running" else "")


def interval_of(cell: Json) -> str:
    """The 95 % interval, or nothing while there are too few rounds for one."""
    if cell["ci_low_pct"] is None or cell["ci_high_pct"] is None:
        return ""
    return interval(cell["ci_low_pct"], cell["ci_high_pct"])


def hover_text(panel: Panel, cell: Json, kind: str) -> str:
    """Everything known about a cell, as lines of Plotly's HTML subset."""
    lines = [
        f"<b>{escape(panel.provider)} · {size_label(cell['size_label'])} · {escape(cell['profile'])}</b>",
        condition(cell),
    ]
    if cell["diff_pct"] is not None:
        bounds = interval_of(cell)
        lines += [
            "",
            f"H3 against H2: <b>{signed_pct(cell['diff_pct'])}</b>"
            + (f", 95 % interval {bounds} %" if bounds else "")
            + f", n = {cell['n']}",
        ]
    lines += ["", *(_arm_line(name, cell[arm]) for name, arm in (("H2", "baseline"), ("H3", "candidate")))]
    lines += [proof_line(cell), "", f"<b>{TITLES[kind]}.</b> {explanation(cell, kind)}"]
    if cell.get("unproven_reason"):
        lines.append(escape(cell["unproven_reason"]))
    lines.append("<i>Click for the trials</i>")
    return "<br>".join(lines)


def condition(cell: Json) -> str:
    """The condition of a cell in words."""
    rate = f"{number(cell['rate_mbit_s'])} Mbit/s" if cell["rate_mbit_s"] is not None else "rate not shaped"
    return f"{rate}, {number(cell['loss_pct'])} % extra loss, {number(cell['extra_rtt_ms'])} ms extra RTT"


def failures_by_kind(arm: Json) -> str:
    """``2 timeout, 1 tls``; empty when nothing failed."""
    kinds = sorted((arm.get("failure_kinds") or {}).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {escape(kind)}" for kind, count in kinds)


def proof_line(cell: Json) -> str:
    """Requested beside achieved RTT, as far as the link was probed."""
    proof = cell.get("proof") or {}
    if proof.get("rtt_achieved_ms") is None:
        return "Link: not probed yet"
    box = f" ({escape(proof['box_kind'])} box)" if proof.get("box_kind") else ""
    return f"Link: RTT {ms(proof.get('rtt_requested_ms'))} requested, {ms(proof['rtt_achieved_ms'])} achieved{box}"


def _arm_line(name: str, arm: Json) -> str:
    median = f"median TTLB {ms(arm['median_ttlb_ms'])}" if arm["median_ttlb_ms"] is not None else "no TTLB"
    failed = failures_by_kind(arm)
    return f"{name}: {median}" + (
        f", failed: {failed}" if failed else f", none of {arm['n']} failed" if arm["n"] else ""
    )
