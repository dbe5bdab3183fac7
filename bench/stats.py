"""Whether the statistics keep their promises: synthetic campaigns with a known effect, thousands of each kind.

A cell's times are made as on a real network: rounds drift together, arms differ by the known effect, and what is left
is noise of various shapes and sizes. Then the product's own functions judge them. Needs no root and no network.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lastbyte.stats.intervals import Array, Method
from lastbyte.stats.paired import Comparison, Verdict, compare_cells, verdict_of
from lastbyte.stats.papermodes import yu2020, yu2021
from lastbyte.stats.sequential import Plan, decide
from lastbyte.stats.significance import benjamini_hochberg, spread_p, wilcoxon_cells

Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


def _two_peaks(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Three rounds in ten lose a packet and take a retransmission longer."""
    return np.asarray(rng.normal(0, 0.3, shape) + np.where(rng.random(shape) < 0.3, 2.0, 0.0))


NOISES: dict[str, Noise] = {
    "normal": lambda rng, shape: rng.normal(0, 1, shape),
    "laplace": lambda rng, shape: rng.laplace(0, 0.7, shape),
    "heavy tails (t, 2 df)": lambda rng, shape: rng.standard_t(2, shape),
    "skewed (exponential)": lambda rng, shape: rng.exponential(1, shape),
    "uniform": lambda rng, shape: rng.uniform(-1.7, 1.7, shape),
    "two peaks": _two_peaks,
}
MEDIANS = {"skewed (exponential)": math.log(2)}
DIRECTIONS = {Verdict.H3_FASTER, Verdict.H2_FASTER}


def campaigns(noise: str, scale: float, effect_pct: float, shape: tuple[int, int], seed: int) -> tuple[Array, Array]:
    """Times in seconds of baseline and candidate, both (cells, rounds), whose true median difference is the effect."""
    rng = np.random.default_rng(seed)
    centre = MEDIANS.get(noise)
    if centre is None:
        centre = float(np.median(NOISES[noise](np.random.default_rng(1), (1000, 2001)))) if noise == "two peaks" else 0
    drift = np.exp(np.cumsum(rng.normal(0, 0.05, shape), axis=1))
    rest = np.clip(scale * (NOISES[noise](rng, shape) - centre), -50, 50)  # heavy tails would leave the floats
    return drift, np.asarray(drift * np.exp(math.log1p(effect_pct / 100) + rest))


def fixed(noise: str, n: int, effect_pct: float, cells: int, seed: int, method: Method = "order") -> list[Comparison]:
    """Judge so many cells of n rounds each, with noise of 10 %."""
    baseline, candidate = campaigns(noise, 0.1, effect_pct, (cells, n), seed)
    return compare_cells(list(zip(baseline, candidate, strict=True)), method=method)


def covered_pct(results: Sequence[Comparison], effect_pct: float) -> float:
    """How often the interval holds the true effect, in percent."""
    ends = [(r.ci_low_pct, r.ci_high_pct) for r in results if r.ci_low_pct is not None and r.ci_high_pct is not None]
    return 100 * sum(low <= effect_pct <= high for low, high in ends) / len(results)


def directions_pct(verdicts: Sequence[Verdict]) -> float:
    """How often one side is called faster, in percent."""
    return 100 * sum(verdict in DIRECTIONS for verdict in verdicts) / len(verdicts)


def stopped(noise: str, scale: float, effect_pct: float, plan: Plan, cells: int, seed: int) -> dict[str, float]:
    """Cells measured until the plan stops them: coverage, directions called, equivalences called, rounds."""
    baseline, candidate = campaigns(noise, scale, effect_pct, (cells, plan.max_rounds), seed)
    ratios = np.log(candidate) - np.log(baseline)
    decisions = [decide(row, plan) for row in ratios]
    ends = [(d.low_pct, d.high_pct) for d in decisions if d.low_pct is not None and d.high_pct is not None]
    assert len(ends) == cells
    verdicts = [
        verdict_of(d.n, low, high, plan.equivalence_pct) for d, (low, high) in zip(decisions, ends, strict=True)
    ]
    return {
        "covered_pct": 100 * sum(low <= effect_pct <= high for low, high in ends) / cells,
        "directions_pct": directions_pct(verdicts),
        "equivalent_pct": 100 * verdicts.count(Verdict.EQUIVALENT) / cells,
        "rounds": sum(d.n for d in decisions) / cells,
    }


