"""How fast a client can be here, remembered for its build, and cells that come near it."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lastbyte.adapters.ceilings_file import load_ceilings, save_ceilings
from lastbyte.domain.campaign import CellState
from lastbyte.domain.ceiling import Ceiling
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Observation
from lastbyte.ports import CellProof, CellRecord, Outcome, RttProbe
from lastbyte.services.ceilings import measure_ceilings
from lastbyte.services.link import Link
from lastbyte.services.measure_cell import Bench, measure_cell
from lastbyte.services.squares import square
from tests.fakes.measuring import ENDPOINT, H2, H3, FakePathFactory, FakeResolver, FakeRunner, FakeStore, plan
from worker.heartbeat import describe_vantage

BUILD = "0" * 64
MOMENT = datetime(2026, 1, 2, tzinfo=UTC)


def ceiling(client_id: str = H2.id, sha256: str = BUILD, rate_mbit_s: float = 100.0) -> Ceiling:
    return Ceiling(client_id, sha256, rate_mbit_s, 5, 5_000_000, "fake", MOMENT)


class Sized(FakeRunner):
    """Every fetch brings 5 MB. The warm-up takes long, then one is fast, one as usual, one slow, and so on."""

    def run(self, *arguments: object) -> Observation:
        seen = replace(super().run(*arguments), body_bytes=5_000_000)  # type: ignore[arg-type]
        round_index = self.runs.count(self.runs[-1]) - 1
        share = 9.0 if round_index == 0 else (0.5, 1.0, 4.0)[(round_index - 1) % 3]
        assert seen.timings is not None
        return replace(seen, timings=replace(seen.timings, ttlb_s=seen.timings.ttlb_s * share))


def bench(*known: Ceiling) -> tuple[Bench, FakePathFactory]:
    factory = FakePathFactory()
    return Bench(Link(factory), Sized(), FakeResolver(), threading.Event(), lambda: known), factory


def test_a_ceiling_is_the_median_rate_without_shaping_and_distance() -> None:
    the_bench, factory = bench()
    found = measure_ceilings(ENDPOINT, [H2, H3], 3, the_bench)
    assert [(c.client_id, c.sha256, c.n, c.body_bytes, c.box_kind) for c in found] == [
        (H2.id, BUILD, 3, 5_000_000, "fake"),
        (H3.id, BUILD, 3, 5_000_000, "fake"),
    ]
    assert [c.rate_mbit_s for c in found] == pytest.approx([40.0, 40.0 / 0.9])
    shape = factory.opened[0].shape
    assert shape is not None
    assert (shape[0].extra_rtt_ms, shape[0].rate_mbit_s, shape[1]) == (0, None, 0)


def test_each_build_has_its_own_and_a_new_measurement_replaces_the_old(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "ceilings.json"
    assert load_ceilings(file) == []
    save_ceilings([ceiling(), ceiling(sha256="1" * 64)], file)
    save_ceilings([ceiling(rate_mbit_s=200)], file)
    assert {(c.sha256[0], c.rate_mbit_s) for c in load_ceilings(file)} == {("0", 200), ("1", 100)}
    assert load_ceilings(file)[0].measured_at == MOMENT
    file.write_text('{"ceilings": [{"client_id": 1}]}')
    assert load_ceilings(file) == [], "a file that can't be read is no ceiling"


def test_a_cell_keeps_the_ceilings_of_the_builds_that_ran_it() -> None:
    store = FakeStore(plan(rounds=1))
    measure_cell(7, "w", store, bench(ceiling(), ceiling(H3.id, "1" * 64))[0], 20)
    assert store.proof is not None
    assert store.proof.machine["ceilings_mbit_s"] == {H2.id: 100.0}, "the other one is of another build"


def test_a_vantage_says_the_ceilings_of_its_builds() -> None:
    place = describe_vantage("here", "fake", FakeRunner(), [H2, H3], lambda: [ceiling()], "")
    assert [client.ceiling_mbit_s for client in place.clients] == [100.0, None]


@pytest.mark.parametrize(("rate_mbit_s", "near"), [(80.0, (H2.id,)), (51.0, (H2.id,)), (49.0, ())])
def test_a_cell_within_a_factor_of_two_says_so(rate_mbit_s: float, near: tuple[str, ...]) -> None:
    proof = CellProof("uml", "10.0.0.1", 0, RttProbe(10, (10.0,)), machine={"ceilings_mbit_s": {H2.id: 100.0}})
    cell = CellRecord(1, ENDPOINT, Profile("unshaped"), CellState.DONE, proof)
    ttlb_s = 5_000_000 * 8e-6 / rate_mbit_s
    outcomes = [Outcome(1, n, arm, "ok", ttlb_s, "", 5_000_000) for n in range(1, 7) for arm in (H2.id, H3.id)]
    assert square(cell, outcomes, H2.id, H3.id).near_ceiling == near
