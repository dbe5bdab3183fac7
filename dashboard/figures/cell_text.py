"""What a heatmap cell says: three short lines inside it, everything else on hover."""

from __future__ import annotations

from html import escape

from dashboard.client import Json
from dashboard.figures.grid import Panel
from dashboard.formatting import DASH, MINUS, NBSP, interval, ms, number, plural, signed_pct, size_label
from dashboard.words import FEW_ROUNDS, drawn_pct, explanation, failing_arms

MARKS = {"inconclusive": "?", "equivalent": "=", "unproven": "!", "below floor": "~"}
"""One sign before the word, so that the kinds differ at a glance in black and white too."""

TITLES = {
    "h3 faster": "H3 faster",
    "h2 faster": "H3 slower",
    "equivalent": "Equivalent",
    "below floor": "Within the noise",
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
    line = f"{MARKS[kind]} {IN_CELL.get(kind, kind)}" if kind in MARKS else interval_of(cell)
    if kind == "inconclusive" and cell["n"] < FEW_ROUNDS:
        line = "? few rounds"
    return f"<b>{difference(cell)}</b>", line, rounds_line(cell)


IN_CELL = {"below floor": "in the noise"}
"""Kinds whose name is too long for a square."""


def difference(cell: Json) -> str:
    """``+12.3 %``; ``≥ +120 %`` where time-outs leave open how much it is; a dash when nothing is known."""
    if cell["diff_pct"] is not None:
        return signed_pct(cell["diff_pct"])
    if cell.get("at_least_pct") is not None:
        return f"≥{NBSP}{signed_pct(cell['at_least_pct'], 0)}"
    return f"≤{NBSP}{signed_pct(cell['at_most_pct'], 0)}" if cell.get("at_most_pct") is not None else DASH


def paper_words(cell: Json) -> tuple[str, str, str]:
    """The same three lines in a mode of the papers: their label, and what it rests on."""
    paper = cell["paper"]
    p = paper.get("p_value")
    return f"<b>{paper['label']}</b>" if paper["label"] else "", f"p{NBSP}{p_text(p)}" if p is not None else "", ""


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
        "",
    ]
    if drawn_pct(cell) is not None:
        bounds = interval_of(cell)
        lines.append(
            f"H3 against H2: <b>{difference(cell)}</b>"
            + (f", {number(round(100 * cell.get('confidence', 0.95), 1))} % interval {bounds} %" if bounds else "")
            + f", n = {cell['n']}"
        )
        lines += [text for text in (tests_line(cell), phase_line(cell)) if text]
    if cell.get("paper"):
        lines.append(_paper_line(cell["paper"]))
    lines += ["", *(_arm_line(name, cell[arm]) for name, arm in (("H2", "baseline"), ("H3", "candidate")))]
    if cell.get("aa_floor_pct") is not None:
        lines.append(f"A/A floor: ±{cell['aa_floor_pct']:.1f} %")
    lines += [escape(text) for text in cautions(cell)]
    lines += [proof_line(cell), "", f"<b>{TITLES[kind]}.</b> {explanation(cell, kind)}"]
    if cell.get("unproven_reason"):
        lines.append(escape(cell["unproven_reason"]))
    if cell.get("campaign_name"):
        lines.append(f"Campaign: {escape(cell['campaign_name'])}")
    if cell.get("candidate_client"):
        lines.append(f"Clients: {escape(cell['candidate_client'])} against {escape(cell['baseline_client'])}")
    lines.append("<i>Click for the trials</i>")
    return "<br>".join(lines)


def p_text(p: float) -> str:
    """``= 0.031``, ``< 0.001``: what follows the letter."""
    return f"<{NBSP}0.001" if p < 0.001 else f"={NBSP}{p:.2g}"


def tests_line(cell: Json) -> str:
    """p and q; empty below six pairs."""
    if cell.get("p_value") is None:
        return ""
    q = f", q {p_text(cell['q_value'])} over this grid" if cell.get("q_value") is not None else ""
    return f"Wilcoxon p {p_text(cell['p_value'])}{q}".replace("<", "&lt;")


def phase_line(cell: Json) -> str:
    """Which phase explains the difference; empty where none is named."""
    phases = cell.get("phases")
    if not phases or not phases.get("explains"):
        return ""
    found = next(p for p in phases["phases"] if p["phase"] == phases["explains"])
    share = f" of {_signed_ms(phases['total']['diff_ms'])}" if phases.get("total") else ""
    return f"Explained by the {escape(found['phase'])}: {_signed_ms(found['diff_ms'])}{share}"


def _signed_ms(value: float) -> str:
    return ("+" if value > 0 else MINUS if value < 0 else "") + ms(abs(value))


def cautions(cell: Json) -> list[str]:
    """What weakens a cell beside its verdict: trials left out, the A/A floor, clients at their limit, time-outs."""
    said = []
    if cell.get("left_out"):
        reasons = ", ".join(f"{count} {reason}" for reason, count in (cell.get("left_out_reasons") or {}).items())
        said.append(f"Left out: {plural(cell['left_out'], 'trial')}" + (f" ({reasons})" if reasons else ""))
    if cell.get("timed_out"):
        said.append(f"Timed out in {cell['timed_out']} of {plural(cell['n'], 'round')}: counted as at least the limit")
    if cell.get("aa_biased"):
        said.append(
            "The A/A comparison itself leaves zero out: the apparatus prefers an arm, or it is the one in twenty"
        )
    if cell.get("near_ceiling"):
        said.append(f"Near its own ceiling: {', '.join(cell['near_ceiling'])}")
    return said


def _paper_line(paper: Json) -> str:
    if paper["value_pct"] is None:
        return "Paper mode: nothing to compare"
    pair = f"{escape(paper['h3_client'] or '?')} against {escape(paper['h2_client'] or '?')}"
    return f"Paper mode: {signed_pct(paper['value_pct'])}, {pair}"


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
    median += "".join(
        f", p90 {ms(p['value_ms'])}" for p in arm.get("percentiles") or () if p["percent"] == 90 and p["value_ms"]
    )
    failed = failures_by_kind(arm)
    return f"{name}: {median}" + (
        f", failed: {failed}" if failed else f", none of {arm['n']} failed" if arm["n"] else ""
    )