def naive(noise: str, scale: float, plan: Plan, cells: int, seed: int) -> dict[str, float]:
    """What not to do, with A/A cells: look after every round and stop at a verdict or a narrow interval."""
    baseline, candidate = campaigns(noise, scale, 0, (cells, plan.max_rounds), seed)
    pairs = list(zip(baseline, candidate, strict=True))
    called = holding = 0
    for n in range(plan.min_rounds, plan.max_rounds + 1):
        results = compare_cells([(one[:n], other[:n]) for one, other in pairs])
        going_on = []
        for pair, result in zip(pairs, results, strict=True):
            low, high = result.ci_low_pct or 0.0, result.ci_high_pct or 0.0
            narrow = high - low <= plan.target_width_pct
            if n < plan.max_rounds and result.verdict is Verdict.INCONCLUSIVE and not narrow:
                going_on.append(pair)
                continue
            called += result.verdict in DIRECTIONS
            holding += low <= 0 <= high
        pairs = going_on
    return {"covered_pct": 100 * holding / cells, "directions_pct": 100 * called / cells}


def selection_bias(cells: int, seed: int) -> dict[str, float]:
    """Mean of the paper's squares where three H3 clients and one H2 client are all the same, 10 rounds, 10 % noise."""
    rng = np.random.default_rng(seed)
    squares_2020, squares_2021 = [], []
    for _ in range(cells):
        times = rng.lognormal(0, 0.1, (4, 10))
        h3 = {f"h3-{i}": times[i] for i in range(3)}
        squares_2020.append(yu2020({"h2": times[3]}, h3))
        squares_2021.append(yu2021({"h2": times[3]}, h3))
    return {
        "yu2020 shown": 100 * sum(square.value_pct != 0 for square in squares_2020) / cells,
        "yu2021 mean": float(np.mean([square.value_pct or 0.0 for square in squares_2021])),
    }


def run(cells: int = 20_000, stopped_cells: int = 4_000) -> dict[str, Any]:
    """All tables; about two minutes."""
    coverage, coverage_goals = _coverage_table(cells)
    sequential, sequential_goals = _sequential_table(stopped_cells)
    speed, speed_goals = _speed()
    goals = coverage_goals + sequential_goals + speed_goals
    bias = selection_bias(1000, seed=3)
    print(
        f"\npaper's modes, four equal clients (3 H3, 1 H2): yu2021 is {bias['yu2021 mean']:+.1f} % on average, "
        f"yu2020 shows a difference in {bias['yu2020 shown']:.1f} % of cells"
    )
    return {"goals": goals, "selection": bias, "coverage": coverage, "sequential": sequential, "speed": speed}


