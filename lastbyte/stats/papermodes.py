"""The two heatmap definitions of quic-benchmarks (Yu and Benson), reproduced so that old pictures can be read.

Sources: github.com/triplewy/quic-benchmarks, ``analysis/main.py`` of 2020 and of 2021, and Yu and Benson 2021,
"Dissecting Performance of Production QUIC", The Web Conference. They are kept to the digit, faults included; the
corrected heatmap is `lastbyte.stats.paired`. Known faults of both:

- **Selection.** Each side is represented by its best client *of these very samples*. The lowest of several noisy means
  is too low on average, and more so the more clients there are: with equal clients, the side with more looks faster.
- **Pairing.** Rounds are not paired, so drift of the network counts as a difference of protocols.
- ``yu2020`` shows 0 for "not significant", which reads like "no difference"; ``yu2021`` tests nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Mode = Literal["yu2020", "yu2021"]
Samples = Mapping[str, Sequence[float]]
"""TTLB per client, in any one unit (the original files have milliseconds); the order of clients settles ties."""

SIGNIFICANCE = 0.01
"""From this p of Welch's t-test on, ``yu2020`` shows 0."""

HIDDEN_BELOW_PCT = 5.0
"""``yu2021`` prints no number in squares nearer to zero than this."""

SQUARE_LIMITS_PCT: Mapping[Mode, tuple[float, float]] = {"yu2020": (-20.0, 20.0), "yu2021": (-25.0, 25.0)}
"""Ends of the blue-white-red colour scale; blue is negative: H3 faster."""

CLIENT_LIMITS_PCT = (0.0, 20.0)
"""Ends of the white-to-red scale of the client comparison; some of the originals end at 30."""

NOTE = (
    "Best of {h3} H3 against best of {h2} H2 clients, chosen by the samples shown: biased towards the side with more "
    "clients. Rounds are not paired."
)
NOTE_ZERO = " 0 means Welch's t-test has p >= 0.01, not that there is no difference."
NOTE_CLIENTS = "Percent over the client that happens to be best in these samples, so the best one's 0 flatters it."


@dataclass(frozen=True, slots=True)
class PaperCell:
    """One square as the paper's scripts have it."""

    mode: Mode
    value_pct: float | None
    """(H3 - H2) / H2 x 100 of the best clients; None where a side has no samples."""
    label: str | None
    """What is printed in the square; None: nothing."""
    h2_client: str | None
    h3_client: str | None
    p_value: float | None
    """Of Welch's t-test; None in ``yu2021``, which has no test, and where the test is undefined."""
    limits_pct: tuple[float, float]
    note: str


@dataclass(frozen=True, slots=True)
class PaperClient:
    """One square of the client comparison."""

    client: str
    value_pct: float
    """Percent over the best H3 client of the cell; 0 for the best."""
    p_value: float | None
    """Of Welch's t-test against the best; None in ``yu2021`` and where undefined."""
    shown_pct: float
    """``value_pct``, but 0 where ``yu2020``'s test has p >= 0.01."""


@dataclass(frozen=True, slots=True)
class ClientComparison:
    """All H3 clients of one cell."""

    mode: Mode
    best: str | None
    clients: tuple[PaperClient, ...]
    limits_pct: tuple[float, float]
    note: str


def by_protocol(samples: Samples) -> tuple[dict[str, Sequence[float]], dict[str, Sequence[float]]]:
    """(H2, H3) clients told apart as the scripts do: a name with ``h3`` in it is H3; ``firefox`` is left out."""
    kept = {name: times for name, times in samples.items() if "firefox" not in name}
    h3 = {name: times for name, times in kept.items() if "h3" in name}
    return {name: times for name, times in kept.items() if name not in h3}, h3


def yu2020(h2: Samples, h3: Samples) -> PaperCell:
    """The square of 2020: lowest mean against lowest mean, 0 where Welch's t-test has p >= 0.01; -20 to 20 %.

    Biased towards the side with more clients (see the module).
    """
    return _cell("yu2020", h2, h3)


def yu2021(h2: Samples, h3: Samples) -> PaperCell:
    """The square of 2021: lowest median against lowest median, no test; -25 to 25 %, no number below 5 %.

    Biased towards the side with more clients (see the module).
    """
    return _cell("yu2021", h2, h3)


def client_comparison(h3: Samples, mode: Mode = "yu2020") -> ClientComparison:
    """Each H3 client in percent over the best of the cell: by means with the test in 2020, by medians without in 2021.

    The best is chosen by these very samples, so what the others lose to it is too large on average.
    """
    average = _AVERAGE[mode]
    best = _best(h3, average)
    rows = []
    for name, times in h3.items():
        if best is None or not len(times):
            continue
        lowest = average(h3[best])
        value = (average(times) - lowest) / lowest * 100
        p = _welch_p(h3[best], times) if mode == "yu2020" else None
        rows.append(PaperClient(name, value, p, 0.0 if _not_significant(p) else value))
    return ClientComparison(mode, best, tuple(rows), CLIENT_LIMITS_PCT, NOTE_CLIENTS)


def _mean(times: Sequence[float]) -> float:
    return float(np.mean(times))


def _median(times: Sequence[float]) -> float:
    return float(np.median(times))


_AVERAGE: Mapping[Mode, Callable[[Sequence[float]], float]] = {"yu2020": _mean, "yu2021": _median}


def _cell(mode: Mode, h2: Samples, h3: Samples) -> PaperCell:
    average = _AVERAGE[mode]
    note = NOTE.format(h2=len(h2), h3=len(h3)) + (NOTE_ZERO if mode == "yu2020" else "")
    best_h2, best_h3 = _best(h2, average), _best(h3, average)
    if best_h2 is None or best_h3 is None:
        return PaperCell(mode, None, None, best_h2, best_h3, None, SQUARE_LIMITS_PCT[mode], note)
    baseline, candidate = average(h2[best_h2]), average(h3[best_h3])
    value = (candidate - baseline) / baseline * 100
    p = None
    if mode == "yu2020":
        p = _welch_p(h2[best_h2], h3[best_h3])
        value = 0.0 if _not_significant(p) else value
    label = None if mode == "yu2021" and abs(value) < HIDDEN_BELOW_PCT else f"{value:.1f}%"
    return PaperCell(mode, value, label, best_h2, best_h3, p, SQUARE_LIMITS_PCT[mode], note)


def _best(samples: Samples, average: Callable[[Sequence[float]], float]) -> str | None:
    best, lowest = None, float("inf")
    for name, times in samples.items():
        if len(times) and (value := average(times)) <= lowest:  # of equals the scripts keep the last
            best, lowest = name, value
    return best


def _not_significant(p: float | None) -> bool:
    # an undefined p compares false, so the scripts show the difference then
    return p is not None and p >= SIGNIFICANCE


def _welch_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    from scipy import stats as scipy_stats  # noqa: PLC0415 - takes a second to import, and most commands need none of it

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # on constant or single samples, where p is undefined
        p = float(scipy_stats.ttest_ind(first, second, equal_var=False).pvalue)
    return None if np.isnan(p) else p
