"""Use cases about campaigns: plan and create, hand to workers, follow, pause, cancel, run again."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol as Shape
from typing import TypeVar

from lastbyte.domain.campaign import DEFAULT_EQUIVALENCE_PCT, AaArms, CampaignSpec, CampaignState, Priority
from lastbyte.domain.capture import CapturePolicy
from lastbyte.domain.client import Client, Protocol, again, expand_clients, is_aa, pinned
from lastbyte.domain.endpoint import Endpoint, endpoint_for_url
from lastbyte.domain.errors import Conflict, Faults, InvalidInput, QueueUnavailable, UnknownName
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
    labels: Sequence[str] = ()
    capture: CapturePolicy = CapturePolicy.NEVER
    tls_groups: Sequence[str] = ()
    priority: Priority = Priority.NORMAL


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
        """What ``create`` would store, with the catalogue as it is now. Raises InvalidInput, InvalidInputs for several.

        Every fault is looked for before one is raised.
        """
        faults = Faults()
        known = self._catalogue.endpoints()
        by_id = {endpoint.id: endpoint for endpoint in known}
        endpoints = [
            faults.unless(partial(_endpoint, name, known, by_id, f"endpoints.{index}"))
            for index, name in enumerate(request.endpoints)
        ]
        known_profiles = {profile.name: profile for profile in self._catalogue.profiles()}
        profiles = [
            faults.unless(partial(_pick, f"profiles.{index}", "profile", name, known_profiles))
            for index, name in enumerate(request.profiles)
        ]
        clients = self._clients(request, faults)
        vantage = request.vantage or self._default_vantage
        faults.unless(partial(self._check_vantage, vantage))
        spec = CampaignSpec(
            name=request.name or f"{_count(endpoints, 'endpoint')}, {_count(profiles, 'profile')}",
            # what is not known stays as it was named, so that the size of the whole can be judged all the same
            endpoint_ids=tuple(e.id if e else n for e, n in zip(endpoints, request.endpoints, strict=True)),
            profile_names=tuple(p.name if p else n for p, n in zip(profiles, request.profiles, strict=True)),
            client_ids=tuple(client.id for client in clients) or tuple(request.clients),
            rounds=request.rounds,
            seed=secrets.randbelow(SEED_LIMIT) if request.seed is None else request.seed,
            vantage=vantage,
            aa=request.aa,
            max_rounds=request.max_rounds,
            target_width_pct=request.target_width_pct,
            equivalence_pct=request.equivalence_pct,
            capture=request.capture,
            tls_groups=tuple(request.tls_groups),
            priority=request.priority,
        )
        faults.put_first(spec.faults())
        faults.raise_all()
        return CampaignPlan(
            spec,
            tuple(endpoint for endpoint in endpoints if endpoint),
            tuple(profile for profile in profiles if profile),
            tuple(pinned(client, spec.tls_groups) for client in clients),
            self._timeout_s,
            tuple(dict.fromkeys(request.labels)),
        )

    def _clients(self, request: CampaignRequest, faults: Faults) -> list[Client]:
        known = self._catalogue.clients()
        chosen: dict[str, Client] = {}
        complete = True
        for index, name in enumerate(request.clients):
            found = faults.unless(partial(_client, name, known, f"clients.{index}"))
            complete = complete and found is not None
            chosen.update((client.id, client) for client in found or ())
        if not complete:
            return list(chosen.values())
        with_arms = faults.unless(partial(with_aa_arms, list(chosen.values()), request.aa))
        return list(chosen.values()) if with_arms is None else with_arms

    def _check_vantage(self, vantage: str) -> None:
        if vantage == self._default_vantage:
            return
        known = [seen.vantage.name for seen in self._vantages.vantages()]
        if vantage not in known:
            raise UnknownName("vantage", "vantage", vantage, [*known, self._default_vantage])

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

    def pause(self, campaign_id: str) -> CampaignRecord:
        """Hold a campaign until it is resumed. Raises NotFound, and Conflict when it is over or paused already."""
        if not self._store.pause(campaign_id):
            state = self._store.get(campaign_id).state
            raise Conflict(f"Campaign {campaign_id} is {state} already; there is nothing to pause.")
        return self._store.get(campaign_id)

    def resume(self, campaign_id: str) -> CampaignRecord:
        """Let a paused campaign go on. Raises NotFound, and Conflict when it is not paused."""
        if not self._store.resume(campaign_id):
            state = self._store.get(campaign_id).state
            raise Conflict(f"Campaign {campaign_id} is {state}, not paused; there is nothing to resume.")
        return self._store.get(campaign_id)

    def edit(self, campaign_id: str, name: str | None, labels: Sequence[str] | None) -> CampaignRecord:
        """Change its name or labels, where they are not None. Raises NotFound."""
        self._store.edit(campaign_id, name, None if labels is None else list(dict.fromkeys(labels)))
        return self._store.get(campaign_id)

    def delete(self, campaign_id: str) -> None:
        """Remove a campaign with all that it measured. Raises NotFound, and Conflict unless it is over."""
        if not self._store.delete(campaign_id):
            state = self._store.get(campaign_id).state
            raise Conflict(f"Campaign {campaign_id} is {state}; cancel it before it is deleted.")

    def rerun(self, campaign_id: str, *, same_seed: bool = False, name: str | None = None) -> CampaignRecord:
        """A new campaign of the same spec, with the catalogue as it is now.

        ``same_seed`` gives the same order of arms and the same losses. Raises NotFound, and InvalidInput when the
        catalogue no longer has what the campaign names.
        """
        found = self._store.get(campaign_id)
        request = request_of(found)
        seed = found.spec.seed if same_seed else None
        return self.create(replace(request, seed=seed, name=request.name if name is None else name))


def request_of(campaign: CampaignRecord) -> CampaignRequest:
    """What would have to be asked for to get the same campaign once more, its seed included."""
    spec = campaign.spec
    return CampaignRequest(
        endpoints=spec.endpoint_ids,
        profiles=spec.profile_names,
        clients=[client_id for client_id in spec.client_ids if not is_aa(client_id)],
        rounds=spec.rounds,
        name=spec.name,
        seed=spec.seed,
        vantage=spec.vantage,
        aa=spec.aa,
        max_rounds=spec.max_rounds,
        target_width_pct=spec.target_width_pct,
        equivalence_pct=spec.equivalence_pct,
        capture=spec.capture,
        tls_groups=spec.tls_groups,
        priority=spec.priority,
        labels=campaign.labels,
    )


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

    None until a trial is stored, and for a paused or cancelled campaign; 0 when it is done. Only time during which a
    worker held a cell counts, so an hour with the workers off does not stretch the estimate.
    """
    if campaign.state is CampaignState.DONE:
        return 0.0
    progress = campaign.progress
    if campaign.state in (CampaignState.PAUSED, CampaignState.CANCELLED) or progress.trials_done == 0:
        return None
    per_trial_s = progress.busy_s / progress.trials_done
    left = progress.trials_planned - progress.trials_done - progress.trials_saved
    return per_trial_s * left / max(1, progress.cells_running)


T = TypeVar("T")


def _pick(field: str, kind: str, name: str, known: dict[str, T]) -> T:
    if name not in known:
        raise UnknownName(field, kind, name, list(known))
    return known[name]


def _endpoint(name: str, known: Sequence[Endpoint], by_id: dict[str, Endpoint], field: str) -> Endpoint:
    """By id, or by URL: a URL that is not in the catalogue is measured all the same."""
    return endpoint_for_url(name, known, field) if "://" in name else _pick(field, "endpoint", name, by_id)


def _client(name: str, known: Sequence[Client], field: str) -> list[Client]:
    try:
        return expand_clients([name], known)
    except UnknownName as exc:
        raise UnknownName(field, "client", name, [client.id for client in known]) from exc


class _Sized(Shape):
    def __len__(self) -> int: ...


def _count(things: _Sized, noun: str) -> str:
    return f"{len(things)} {noun}" + ("" if len(things) == 1 else "s")
