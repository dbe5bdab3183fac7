"""Cells in pages, and one in full."""

from __future__ import annotations

import httpx
import pytest

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.trial import FailureKind
from tests.integration.api.test_campaigns import create
from tests.integration.samples import BUILD, H2, H3, bad, good, proof


def test_cells_of_a_campaign_are_paged_and_filtered(api: httpx.Client) -> None:
    ident = create(api)["id"]
    everything = api.get(f"/campaigns/{ident}/cells").json()
    assert everything["total"] == 4
    first = api.get(f"/campaigns/{ident}/cells", params={"limit": 3}).json()
    rest = api.get(f"/campaigns/{ident}/cells", params={"limit": 3, "cursor": first["next"]}).json()
    assert [*first["items"], *rest["items"]] == everything["items"]
    assert rest["next"] is None
    one = everything["items"][0]
    assert (one["campaign_id"], one["state"], one["trials_done"], one["box_kind"]) == (ident, "pending", 0, None)
    assert one["unproven_reason"] is None
    for params, expected in (
        ({"profile": "loss-1"}, 2),
        ({"provider": "testbed-caddy"}, 2),
        ({"endpoint": "testbed-nginx-1MB", "profile": "baseline"}, 1),
        ({"state": "done"}, 0),
    ):
        assert api.get(f"/campaigns/{ident}/cells", params=params).json()["total"] == expected, params


def test_a_cell_in_full(api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    ident = create(api, endpoints=["testbed-caddy-100KB"], profiles=["loss-1"], rounds=7)["id"]
    cell = campaigns.dispatchable_cells(1, ident)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    for number in range(8):
        cells.store_trial(cell, "w", good(number, H2, 0.1))
        trial = bad(number, H3, FailureKind.TIMEOUT) if number == 7 else good(number, H3, 0.08)
        cells.store_trial(cell, "w", trial)
    found = api.get(f"/cells/{cell}").json()
    assert found["cell"]["trials_done"] == 16
    assert found["cell"]["rtt_achieved_ms"] == pytest.approx(10.2)
    assert (found["baseline"], found["candidate"]) == (H2, H3)
    square = api.get(f"/campaigns/{ident}/heatmap").json()["providers"][0]["cells"][0]
    assert {**found["comparison"], "q_value": 0} == {**square, "q_value": 0}  # the same square as in the heatmap
    h2, h3 = found["arms"]
    assert h2["ecdf"] == [{"ttlb_ms": pytest.approx(100), "share": 1}]
    assert h3["ecdf"] == [{"ttlb_ms": pytest.approx(80), "share": pytest.approx(6 / 7)}]
    assert h3["summary"]["failure_kinds"] == {"timeout": 1}
    assert [item["round"] for item in found["rounds"]] == list(range(8))
    assert found["rounds"][1]["diff_pct"] == pytest.approx(-20)
    assert found["rounds"][7]["diff_pct"] is None
    assert [trial["client"] for trial in found["rounds"][1]["trials"]] == found["rounds"][1]["order"]
    assert found["builds"][H3]["sha256"] == BUILD.sha256
    assert found["proof"]["commands"][H3] == ["curl", "--http3-only"]
    assert found["profile"]["name"] == "loss-1"
    (downlink,) = found["tc"]["downlink"]
    assert downlink.startswith("tc qdisc replace dev $TO_CLIENT root handle 1: netem limit ")
    assert "loss random 1.0" in downlink
    assert "delay 5000us" in downlink  # half of the endpoint's 10 ms
    swapped = api.get(f"/cells/{cell}", params={"baseline": H3, "candidate": H2}).json()
    assert swapped["rounds"][1]["diff_pct"] == pytest.approx(25)


def test_a_cell_with_one_client_has_no_comparison(api: httpx.Client, campaigns: PostgresCampaignStore) -> None:
    ident = create(api, clients=[H3])["id"]
    cell = campaigns.dispatchable_cells(1, ident)[0].cell_id
    found = api.get(f"/cells/{cell}").json()
    assert (found["comparison"], found["rounds"]) == (None, [])
    assert [arm["client"] for arm in found["arms"]] == [H3]


@pytest.mark.parametrize(("ident", "status"), [("1", 404), ("x", 422), ("-1", 422), (str(2**63), 422)])
def test_cells_that_are_not_there(api: httpx.Client, ident: str, status: int) -> None:
    assert api.get(f"/cells/{ident}").status_code == status
