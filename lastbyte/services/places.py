"""Where the cells of a campaign belong: their providers, their order, and what must be said of their origin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from lastbyte.domain.endpoint import Origin, size_order
from lastbyte.ports import CampaignRecord, CellRecord

T = TypeVar("T")

TESTBED_NOTE = "Testbed: local stand-in servers behind a shaped link, not the providers of the Internet."
PRODUCTION_NOTE = "Production: real servers on the Internet behind a shaped link."
MIXED_NOTE = "Testbed and production endpoints together; each provider says which it is."
IMPORTED_NOTE = "Imported: measured elsewhere, by other programs; nothing proves the link of these results."


@dataclass(frozen=True, slots=True)
class ProviderMap(Generic[T]):
    """What was made of the cells of one provider, small objects and mild conditions first."""

    provider: str
    origin: Origin
    base_rtt_ms: float
    cells: tuple[T, ...]


def by_provider(items: Iterable[T], cell_of: Callable[[T], CellRecord]) -> tuple[ProviderMap[T], ...]:
    """The items by their cells' providers, in the order in which these first come."""
    groups: dict[tuple[str, Origin, float], list[T]] = defaultdict(list)
    for item in items:
        endpoint = cell_of(item).endpoint
        groups[endpoint.provider, endpoint.origin, endpoint.base_rtt_ms].append(item)
    return tuple(
        ProviderMap(*key, tuple(sorted(found, key=lambda item: place_of(cell_of(item)))))
        for key, found in groups.items()
    )


def place_of(cell: CellRecord) -> tuple[float, float, float, str]:
    """Sort key of a cell within its provider: small objects first, mild conditions before severe ones."""
    profile, endpoint = cell.profile, cell.endpoint
    return (size_order(endpoint.size_label), profile.loss_pct, profile.extra_rtt_ms, endpoint.id)


def _is_foreign(source: object) -> bool:
    """Whether results were imported from files, be it by way of a capsule."""
    if not isinstance(source, Mapping):
        return False
    return source.get("kind") == "import" or _is_foreign(source.get("original"))


def origin_note(campaign: CampaignRecord, cells: Sequence[CellRecord]) -> str:
    """Where the results of a campaign come from."""
    if _is_foreign(campaign.source):
        return IMPORTED_NOTE
    origins = {cell.endpoint.origin for cell in cells}
    if origins == {Origin.TESTBED}:
        return TESTBED_NOTE
    return PRODUCTION_NOTE if origins == {Origin.PRODUCTION} else MIXED_NOTE
