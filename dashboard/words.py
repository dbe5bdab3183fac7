"""What is said about results: verdicts, states and concepts, in one voice on all pages."""

from __future__ import annotations

from dashboard.client import Json

TTLB = (
    "Time to last byte: from the start of the connection to the last byte of the body at the client, in milliseconds. "
    "Name resolution is not part of it. The handshake and the time to first byte are phases within it."
)

KINDS = (
    "h3 faster",
    "h2 faster",
    "equivalent",
    "below floor",
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
    "below floor": "The interval leaves zero out, but a client differs from itself by as much here (A/A floor).",
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

P_AND_Q = (
    "p: how often so clear a difference would show if there were none (Wilcoxon signed-rank over the rounds). q: the "
    "same corrected for looking at many squares at once (Benjamini-Hochberg); of the squares with q below 0.05 about "
    "5 % are expected to be wrong. Both measure surprise, not size: read the interval."
)
FLOOR = (
    "The same client, run twice in each round, differs from itself by this much: the noise of the measurement. "
    "Differences no larger are muted."
)
LEFT_OUT = (
    "Trials that succeeded while link or machine were out of tolerance. They are kept, named with their reason, and "
    "not compared."
)
CEILING = (
    "The client's rate is within a factor of two of the most it can do on that machine: its own speed may limit it."
)
PHASES = (
    "TTLB = handshake (connection and TLS, or QUIC) + wait (from there to the first byte of the answer) + transfer "
    "(first to last byte)."
)

ROUND = (
    "Every client of a cell once, in an order drawn at random from the campaign's seed. Round 0 warms up caches and is "
    "not counted."
)
CELL = "One endpoint under one profile (network condition) from one vantage: a square. A campaign measures many."
PAPERS = (
    "yu2020 and yu2021 compute a square as the two papers of Yu and Benson did, with the bias that stands beside it; "
    "lastbyte is the paired difference that all other pages use."
)
CHANGES = (
    "A campaign from which on the level of a series is another (PELT), kept only where the 99 % interval of the shift "
    "leaves zero out. Looked for from ten points on."
)
CROSSOVER = (
    "The loss, delay, rate or size at which both protocols take the same time, between two places that were measured. "
    "The rounds are drawn anew a thousand times; the agreement is the share of draws that say the same. Below 90 % "
    "nothing is claimed."
)
VANTAGE = (
    "A place with workers and a shaped path of its own. A path proves the RTT, loss and rate that it was asked for."
)
CAPTURE = (
    "Rounds on top whose packets, keys and qlog are kept as files. They are slower for it and enter no comparison."
)

CONCEPTS: tuple[tuple[str, str], ...] = (
    ("TTLB", TTLB),
    ("Phases", PHASES),
    ("Cell", CELL),
    ("Round", ROUND),
    ("The percentage", PERCENTAGE),
    ("H3 faster, H3 slower", "The whole 95 % interval lies on one side of zero."),
    ("Equivalent", EXPLANATIONS["equivalent"]),
    ("Inconclusive", INCONCLUSIVE),
    ("Unproven", EXPLANATIONS["unproven"] + " Each cell's link is probed; requested and achieved stand side by side."),
    ("Failing", "Failures are kept and counted by kind, never retried until one succeeds. " + EXPLANATIONS["failing"]),
    ("A/A floor", FLOOR),
    ("Left out", LEFT_OUT),
    ("p and q", P_AND_Q),
    ("Near the ceiling", CEILING),
    ("Extra loss, extra delay", CONDITIONS),
    ("Definitions of the papers", PAPERS),
    ("Change of level", CHANGES),
    ("Crossover and its agreement", CROSSOVER),
    ("Captures", CAPTURE),
    ("Vantage", VANTAGE),
    ("Testbed", TESTBED),
)


def kind_of(cell: Json) -> str:
    """How a cell is drawn: one of KINDS."""
    if failing_arms(cell):
        return "failing"
    if drawn_pct(cell) is None or not cell["n"]:
        return {"pending": "pending", "running": "measuring"}.get(cell["state"], "no data")
    verdict = str(cell["verdict"])
    return "below floor" if cell.get("below_floor") and verdict in ("h3 faster", "h2 faster") else verdict


def drawn_pct(cell: Json) -> float | None:
    """The difference in percent, or the bound on it where time-outs leave it open; None when nothing is known."""
    known = (cell["diff_pct"], cell.get("at_least_pct"), cell.get("at_most_pct"))
    return next((float(value) for value in known if value is not None), None)


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
