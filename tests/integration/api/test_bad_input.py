"""Whatever is wrong with a request: a 4xx problem that names the field, and nothing stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.valkey import Valkey
from lastbyte.settings import Settings
from tests.integration.api.conftest import serving, stored_campaigns
from tests.integration.api.test_campaigns import BODY
from tests.integration.database import migrated_database

DROP = object()


@pytest.fixture(scope="module")
def shared_url(embedded_postgres: Postgres, migrated_template: str, embedded_valkey: Valkey) -> Iterator[str]:
    """One database for the whole module: its requests store nothing, or are counted."""
    with migrated_database(embedded_postgres, migrated_template) as url:
        yield url


@pytest.fixture(scope="module")
def api(shared_url: str, embedded_valkey: Valkey) -> Iterator[httpx.Client]:
    with (
        serving(Settings(database_url=shared_url, broker_url=embedded_valkey.url())) as url,
        httpx.Client(base_url=f"{url}/api/v1", timeout=30) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def shared_engine(shared_url: str) -> Iterator[Engine]:
    engine = make_engine(shared_url, "lastbyte tests")
    yield engine
    engine.dispose()


@pytest.fixture
def nothing_stored(shared_engine: Engine) -> Iterator[None]:
    before = stored_campaigns(shared_engine)
    yield
    assert stored_campaigns(shared_engine) == before


def assert_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["instance"] == response.request.url.path
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"endpoints": ["nowhere"]}, "endpoints.0"),
        ({"endpoints": ["testbed-caddy-100KB", "http://example.org/x"]}, "endpoints.1"),
        ({"endpoints": ["ftp://example.org/x"]}, "endpoints.0"),
        ({"endpoints": ["https://"]}, "endpoints.0"),
        ({"endpoints": ["https://example.org:99999/"]}, "endpoints.0"),
        ({"endpoints": ["https://user:secret@example.org/"]}, "endpoints.0"),
        ({"endpoints": ["https://example.org/a b"]}, "endpoints.0"),
        ({"endpoints": ["https://example.org/" + "\u4e00" * 1900]}, "endpoints.0"),
        ({"endpoints": ["https://example.org/" + "x" * 2000]}, "endpoints.0"),
        ({"profiles": ["baseline", "los-1"]}, "profiles.1"),
        ({"clients": ["wget"]}, "clients.0"),
        ({"endpoints": []}, "endpoints"),
        ({"clients": []}, "clients"),
        ({"profiles": DROP}, "profiles"),
        ({"endpoints": "testbed-caddy-100KB"}, "endpoints"),
        ({"endpoints": [None]}, "endpoints.0"),
        ({"endpoints": ["testbed-caddy-100KB"] * 2}, "endpoints"),
        ({"endpoints": ["a\x00b"]}, "endpoints.0"),
        ({"endpoints": ["\ud800"]}, "endpoints.0"),
        ({"profiles": ["x" * 100_000]}, "profiles.0"),
        ({"endpoints": ["x"] * 1001}, "endpoints"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 1001}, "rounds"),
        ({"rounds": 10**100}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
        ({"rounds": "10"}, "rounds"),
        ({"rounds": True}, "rounds"),
        ({"rounds": None}, "rounds"),
        ({"tls_groups": ["X448"]}, "tls_groups.0"),
        ({"tls_groups": ["X25519", "X25519"]}, "tls_groups"),
        ({"tls_groups": "X25519"}, "tls_groups"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"name": "n" * 201}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": 5}, "name"),
        ({"vantage": "mars"}, "vantage"),
        ({"vantage": "../etc"}, "vantage"),
        ({"round": 3}, "round"),
    ],
)
@pytest.mark.usefixtures("nothing_stored")
def test_fields(api: httpx.Client, changes: dict[str, Any], field: str) -> None:
    body = {key: value for key, value in {**BODY, **changes}.items() if value is not DROP}
    response = api.post("/campaigns", content=json.dumps(body), headers={"content-type": "application/json"})
    problem = assert_problem(response, 422)
    assert field in [error["field"] for error in problem["errors"]]
    assert all(error["message"] for error in problem["errors"])


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b'{"rounds": }',
        b"\xff\xfe{}",
        b"[" * 50_000,
        b'{"rounds": ' + b"9" * 5000 + b"}",
    ],
)
@pytest.mark.usefixtures("nothing_stored")
def test_malformed_json(api: httpx.Client, body: bytes) -> None:
    response = api.post("/campaigns", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert_problem(response, response.status_code)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"5", b"NaN", b'{"rounds": NaN}'])
@pytest.mark.usefixtures("nothing_stored")
def test_json_that_is_no_campaign(api: httpx.Client, body: bytes) -> None:
    response = api.post("/campaigns", content=body, headers={"content-type": "application/json"})
    assert assert_problem(response, 422)["errors"]


@pytest.mark.usefixtures("nothing_stored")
def test_all_faults_of_a_body_are_named_at_once(api: httpx.Client) -> None:
    body = {
        "endpoints": ["testbed-caddy-100KB", "nowhere", "http://example.org/"],
        "profiles": ["los-1", "baseline", "baseline"],
        "clients": ["wget"],
        "rounds": 5000,
        "vantage": "mars",
        "max_rounds": 0,
        "colour": "red",
        "equivalence_pct": "much",
    }
    errors = assert_problem(api.post("/campaigns", json=body), 422)["errors"]
    assert {error["field"] for error in errors} == {
        "endpoints.1",
        "endpoints.2",
        "profiles.0",
        "profiles",
        "clients.0",
        "rounds",
        "vantage",
        "max_rounds",
        "colour",
        "equivalence_pct",
    }
    assert all(error["remedy"] for error in errors)


@pytest.mark.usefixtures("nothing_stored")
def test_a_campaign_of_a_million_cells_is_refused_with_the_limit(api: httpx.Client) -> None:
    urls = [f"https://example.org/{number}" for number in range(1000)]
    body = {**BODY, "endpoints": urls, "profiles": [f"p{number}" for number in range(1000)], "rounds": 1}
    errors = assert_problem(api.post("/campaigns", json=body), 422)["errors"]
    assert "1000000" in next(error["remedy"] for error in errors if error["field"] == "rounds")


@pytest.mark.parametrize(
    "body",
    [
        b'{"endpoints":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"name": "\\u0000"}',
        b'{"name": "\\ud800"}',
        b'{"name": "\xff"}',
        b'{"name": "a\x00b"}',
    ],
)
@pytest.mark.parametrize("path", ["/campaigns", "/endpoints", "/profiles/preview", "/annotations"])
@pytest.mark.usefixtures("nothing_stored")
def test_depth_nul_and_bad_utf_8(api: httpx.Client, path: str, body: bytes) -> None:
    response = api.post(path, content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert_problem(response, response.status_code)


@pytest.mark.parametrize("text", ["x\r\nSet-Cookie: a=b", "x\nLocation: https://example.org", "';DROP TABLE trials;--"])
def test_nothing_is_injected(api: httpx.Client, text: str) -> None:
    for response in (
        api.post("/campaigns", json={**BODY, "name": text}),
        api.get("/campaigns", params={"name": text, "label": text, "provider": text}),
        api.get(f"/endpoints/{quote(text, safe='')}"),
        api.get("/trends", params={"endpoint": text, "profile": text}),
        api.get("/campaigns/x/events", headers={"Last-Event-ID": quote(text)}),
    ):
        assert response.status_code < 500
        assert "set-cookie" not in response.headers
        assert "example.org" not in response.headers.get("location", "")
    assert api.get("/campaigns").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
@pytest.mark.usefixtures("nothing_stored")
def test_body_that_is_not_declared_as_json(api: httpx.Client, kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    response = api.post("/campaigns", content=json.dumps(BODY).encode(), headers=headers)
    assert assert_problem(response, 415)["errors"][0]["field"] == "Content-Type"


@pytest.mark.usefixtures("nothing_stored")
def test_ten_megabytes(api: httpx.Client) -> None:
    response = api.post("/campaigns", json={**BODY, "name": "x" * 10_000_000})
    assert assert_problem(response, 413)["errors"][0]["field"] == "body"


@pytest.mark.usefixtures("nothing_stored")
def test_ten_megabytes_in_chunks(api: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(160):
            yield b"x" * 65536

    response = api.post("/campaigns", content=chunks(), headers={"content-type": "application/json"})
    assert_problem(response, 413)


def test_small_body_in_chunks_is_fine(api: httpx.Client) -> None:
    raw = json.dumps(BODY).encode()
    response = api.post("/campaigns", content=iter([raw[:20], raw[20:]]), headers={"content-type": "application/json"})
    assert response.status_code == 201


def test_body_just_below_the_limit_is_read(api: httpx.Client) -> None:
    body = json.dumps(BODY).encode().ljust(1 << 20, b" ")
    assert api.post("/campaigns", content=body, headers={"content-type": "application/json"}).status_code == 201
    assert api.post("/campaigns", content=body + b" ", headers={"content-type": "application/json"}).status_code == 413


NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", f"/campaigns/{NOBODY}", 404),
        ("GET", f"/campaigns/{NOBODY}/trials", 404),
        ("GET", f"/campaigns/{NOBODY}/trials.csv", 404),
        ("GET", f"/campaigns/{NOBODY}/heatmap", 404),
        ("POST", f"/campaigns/{NOBODY}/cancel", 404),
        ("GET", "/campaigns/not-a-uuid", 422),
        ("GET", "/campaigns?limit=0", 422),
        ("GET", "/campaigns?limit=1001", 422),
        ("GET", "/campaigns?cursor=xx", 422),
        ("GET", "/campaigns?cursor=WyJhIiwiYiJd", 422),
        ("GET", "/campaigns?state=odd", 422),
        ("GET", "/campaigns?sate=done", 422),
        ("DELETE", "/campaigns", 405),
        ("PUT", "/endpoints", 405),
    ],
)
def test_other_requests(api: httpx.Client, method: str, path: str, status: int) -> None:
    assert_problem(api.request(method, path), status)


def test_method_not_allowed_says_which_are(api: httpx.Client) -> None:
    assert "GET" in api.delete("/campaigns").headers["allow"]


def test_arms_and_filters_of_a_campaign(api: httpx.Client) -> None:
    ident = api.post("/campaigns", json={**BODY, "clients": ["curl-quiche-h3"]}).json()["id"]
    problem = assert_problem(api.get(f"/campaigns/{ident}/heatmap"), 422)
    assert problem["errors"][0]["field"] == "baseline"
    problem = assert_problem(api.get(f"/campaigns/{ident}/heatmap", params={"candidate": "x"}), 422)
    assert problem["errors"]
    assert_problem(api.get(f"/campaigns/{ident}/trials", params={"outcome": "odd"}), 422)
    assert_problem(api.get(f"/campaigns/{ident}/trials", params={"client": "a\x00"}), 422)
    assert_problem(api.get(f"/campaigns/{ident}/trials", params={"cursor": "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwXQ"}), 422)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
bodies = st.one_of(
    anything,
    st.fixed_dictionaries({}, optional=dict.fromkeys((*BODY, "name", "vantage"), anything)),
    st.builds(lambda key, value: {**BODY, key: value}, st.sampled_from([*BODY, "name", "vantage"]), anything),
)


@settings(max_examples=150, deadline=None)
@given(body=bodies)
def test_any_json_is_answered_without_a_fault(api: httpx.Client, shared_engine: Engine, body: Any) -> None:
    before = stored_campaigns(shared_engine)
    response = api.post("/campaigns", content=json.dumps(body), headers={"content-type": "application/json"})
    if response.status_code == 201:
        assert stored_campaigns(shared_engine) == before + 1
    else:
        assert assert_problem(response, 422)["errors"]
        assert stored_campaigns(shared_engine) == before
