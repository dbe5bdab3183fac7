"""Use cases about campaigns: plan and create, hand to workers, follow, cancel."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol as Shape
from typing import TypeVar

from lastbyte.domain.campaign import DEFAULT_EQUIVALENCE_PCT, AaArms, CampaignSpec, CampaignState
from lastbyte.domain.client import Client, Protocol, again, expand_clients
from lastbyte.domain.endpoint import Endpoint, endpoint_for_url
from lastbyte.domain.errors import Conflict, InvalidInput, QueueUnavailable, UnknownName
from lastbyte.ports import CampaignPlan, CampaignRecord, CampaignStore, Catalogue, CellQueue, VantageStore

logger = logging.getLogger(__name__)

FIRST_CELLS = 100
"""Cells enqueued at once when a campaign is created; the dispatcher sends the others as the queue empties."""

SEED_LIMIT = 2**32
"""Seeds that we choose stay below this, so that every JSON reader keeps them exactly."""


@dataclass(frozen=True, slots=True)
class CampaignRequest:
    """What a person or program asks for; names are not yet checked."""

    endpoints: Sequence[str]
    profiles: Sequence[str]
    clients: Sequence[str]
    rounds: int
    name: str = ""
    seed: int | None = None
    """None: one is drawn, and stored."""
    vantage: str | None = None
    """None: the default one."""
    aa: AaArms = AaArms.OFF
    max_rounds: int | None = None
    target_width_pct: float | None = None
    equivalence_pct: float = DEFAULT_EQUIVALENCE_PCT


class Campaigns:
    """Plans and follows campaigns."""

    def __init__(
        self,
        store: CampaignStore,
        catalogue: Catalogue,
        vantages: VantageStore,
        queue: CellQueue,
        default_vantage: str,
        timeout_s: float,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._vantages = vantages
        self._queue = queue
        self._default_vantage = default_vantage
        self._timeout_s = timeout_s

    def create(self, request: CampaignRequest) -> CampaignRecord:
        """Plan and store a campaign. Raises InvalidInput naming the field; then nothing is stored."""
        plan = self.plan(request)
        return self._store.get(self._store.create(plan))

    def plan(self, request: CampaignRequest) -> CampaignPlan:
        """What ``create`` would store, with the catalogue as it is now."""
        endpoints = _pick_endpoints(request.endpoints, self._catalogue.endpoints())
        known_profiles = {profile.name: profile for profile in self._catalogue.profiles()}
        profiles = [
            _pick(f"profiles.{index}", "profile", name, known_profiles) for index, name in enumerate(request.profiles)
        ]
        clients = with_aa_arms(expand_clients(request.clients, self._catalogue.clients()), request.aa)
        vantage = request.vantage or self._default_vantage
        if vantage != self._default_vantage:
            known = [seen.vantage.name for seen in self._vantages.vantages()]
            if vantage not in known:
                raise UnknownName("vantage", "vantage", vantage, [*known, self._default_vantage])
        spec = CampaignSpec(
            name=request.name or f"{_count(endpoints, 'endpoint')}, {_count(profiles, 'profile')}",
            endpoint_ids=tuple(endpoint.id for endpoint in endpoints),
            profile_names=tuple(profile.name for profile in profiles),
            client_ids=tuple(client.id for client in clients),
            rounds=request.rounds,
            seed=secrets.randbelow(SEED_LIMIT) if request.seed is None else request.seed,
            vantage=vantage,
            aa=request.aa,
            max_rounds=request.max_rounds,
            target_width_pct=request.target_width_pct,
            equivalence_pct=request.equivalence_pct,
        )
        spec.validate()
        return CampaignPlan(spec, tuple(endpoints), tuple(profiles), tuple(clients), self._timeout_s)

    def hand_out(self, campaign_id: str) -> None:
        """Send the campaign's first cells to their workers; with the broker away the dispatcher does it later."""
        try:
            self._queue.enqueue(self._store.dispatchable_cells(FIRST_CELLS, campaign_id))
        except QueueUnavailable as exc:
            logger.warning("campaign %s is stored but not yet handed out: %s", campaign_id, exc)

    def get(self, campaign_id: str) -> CampaignRecord:
        """Raises NotFound."""
        return self._store.get(campaign_id)

    def cancel(self, campaign_id: str) -> CampaignRecord:
        """Stop a campaign; what was measured stays. Raises NotFound, and Conflict when it is over already."""
        if not self._store.cancel(campaign_id):
            state = self._store.get(campaign_id).state
            raise Conflict(f"Campaign {campaign_id} is {state} already; there is nothing to cancel.")
        return self._store.get(campaign_id)


def with_aa_arms(clients: Sequence[Client], aa: AaArms) -> list[Client]:
    """The arms with those that run twice added at the end. Raises InvalidInput when there is none to run twice."""
    if aa is AaArms.OFF:
        return list(clients)
    twice = []
    for protocol in (Protocol.H2, Protocol.H3) if aa is AaArms.BOTH else (Protocol.H2,):
        first = next((client for client in clients if client.protocol is protocol), None)
        if first is None:
            raise InvalidInput("aa", f"there is no {protocol} client to run twice.", "Add one to clients.")
        twice.append(again(first))
    return [*clients, *twice]


def eta_s(campaign: CampaignRecord) -> float | None:
    """Seconds until the campaign is done: mean time per trial so far x trials left, shared by its busy workers.

    With sequential stopping the trials left are the most there can be; those that cells saved are taken off.

    None until a trial is stored, and for a cancelled campaign; 0 when it is done. Only time during which a worker
    held a cell counts, so an hour with the workers off does not stretch the estimate.
    """
    if campaign.state is CampaignState.DONE:
        return 0.0
    progress = campaign.progress
    if campaign.state is CampaignState.CANCELLED or progress.trials_done == 0:
        return None
    per_trial_s = progress.busy_s / progress.trials_done
    left = progress.trials_planned - progress.trials_done - progress.trials_saved
    return per_trial_s * left / max(1, progress.cells_running)


T = TypeVar("T")


def _pick(field: str, kind: str, name: str, known: dict[str, T]) -> T:
    if name not in known:
        raise UnknownName(field, kind, name, list(known))
    return known[name]


def _pick_endpoints(names: Sequence[str], known: Sequence[Endpoint]) -> list[Endpoint]:
    """By id, or by URL: a URL that is not in the catalogue is measured all the same."""
    by_id = {endpoint.id: endpoint for endpoint in known}
    return [
        endpoint_for_url(name, known, f"endpoints.{index}")
        if "://" in name
        else _pick(f"endpoints.{index}", "endpoint", name, by_id)
        for index, name in enumerate(names)
    ]


class _Sized(Shape):
    def __len__(self) -> int: ...


def _count(things: _Sized, noun: str) -> str:
    return f"{len(things)} {noun}" + ("" if len(things) == 1 else "s")
