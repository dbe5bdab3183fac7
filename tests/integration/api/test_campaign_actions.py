"""What can be done with a campaign besides creating and cancelling it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from tests.integration.api.test_campaigns import create
from tests.integration.samples import H2, good, proof


def listed(api: httpx.Client, **params: Any) -> list[str]:
    page = api.get("/campaigns", params=params)
    assert page.status_code == 200, page.text
    assert page.json()["total"] == len(page.json()["items"])
    return [item["name"] for item in page.json()["items"]]


def test_filters(api: httpx.Client) -> None:
    create(api, name="100% Nightly", labels=["nightly", "office"])
    create(api, name="other_one", labels=["nightly"], endpoints=["testbed-nginx-1MB"])
    assert listed(api) == ["other_one", "100% Nightly"]
    assert listed(api, label="nightly") == ["other_one", "100% Nightly"]
    assert listed(api, label=["nightly", "office"]) == ["100% Nightly"]
    assert listed(api, name="NIGHT") == ["100% Nightly"]
    assert listed(api, name="0%") == ["100% Nightly"]  # a percent sign is no wildcard
    assert listed(api, name="r%o") == []
    assert listed(api, provider="testbed-caddy") == ["100% Nightly"]
    assert listed(api, vantage="local") == ["other_one", "100% Nightly"]
    assert listed(api, vantage="elsewhere") == []
    created_at = api.get("/campaigns", params={"label": "office"}).json()["items"][0]["created_at"]
    assert listed(api, created_to=created_at) == []
    assert listed(api, created_from=created_at, name="nightly") == ["100% Nightly"]
    refused = api.get("/campaigns", params={"created_from": "2026-01-01T00:00:00"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "created_from"


def test_name_and_labels_can_be_changed_and_nothing_else(api: httpx.Client) -> None:
    ident = create(api, name="before", labels=["a"])["id"]
    changed = api.patch(f"/campaigns/{ident}", json={"labels": ["b", "b", "c"]}).json()
    assert (changed["name"], changed["labels"]) == ("before", ["b", "c"])
    assert api.patch(f"/campaigns/{ident}", json={"name": "after"}).json()["labels"] == ["b", "c"]
    assert api.patch(f"/campaigns/{ident}", json={"rounds": 2}).status_code == 422


def test_a_paused_campaign_is_measured_by_nobody_until_it_is_resumed(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = create(api)["id"]
    first, second = (cell.cell_id for cell in campaigns.dispatchable_cells(2, ident))
    assert cells.claim(first, "worker-1", 60) is not None
    assert cells.store_trial(first, "worker-1", good(0, H2))
    paused = api.post(f"/campaigns/{ident}/pause").json()
    assert (paused["state"], paused["eta_s"]) == ("paused", None)
    assert not cells.store_trial(first, "worker-1", good(1, H2))
    assert not cells.extend_lease(first, "worker-1", 60)
    assert cells.claim(second, "worker-1", 60) is None
    assert campaigns.dispatchable_cells(10, ident) == []
    assert api.post(f"/campaigns/{ident}/pause").status_code == 409

    assert api.post(f"/campaigns/{ident}/resume").json()["state"] == "running"
    assert api.post(f"/campaigns/{ident}/resume").status_code == 409
    plan = cells.claim(first, "worker-2", 60)
    assert plan is not None
    assert plan.done == {(0, H2)}  # what was measured before stays
    api.post(f"/campaigns/{ident}/pause")
    assert api.post(f"/campaigns/{ident}/cancel").json()["state"] == "cancelled"


def test_a_campaign_paused_before_it_began_is_queued_again(api: httpx.Client) -> None:
    ident = create(api)["id"]
    api.post(f"/campaigns/{ident}/pause")
    assert api.post(f"/campaigns/{ident}/resume").json()["state"] == "queued"


def test_the_spec_of_a_campaign_is_a_body_to_post(api: httpx.Client) -> None:
    first = create(api, labels=["x"], aa=True, rounds=6, max_rounds=9, name="spec")
    spec = api.get(f"/campaigns/{first['id']}/spec").json()
    second = api.post("/campaigns", json=spec).json()
    changing = {"id", "created_at", "links"}
    assert {k: v for k, v in second.items() if k not in changing} == {
        k: v for k, v in first.items() if k not in changing
    }


def test_rerun(api: httpx.Client) -> None:
    first = create(api, name="first", labels=["x"])
    same = api.post(f"/campaigns/{first['id']}/rerun", json={"same_seed": True})
    assert same.status_code == 201
    assert same.headers["location"] == same.json()["links"]["self"]
    assert (same.json()["seed"], same.json()["labels"], same.json()["name"]) == (first["seed"], ["x"], "first")
    fresh = api.post(f"/campaigns/{first['id']}/rerun").json()
    assert fresh["seed"] != first["seed"]
    assert fresh["id"] != first["id"]


def test_delete_takes_a_campaign_that_is_over_with_all_it_measured(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = create(api)["id"]
    cell = campaigns.dispatchable_cells(1, ident)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    cells.store_trial(cell, "w", good(1, H2))
    refused = api.delete(f"/campaigns/{ident}")
    assert refused.status_code == 409
    assert "cancel it" in refused.json()["detail"]
    api.post(f"/campaigns/{ident}/cancel")
    assert api.delete(f"/campaigns/{ident}").status_code == 204
    assert api.get(f"/campaigns/{ident}").status_code == 404
    assert api.get(f"/cells/{cell}").status_code == 404
    assert api.delete(f"/campaigns/{ident}").status_code == 404


def test_an_estimate_stores_nothing_and_counts_everything(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    body = {
        "endpoints": ["testbed-caddy-100KB", "https://example.org/a", "https://example.org/b"],
        "profiles": ["baseline", "loss-1"],
        "clients": ["curl-quiche"],
        "rounds": 999,
    }
    found = api.post("/campaigns/estimate", json=body).json()
    assert (found["cells"], found["trials"]) == (6, 12_000)
    assert found["bytes"] == 100_000 * 4000
    assert found["unknown_sizes"] == ["https://example.org/a", "https://example.org/b"]
    assert found["hours"] == pytest.approx(found["seconds"] / 3600)
    (host,) = found["hosts"]
    assert (host["budget"]["host"], host["requests"], host["days"]) == ("example.org", 8000, 4)  # 2000 a day
    assert host["budget"]["requests_left"] == 2000
    assert api.get("/campaigns").json()["total"] == 0
    assert found["measured_cells"] == 0

    ident = create(api, endpoints=["testbed-caddy-100KB"], profiles=["baseline"], rounds=1)["id"]
    cell = campaigns.dispatchable_cells(1, ident)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_trial(cell, "w", good(0, H2))
    cells.finish(cell, "w")
    assert api.post("/campaigns/estimate", json=body).json()["measured_cells"] == 1
    refused = api.post("/campaigns/estimate", json={**body, "profiles": ["los-1"]})
    assert refused.json()["errors"][0]["field"] == "profiles.0"
