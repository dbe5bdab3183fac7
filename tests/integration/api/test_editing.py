"""Endpoints and profiles that people make, budgets, and creates that are repeated."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from tests.integration.api.test_campaigns import BODY, create
from tests.integration.samples import CLIENTS, ENDPOINTS, PROFILES

ENDPOINT: dict[str, Any] = {"id": "mine", "url": "https://example.org/5MB.bin", "provider": "me", "size_label": "5MB"}


def names(api: httpx.Client, kind: str, key: str) -> list[str]:
    return [item[key] for item in api.get(f"/{kind}").json()["items"]]


def test_an_endpoint_of_ones_own_survives_a_sync(api: httpx.Client, engine: Engine) -> None:
    made = api.post("/endpoints", json=ENDPOINT)
    assert made.status_code == 201
    assert made.headers["location"] == "/api/v1/endpoints/mine"
    assert (made.json()["own"], made.json()["origin"], made.json()["host"]) == (True, "production", "example.org")
    assert api.post("/endpoints", json=ENDPOINT).status_code == 409
    theirs = ENDPOINTS[0].id
    api.put(f"/endpoints/{theirs}", json={"url": ENDPOINTS[0].url, "size_label": "small"})
    assert api.delete(f"/endpoints/{ENDPOINTS[1].id}").status_code == 204
    PostgresCatalogue(engine).sync(ENDPOINTS, PROFILES, CLIENTS)
    assert names(api, "endpoints", "id") == [theirs, *(e.id for e in ENDPOINTS[2:]), "mine"]
    assert api.get(f"/endpoints/{theirs}").json()["size_label"] == "small"
    assert api.get(f"/endpoints/{ENDPOINTS[1].id}").status_code == 404
    inside = api.put(f"/endpoints/{theirs}", json={"url": "https://[::1]/x"})
    assert (inside.status_code, inside.json()["errors"][0]["field"]) == (422, "url")
    assert create(api, endpoints=["mine"])["cells_planned"] == 2
    api.delete("/endpoints/mine")
    assert api.delete("/endpoints/mine").status_code == 404
    assert api.post("/endpoints", json=ENDPOINT).status_code == 201  # it may come back


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": "http://example.org/"}, "url"),
        ({"id": "a b"}, "id"),
        ({"id": "-x"}, "id"),
        ({"expected_bytes": 0}, "expected_bytes"),
        ({"budget": {"requests_per_day": -1}}, "budget.requests_per_day"),
        ({"colour": "red"}, "colour"),
        ({"url": "https://169.254.169.254/latest"}, "url"),
        ({"url": "https://127.1:8443/x"}, "url"),
    ],
)
def test_endpoints_that_are_none(api: httpx.Client, changes: dict[str, Any], field: str) -> None:
    refused = api.post("/endpoints", json={**ENDPOINT, **changes})
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == [field]


def test_an_endpoints_own_budget_holds_and_is_shown(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    api.post("/endpoints", json={**ENDPOINT, "budget": {"requests_per_day": 2, "min_gap_s": 0}})
    create(api, endpoints=["mine"], profiles=["baseline"])
    cell = campaigns.dispatchable_cells(1)[0].cell_id
    assert cells.claim(cell, "w", 60) is not None
    assert [cells.reserve_request(cell, "w").granted for _ in range(3)] == [True, True, False]
    assert "2 of 2 requests" in cells.reserve_request(cell, "w").reason
    (host,) = api.get("/budgets").json()["items"]
    assert (host["host"], host["requests_used"], host["requests_left"]) == ("example.org", 2, 1998)
    assert host["endpoints"][0]["requests_left"] == 0
    assert host["resets_at"].endswith("T00:00:00.000000Z")


def test_a_profile_of_ones_own(api: httpx.Client, engine: Engine) -> None:
    body = {"name": "office", "both": {"delay_ms": 10, "rate_mbit_s": 50}, "downlink": {"loss_pct": 0.5}}
    made = api.post("/profiles", json=body)
    assert made.status_code == 201, made.text
    assert (made.json()["extra_rtt_ms"], made.json()["loss_pct"]) == (20, 0.5)
    assert api.get(made.headers["location"].removeprefix("/api/v1")).json() == made.json()
    assert api.post("/profiles", json=body).status_code == 409
    api.put("/profiles/office", json={"both": {"delay_ms": 20}})
    PostgresCatalogue(engine).sync(ENDPOINTS, PROFILES, CLIENTS)
    assert api.get("/profiles/office").json()["extra_rtt_ms"] == 40
    assert create(api, profiles=["office"])["cells_planned"] == 2
    assert api.delete("/profiles/office").status_code == 204
    assert "office" not in names(api, "profiles", "name")


def test_a_preview_shows_the_commands_and_names_every_fault(api: httpx.Client) -> None:
    shown = api.post("/profiles/preview", json={"both": {"delay_ms": 10, "loss_pct": 1}, "base_rtt_ms": 20}).json()
    assert shown["tc"]["downlink"] == [
        "tc qdisc replace dev $TO_CLIENT root handle 1: netem limit 1992 delay 20000us loss random 1.000000%"
    ]
    timeline = {"steps": [{"at_ms": 100, "both": {"rate_mbit_s": 1}}, {"at_ms": 200}]}
    shown = api.post("/profiles/preview", json={"both": {"rate_mbit_s": 10}, "timeline": timeline}).json()
    assert [step["at_ms"] for step in shown["tc"]["timeline"]] == [100, 200]
    refused = api.post(
        "/profiles/preview",
        json={
            "both": {"delay_ms": -1, "rate_mbit_s": 1e9},
            "uplink": {"loss_pct": 101, "jitter_distribution": "odd", "loss_gemodel": {"p": 1}},
        },
    )
    assert refused.status_code == 422
    errors = refused.json()["errors"]
    assert {
        "downlink.delay_ms",
        "downlink.rate_mbit_s",
        "uplink.loss_pct",
        "uplink.jitter_distribution",
    } <= {error["field"] for error in errors}
    assert all(error["remedy"] for error in errors)


def test_a_repeated_create_gives_the_first_answer(api: httpx.Client) -> None:
    headers = {"Idempotency-Key": "abc"}
    first = api.post("/campaigns", json=BODY, headers=headers)
    again = api.post("/campaigns", json=BODY, headers=headers)
    assert (again.status_code, again.json(), again.headers["location"]) == (
        201,
        first.json(),
        first.headers["location"],
    )
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert api.get("/campaigns").json()["total"] == 1
    other = api.post("/campaigns", json={**BODY, "rounds": 4}, headers=headers)
    assert other.status_code == 422
    assert other.json()["errors"][0]["field"] == "Idempotency-Key"
    assert api.post("/campaigns", json=BODY, headers={"Idempotency-Key": "x" * 256}).status_code == 422
    # a request that was refused may be mended and sent again
    api.post("/campaigns", json={**BODY, "rounds": 0}, headers={"Idempotency-Key": "k2"})
    assert api.post("/campaigns", json=BODY, headers={"Idempotency-Key": "k2"}).status_code == 201


def test_many_at_once_with_one_key_create_one(api: httpx.Client, base_url: str) -> None:
    statuses: list[int] = []

    def post() -> None:
        answer = httpx.post(f"{base_url}/api/v1/campaigns", json=BODY, headers={"Idempotency-Key": "one"}, timeout=30)
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert api.get("/campaigns").json()["total"] == 1
