"""What is said about results: verdicts, states and concepts, in one voice on all pages."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.client import Json
from dashboard.formatting import plural

TTLB = (
    "Time to last byte: from the start of the connection to the last byte of the body at the client, in milliseconds. "
    "Name resolution is not part of it. The handshake and the time to first byte are phases within it."
)

KINDS = (
    "h3 faster",
    "h2 faster",
    "equivalent",
    "inconclusive",
    "unproven",
    "failing",
    "no data",
    "measuring",
    "pending",
)
"""Every way in which a cell is drawn: the verdicts of the API, and what stands in place of one."""

FEW_ROUNDS = 6
"""Below so many paired rounds the statistics give no verdict (lastbyte.stats.paired, MIN_ROUNDS_FOR_VERDICT)."""

EXPLANATIONS: dict[str, str] = {
    "h3 faster": "The whole 95 % interval lies below zero: HTTP/3 needed less time.",
    "h2 faster": "The whole 95 % interval lies above zero: HTTP/3 needed more time.",
    "equivalent": "The whole 95 % interval lies within ±3 %: no difference that matters.",
    "inconclusive": "These rounds can't tell. More may.",
    "unproven": "The link was not what the profile asked for, so the difference proves nothing.",
    "failing": "One protocol never delivered here, so there is nothing to compare.",
    "no data": "No round in which both protocols delivered.",
    "measuring": "Being measured now.",
    "pending": "Not measured yet.",
}

PERCENTAGE = (
    "In each round both protocols fetch the same object once, in random order. The number is the median over rounds of "
    "TTLB with HTTP/3 against TTLB with HTTP/2: +10 % says that HTTP/3 took a tenth longer. The interval beside it "
    "covers 95 % (bootstrap), n counts the rounds in which both delivered. A warm-up round is left out."
)
CONDITIONS = (
    "What the shaped link adds: random loss in percent of packets, and round-trip time in milliseconds on top of the "
    "provider's base RTT."
)
INCONCLUSIVE = (
    f"The 95 % interval holds zero and more than ±3 %, or there are fewer than {FEW_ROUNDS} paired rounds, from which "
    "no 95 % interval can be had. More rounds may tell."
)
TESTBED = (
    "Providers named testbed-… are stand-ins: servers on this machine behind the shaped link. They say nothing about "
    "any company's production servers."
)

CONCEPTS: tuple[tuple[str, str], ...] = (
    ("TTLB", TTLB),
    ("The percentage", PERCENTAGE),
    ("H3 faster, H3 slower", "The whole 95 % interval lies on one side of zero."),
    ("Equivalent", EXPLANATIONS["equivalent"]),
    ("Inconclusive", INCONCLUSIVE),
    ("Unproven", EXPLANATIONS["unproven"] + " Each cell's link is probed; requested and achieved stand side by side."),
    ("Failing", "Failures are kept and counted by kind, never retried until one succeeds. " + EXPLANATIONS["failing"]),
    ("Extra loss, extra delay", CONDITIONS),
    ("Testbed", TESTBED),
)


def kind_of(cell: Json) -> str:
    """How a cell is drawn: one of KINDS."""
    if failing_arms(cell):
        return "failing"
    if cell["diff_pct"] is None or not cell["n"]:
        return {"pending": "pending", "running": "measuring"}.get(cell["state"], "no data")
    return str(cell["verdict"])


def explanation(cell: Json, kind: str) -> str:
    """Why a cell is what it is, in a sentence or two."""
    if kind == "inconclusive" and cell["n"] < FEW_ROUNDS:
        return f"Fewer than {FEW_ROUNDS} paired rounds, so no verdict whatever the numbers are. More rounds may tell."
    if kind == "inconclusive":
        return "The 95 % interval holds zero and more than ±3 %. More rounds may tell."
    return EXPLANATIONS[kind]


def failing_arms(cell: Json) -> list[str]:
    """``H2`` and ``H3``, each if it failed and never once delivered; a cell under way may still deliver."""
    if cell["state"] == "running":
        return []
    arms = (("H2", cell["baseline"]), ("H3", cell["candidate"]))
    return [name for name, arm in arms if arm["failures"] and arm["median_ttlb_ms"] is None]


def summary(cells: Sequence[Json]) -> str:
    """One sentence that answers the question for a whole campaign."""
    counts = dict.fromkeys(KINDS, 0)
    for cell in cells:
        counts[kind_of(cell)] += 1
    judged = len(cells) - counts["pending"] - counts["measuring"]
    if not judged:
        return "No cell has a result yet."
    said = [
        f"{label} in {counts[kind]}"
        for kind, label in (
            ("h2 faster", "slower"),
            ("h3 faster", "faster"),
            ("equivalent", "equivalent"),
            ("inconclusive", "inconclusive"),
            ("unproven", "unproven"),
            ("failing", "failing"),
            ("no data", "without data"),
        )
        if counts[kind]
    ]
    waiting = len(cells) - judged
    tail = f" {plural(waiting, 'cell')} still to come." if waiting else ""
    return f"Of {plural(judged, 'cell')}: H3 " + ", ".join(said) + "." + tail
