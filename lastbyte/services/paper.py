"""The two heatmap definitions of Yu and Benson on the trials of a campaign (``lastbyte.stats.papermodes``).

They compare the best H3 with the best H2 client of each cell, so all clients of the campaign enter, and only successful
trials, since the originals fetched again until one succeeded. Trials out of tolerance stay out, as everywhere. An A/A
arm is no further client: it would give its side one more draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from lastbyte.domain.client import Client, Protocol, is_aa
from lastbyte.ports import Outcome
from lastbyte.services.stopping import counted_times
from lastbyte.stats import papermodes
from lastbyte.stats.papermodes import ClientComparison, PaperCell

HeatmapMode = Literal["lastbyte", "yu2020", "yu2021"]
"""Definition of a heatmap: ours, or one of the paper's."""

FrozenSamples = tuple[tuple[str, tuple[float, ...]], ...]
"""Clients with their TTLB in seconds by round; hashable, since squares are kept by content."""

CAPTIONS: dict[papermodes.Mode, str] = {
    "yu2020": "Lowest mean of the H3 clients against lowest mean of the H2 clients, 0 where Welch's t-test has "
    "p >= 0.01.",
    "yu2021": "Lowest median of the H3 clients against lowest median of the H2 clients; no test, and no number below "
    "5 %.",
}
CLIENT_CAPTIONS: dict[papermodes.Mode, str] = {
    "yu2020": "Means of the H3 clients in percent over the lowest; shown as 0 where Welch's t-test has p >= 0.01.",
    "yu2021": "Medians of the H3 clients in percent over the lowest; no test.",
}
ONLY_SUCCESSES = "Trials that failed or timed out do not count here."


def clients_of(arms: Sequence[Client], protocol: Protocol) -> list[str]:
    """The plain clients that stand for a protocol; the paper's scripts leave Firefox out."""
    plain = (a for a in arms if a.protocol is protocol and not is_aa(a.id) and a.memory is None)
    return [a.id for a in plain if "firefox" not in a.id.lower()]


def samples_of(outcomes: Sequence[Outcome], client_ids: Sequence[str]) -> FrozenSamples:
    """TTLB of these clients in one cell, by round; clients without any are left out."""
    by_client: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_client[outcome.client_id].append(outcome)
    found = ((name, counted_times(by_client[name], name)) for name in client_ids)
    return tuple((name, tuple(times[number] for number in sorted(times))) for name, times in found if times)


@lru_cache(maxsize=4096)
def paper_square(mode: papermodes.Mode, h2: FrozenSamples, h3: FrozenSamples) -> PaperCell:
    """One square of the paper."""
    return (papermodes.yu2020 if mode == "yu2020" else papermodes.yu2021)(dict(h2), dict(h3))


@lru_cache(maxsize=4096)
def paper_clients(mode: papermodes.Mode, h3: FrozenSamples) -> ClientComparison:
    """One cell of the paper's comparison of clients."""
    return papermodes.client_comparison(dict(h3), mode)


def mode_note(mode: papermodes.Mode, arms: Sequence[Client]) -> str:
    """What must stand beside a heatmap of the paper: its definition and its bias."""
    bias = papermodes.NOTE.format(h2=len(clients_of(arms, Protocol.H2)), h3=len(clients_of(arms, Protocol.H3)))
    zero = papermodes.NOTE_ZERO if mode == "yu2020" else ""
    return f"{CAPTIONS[mode]} {bias}{zero} {ONLY_SUCCESSES}"


def clients_note(mode: papermodes.Mode) -> str:
    """What must stand beside the comparison of clients."""
    return f"{CLIENT_CAPTIONS[mode]} {papermodes.NOTE_CLIENTS} {ONLY_SUCCESSES}"
