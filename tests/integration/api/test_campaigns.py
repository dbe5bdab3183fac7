from __future__ import annotations

import csv
import io
import json
import time
from typing import Any

import httpx
import pytest
import redis
from sqlalchemy import Engine

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.vantages import PostgresVantageStore
from lastbyte.embedded.valkey import Valkey
from lastbyte.ports import InstalledClient, Vantage
from lastbyte.settings import Settings
from tests.integration.api.conftest import serving
from tests.integration.samples import ENDPOINTS, H2, H3, bad, good, proof

BODY: dict[str, Any] = {
    "endpoints": ["testbed-caddy-100KB", "testbed-nginx-1MB"],
    "profiles": ["baseline", "loss-1"],
    "clients": ["curl-quiche"],
    "rounds": 3,
    "seed": 5,
}

NORMAL = "vantage.local\x06\x163"
"""Where the broker keeps messages of normal priority for the place ``local``."""


def create(api: httpx.Client, **changes: Any) -> dict[str, Any]:
    response = api.post("/campaigns", json={**BODY, **changes})
    assert response.status_code == 201, response.text
    created: dict[str, Any] = response.json()
    return created


def test_created_campaign_is_found_at_its_location(api: httpx.Client) -> None:
    response = api.post("/campaigns", json=BODY)
    assert response.status_code == 201
    created = response.json()
    location = response.headers["location"]
    assert location == created["links"]["self"] == f"/api/v1/campaigns/{created['id']}"
    assert created["state"] == "queued"
    assert created["trials_planned"] == 2 * 2 * 2 * 4
    assert created["cells_planned"] == 4
    assert created["clients"] == [H2, H3]
    assert created["name"] == "2 endpoints, 2 profiles"
    assert (created["progress"], created["eta_s"]) == (0, None)
    assert created["created_at"].endswith("Z")
    assert httpx.get(str(api.base_url.join(location))).json() == created


def test_cells_are_enqueued_by_task_name(api: httpx.Client, embedded_valkey: Valkey) -> None:
    create(api)
    with redis.Redis(unix_socket_path=str(embedded_valkey.socket)) as broker:
        deadline = time.monotonic() + 5
        while broker.llen(NORMAL) < 4:
            assert time.monotonic() < deadline, "cells were not enqueued"
            time.sleep(0.02)
        message = json.loads(broker.lindex(NORMAL, 0))
    assert message["headers"]["task"] == "worker.measure_cell"


def test_without_a_broker_campaigns_are_accepted_all_the_same(
    database_url: str, campaigns: PostgresCampaignStore
) -> None:
    settings = Settings(database_url=database_url, broker_url="redis+socket:///nowhere/kv.sock")
    with serving(settings) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=30) as api:
        started = time.monotonic()
        create(api)
        assert time.monotonic() - started < 2
        assert len(campaigns.dispatchable_cells(10)) == 4
        ready = api.get("/readyz")
    assert ready.status_code == 503
    assert ready.headers["content-type"] == "application/problem+json"
    assert "broker" in ready.json()["detail"]
    assert "database" not in ready.json()["detail"]


def test_without_a_database_the_api_says_so(embedded_valkey_url: str) -> None:
    settings = Settings(database_url="postgresql+psycopg://postgres@/x?host=/nowhere", broker_url=embedded_valkey_url)
    with serving(settings) as url, httpx.Client(base_url=f"{url}/api/v1", timeout=30) as api:
        assert api.get("/healthz").json() == {"status": "ok"}
        assert "database" in api.get("/readyz").json()["detail"]
        answer = api.get("/campaigns")
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert api.post("/campaigns", json=BODY).status_code == 503


def test_ready(api: httpx.Client, base_url: str) -> None:
    assert api.get("/readyz").json() == {"status": "ok"}
    assert httpx.get(f"{base_url}/healthz").status_code == 200