def _coverage_table(cells: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    print(
        f"coverage of the 95 % interval of +5 % and false verdicts in A/A cells, {cells} cells each, lowest to highest"
    )
    print(f"over {', '.join(NOISES)}\n")
    print("   n   order statistics     BCa bootstrap   false verdicts (order)")
    rows = []
    for n in (6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 80):
        row: dict[str, Any] = {"n": n}
        methods: tuple[Method, ...] = ("order", "bca")
        for method in methods:
            found = [covered_pct(fixed(noise, n, 5.0, cells, n, method), 5.0) for noise in NOISES]
            row[method] = (min(found), max(found))
        wrong = [directions_pct([r.verdict for r in fixed(noise, n, 0.0, cells, n)]) for noise in NOISES]
        row["false_pct"] = (min(wrong), max(wrong))
        order, bca, false = row["order"], row["bca"], row["false_pct"]
        print(
            f"{n:4}   {order[0]:5.1f} to {order[1]:5.1f} %   {bca[0]:5.1f} to {bca[1]:5.1f} %   "
            f"{false[0]:4.1f} to {false[1]:4.1f} %"
        )
        rows.append(row)
    return rows, [
        {"what": "most that 95 % intervals miss, %", "value": 100 - min(r["order"][0] for r in rows), "at_most": 7.0},
        {"what": "most that 95 % intervals cover, %", "value": max(r["order"][1] for r in rows), "at_most": 97.0},
        {"what": "false verdicts in A/A, %", "value": max(r["false_pct"][1] for r in rows), "at_most": 5.05},
    ]


def _sequential_table(cells: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    plan = Plan()
    print(
        f"\nstopping at {', '.join(map(str, plan.look_rounds))} rounds, target {plan.target_width_pct:g} points, "
        f"{cells} cells each"
    )
    print("lowest and highest over the noises; A/A, +2 %, +10 %; just outside the margin for false equivalence\n")
    print(" noise   coverage             A/A false      false equivalent  rounds   naive: coverage, A/A false")
    rows = []
    for scale in (0.01, 0.02, 0.03, 0.04, 0.06, 0.1, 0.3):
        a_a = [stopped(noise, scale, 0.0, plan, cells, 11) for noise in NOISES]
        effects = [stopped(noise, scale, e, plan, cells, 12) for noise in NOISES for e in (2.0, 10.0)]
        outside = [stopped(noise, scale, 3.01, plan, cells, 13)["equivalent_pct"] for noise in NOISES]
        unwise = [naive(noise, scale, plan, cells // 4, 14) for noise in NOISES]
        row: dict[str, Any] = {
            "noise": scale,
            "covered": _range([r["covered_pct"] for r in a_a + effects]),
            "false": _range([r["directions_pct"] for r in a_a]),
            "equivalent": _range(outside),
            "rounds": sum(r["rounds"] for r in a_a) / len(a_a),
            "naive_covered": min(r["covered_pct"] for r in unwise),
            "naive_false": max(r["directions_pct"] for r in unwise),
        }
        print(
            f"{scale:6.0%}   {row['covered'][0]:5.1f} to {row['covered'][1]:5.1f} %   "
            f"{row['false'][0]:4.1f} to {row['false'][1]:4.1f} %   {row['equivalent'][0]:4.1f} to "
            f"{row['equivalent'][1]:4.1f} %   {row['rounds']:5.1f}   "
            f"{row['naive_covered']:5.1f} %, {row['naive_false']:4.1f} %"
        )
        rows.append(row)
    return rows, [
        {"what": "most missed after a stop, %", "value": 100 - min(r["covered"][0] for r in rows), "at_most": 7.0},
        {"what": "most covered after a stop, %", "value": max(r["covered"][1] for r in rows), "at_most": 97.05},
        {"what": "false verdicts in A/A after a stop, %", "value": max(r["false"][1] for r in rows), "at_most": 5.05},
    ]


def _speed() -> tuple[dict[str, float], list[dict[str, Any]]]:
    baseline, candidate = campaigns("normal", 0.1, 5.0, (1000, 40), 1)
    cells = list(zip(baseline, candidate, strict=True))
    spent: dict[str, float] = {}

    def clock(what: str, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        spent[what] = time.perf_counter() - started

    wilcoxon_cells(cells[:1])  # SciPy's import is not the work
    clock("order statistics", lambda: compare_cells(cells))
    clock("BCa", lambda: compare_cells(cells, method="bca"))
    clock("Wilcoxon and BH", lambda: benjamini_hochberg(wilcoxon_cells(cells)))
    clock("Kolmogorov-Smirnov", lambda: [spread_p(*cell) for cell in cells])
    print("\n1,000 cells of 40 rounds: " + ", ".join(f"{what} {s * 1000:.0f} ms" for what, s in spent.items()))
    return spent, [{"what": "1,000 BCa intervals, s", "value": spent["BCa"], "at_most": 5.0}]


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)