def test_list_is_paged_newest_first(api: httpx.Client) -> None:
    idents = [create(api, name=f"number {number}")["id"] for number in range(5)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = api.get("/campaigns", params=params).json()
        assert page["total"] == 5
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == idents[::-1]
    api.post(f"/campaigns/{idents[0]}/cancel")
    cancelled = api.get("/campaigns", params={"state": "cancelled"}).json()
    assert [item["id"] for item in cancelled["items"]] == [idents[0]]


def test_cancel(api: httpx.Client) -> None:
    created = create(api)
    cancelled = api.post(f"/campaigns/{created['id']}/cancel")
    assert cancelled.status_code == 200
    assert cancelled.json()["state"] == "cancelled"
    assert cancelled.json()["finished_at"]
    again = api.post(f"/campaigns/{created['id']}/cancel")
    assert again.status_code == 409
    assert again.json()["type"] == "urn:lastbyte:problem:conflict"


def test_url_that_is_not_in_the_catalogue(api: httpx.Client) -> None:
    url = "https://example.org/" + "x" * 1900
    created = create(api, endpoints=[url, ENDPOINTS[0].id])
    assert created["endpoints"] == [url, ENDPOINTS[0].id]
    assert create(api, endpoints=[url])["cells_planned"] == 2
    assert url not in [item["id"] for item in api.get("/endpoints").json()["items"]]
    heatmap = api.get(f"/campaigns/{created['id']}/heatmap").json()
    assert {provider["origin"] for provider in heatmap["providers"]} == {"production", "testbed"}


def test_pinned_groups_are_kept_and_stand_in_each_client(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    created = create(api, tls_groups=["X25519MLKEM768", "X25519"])
    assert created["tls_groups"] == ["X25519MLKEM768", "X25519"]
    assert api.get(f"/campaigns/{created['id']}").json()["tls_groups"] == ["X25519MLKEM768", "X25519"]
    plan = cells.claim(campaigns.dispatchable_cells(1, created["id"])[0].cell_id, "w", 60)
    assert plan is not None
    assert {client.tls_groups for client in plan.clients} == {("X25519MLKEM768", "X25519")}
    assert create(api)["tls_groups"] == []


def test_seed_is_drawn_and_stored(api: httpx.Client) -> None:
    seeds = {create(api, seed=None)["seed"] for _ in range(3)}
    assert len(seeds) == 3
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_progress_trials_and_csv(api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
    created = create(api, endpoints=[ENDPOINTS[0].id], profiles=["baseline"])
    (cell,) = campaigns.dispatchable_cells(10, created["id"])
    cells.claim(cell.cell_id, "w", 60)
    cells.store_proof(cell.cell_id, "w", proof())
    for number in range(4):
        cells.store_trial(cell.cell_id, "w", good(number, H2, 0.2))
        cells.store_trial(cell.cell_id, "w", bad(number, H3, detail="=1+1"))
    running = api.get(f"/campaigns/{created['id']}").json()
    assert running["state"] == "running"
    assert (running["trials_done"], running["trials_failed"], running["progress"]) == (8, 4, 1)
    assert running["eta_s"] == 0

    first = api.get(f"/campaigns/{created['id']}/trials", params={"limit": 3}).json()
    rest = api.get(f"/campaigns/{created['id']}/trials", params={"limit": 100, "cursor": first["next"]}).json()
    trials = first["items"] + rest["items"]
    assert first["total"] == len(trials) == 8
    assert rest["next"] is None
    ok, failed = trials[2], trials[3]
    assert ok["warmup"] is False
    assert trials[0]["warmup"] is True
    assert (ok["client"], ok["outcome"], ok["ttlb_ms"], ok["round"]) == (H2, "ok", 200.0, 1)
    assert ok["proof"]["downlink"]["dropped_packets"] == 1
    assert ok["client_version"] == "curl 8.22.0"
    assert (failed["outcome"], failed["ttlb_ms"], failed["failure_detail"]) == ("timeout", None, "=1+1")

    only = {"client": H3, "outcome": "timeout", "endpoint": ENDPOINTS[0].id, "profile": "baseline"}
    assert api.get(f"/campaigns/{created['id']}/trials", params=only).json()["total"] == 4
    assert api.get(f"/campaigns/{created['id']}/trials", params={"outcome": "reset"}).json()["total"] == 0

    answer = api.get(f"/campaigns/{created['id']}/trials.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 8
    assert rows[2]["ttlb_ms"] == "200.0"
    assert rows[3]["failure_detail"] == "'=1+1", "a spreadsheet must not run it"


def test_catalogue(api: httpx.Client) -> None:
    endpoints = api.get("/endpoints").json()
    assert [item["id"] for item in endpoints["items"]] == [endpoint.id for endpoint in ENDPOINTS]
    assert endpoints["items"][0]["host"] == "testbed-caddy.test"
    assert endpoints["items"][0]["origin"] == "testbed"
    profile = api.get("/profiles").json()["items"][1]
    assert (profile["name"], profile["loss_pct"], profile["rate_mbit_s"]) == ("loss-1", 1, 10)
    client = api.get("/clients").json()["items"][0]
    assert (client["id"], client["program"], client["protocol"], client["builds"]) == (H2, "curl-quiche", "h2", [])
    assert api.get(f"/clients/{H2}").json() == client
    assert api.get("/vantages").json() == {"items": [], "next": None, "total": 0}
    for path in ("/clients/nobody", "/vantages/nowhere"):
        answer = api.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:lastbyte:problem:not-found")


def test_a_vantage_with_its_clients(api: httpx.Client, engine: Engine) -> None:
    vantage = Vantage("attic", "uml", "host", "6.12", (InstalledClient(H2, "curl 8", "ab" * 32, 900.0),))
    PostgresVantageStore(engine).heartbeat(vantage)
    found = api.get("/vantages/attic").json()
    assert api.get("/vantages").json()["items"] == [found]
    assert (found["name"], found["alive"], found["box_kind"]) == ("attic", True, "uml")
    assert [(client["id"], client["ceiling_mbit_s"]) for client in found["clients"]] == [(H2, 900.0)]


@pytest.mark.parametrize(
    "path", ["/docs", "/docs/static/swagger-ui-bundle.js", "/docs/static/swagger-ui.css", "/openapi.json"]
)
def test_documentation_needs_no_other_host(base_url: str, path: str) -> None:
    answer = httpx.get(base_url + path)
    assert answer.status_code == 200
    if path == "/docs":
        assert "cdn" not in answer.text
        assert "https://" not in answer.text


RULED = {
    "endpoints": ["testbed-caddy-100KB"],
    "profiles": ["baseline"],
    "clients": ["curl-quiche"],
    "rounds": 8,
    "max_rounds": 24,
    "target_width_pct": 2,
    "equivalence_pct": 1.5,
    "aa": True,
}


def test_rules_of_a_campaign_are_stored_and_told(api: httpx.Client) -> None:
    created = api.post("/campaigns", json=RULED)
    assert created.status_code == 201, created.text
    told = api.get(f"/campaigns/{created.json()['id']}").json()
    assert told["clients"] == ["curl-quiche-h2", "curl-quiche-h3", "curl-quiche-h2@aa"]
    assert (told["aa"], told["rounds"], told["max_rounds"]) == ("baseline", 8, 24)
    assert (told["target_width_pct"], told["equivalence_pct"]) == (2, 1.5)
    assert told["trials_planned"] == 3 * 25
    assert (told["rounds_saved"], told["trials_saved"], told["waiting_for"]) == (0, 0, [])
    both = api.post("/campaigns", json={**RULED, "aa": "both"}).json()
    assert both["clients"][2:] == ["curl-quiche-h2@aa", "curl-quiche-h3@aa"]
    plain = api.post("/campaigns", json={**RULED, "aa": False, "max_rounds": None, "target_width_pct": None}).json()
    assert (plain["aa"], plain["max_rounds"], len(plain["clients"])) == ("off", None, 2)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"max_rounds": 7}, "max_rounds"),
        ({"max_rounds": 1001}, "max_rounds"),
        ({"rounds": 5}, "rounds"),
        ({"max_rounds": None}, "target_width_pct"),
        ({"target_width_pct": 0}, "target_width_pct"),
        ({"equivalence_pct": -1}, "equivalence_pct"),
        ({"equivalence_pct": "3"}, "equivalence_pct"),
        ({"aa": "all"}, "aa"),
        ({"aa": 1}, "aa"),
        ({"clients": ["curl-quiche-h3"]}, "aa"),
    ],
)
def test_rules_that_can_not_be_kept_are_refused(api: httpx.Client, change: dict[str, object], field: str) -> None:
    answer = api.post("/campaigns", json={**RULED, **change})
    assert answer.status_code == 422, answer.text
    assert [error["field"].split(".")[0] for error in answer.json()["errors"]] == [field]
