"""Pages as text: what a person would read."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from plotly.io.json import to_json_plotly

from dashboard.app import create_app
from dashboard.callbacks.new import request_body
from dashboard.callbacks.routing import render
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.estimate import estimate
from dashboard.figures.grid import LOSS
from dashboard.pages.campaign import fingerprint
from dashboard.pages.campaign import page as campaign_page
from dashboard.pages.home import campaign_list
from dashboard.pages.home import fingerprint as list_fingerprint
from dashboard.pages.new import default_pair, endpoint_choices, errors_by_field
from dashboard.pages.shell import Place
from tests.unit.dashboard.samples import campaign, cell, heatmap

PLACE = Place("/", {}, "UTC", "light")


def text_of(component: Any) -> str:
    return json.dumps(json.loads(to_json_plotly(component)), ensure_ascii=False).replace("\u00a0", " ")


def client(handler: Any) -> ApiClient:
    return ApiClient("http://api", httpx.MockTransport(handler))


def test_the_empty_list_says_what_to_do() -> None:
    text = text_of(campaign_list({"items": [], "next": None, "total": 0}, "UTC"))
    assert "No campaign yet" in text
    assert "/new" in text


def test_the_list_shows_progress_failures_and_time_left() -> None:
    answer = {"items": [campaign(trials_failed=3)], "next": None, "total": 41}
    text = text_of(campaign_list(answer, "UTC"))
    for part in ("demo", "running", "11 of 22 trials", "about 5 min", "3", "0 of 1", "40 older campaigns"):
        assert part in text
    assert "Cancel demo" in text


def test_a_campaign_that_is_over_can_not_be_cancelled() -> None:
    assert "Cancel demo" not in text_of(campaign_list({"items": [campaign(state="done")], "total": 1}, "UTC"))


def test_nothing_is_drawn_again_unless_something_changed() -> None:
    assert list_fingerprint({"items": [campaign()]}) == list_fingerprint({"items": [campaign()]})
    assert list_fingerprint({"items": [campaign()]}) != list_fingerprint({"items": [campaign(trials_done=12)]})
    assert fingerprint(campaign(), LOSS, "a", "b") != fingerprint(campaign(), LOSS, "a", "c")


def test_the_campaign_page_lists_what_no_grid_shows() -> None:
    text = text_of(campaign_page(campaign(), heatmap(cell(), cell("unshaped", rate_mbit_s=None)), PLACE, 1000))
    assert "Conditions outside the grids" in text
    assert "rate not shaped" in text


def test_the_query_chooses_axis_and_cell() -> None:
    place = Place("/", {"axis": "delay", "endpoint": "e", "profile": "p"}, "UTC", "light")
    text = text_of(campaign_page(campaign(), heatmap(cell()), place, 1000))
    assert '"value": "delay"' in text
    assert '{"endpoint": "e", "profile": "p"}' in text


def test_a_refusal_is_shown_at_its_field() -> None:
    problem = ApiProblem(
        422,
        "Invalid input",
        "2 fields",
        [
            {"field": "rounds", "message": "0 is out of range.", "remedy": "Use 1 to 1000."},
            {"field": "profiles.0", "message": "there is no profile 'x'.", "remedy": ""},
            {"field": "body", "message": "too strange."},
        ],
    )
    at_field, rest = errors_by_field(problem)
    assert at_field == {"rounds": "0 is out of range. Use 1 to 1000.", "profiles": "There is no profile 'x'."}
    assert rest == ["Too strange."]


def test_a_refusal_without_fields_is_still_shown() -> None:
    assert errors_by_field(ApiProblem(409, "Conflict", "It is over.", [])) == ({}, ["It is over."])


def test_empty_inputs_leave_the_defaults_to_the_api() -> None:
    values = {"name": "", "endpoints": ["e"], "profiles": None, "clients": [], "rounds": 3, "seed": 0, "vantage": None}
    assert request_body(values) == {"endpoints": ["e"], "profiles": [], "clients": [], "rounds": 3, "seed": 0}


def test_the_estimate_counts_the_warm_up() -> None:
    known = {
        "endpoints": {"e": {"expected_bytes": 1_000_000, "base_rtt_ms": 10.0, "origin": "testbed"}},
        "profiles": {
            "p": {"extra_rtt_ms": 0.0, "rate_mbit_s": 10.0},
            "q": {"extra_rtt_ms": 100.0, "rate_mbit_s": 10.0},
        },
    }
    cost = estimate(known, ["e"], ["p", "q"], ["h2", "h3"], rounds=9)
    assert (cost.cells, cost.trials, cost.total_bytes) == (2, 40, 40_000_000)
    assert 35 < cost.seconds < 80  # 40 transfers of 0.8 s and their overhead
    assert not cost.production


def test_the_testbed_comes_first_and_says_so() -> None:
    common = {"size_label": "1MB", "kind": "object"}
    groups = endpoint_choices(
        [
            {"id": "g", "provider": "google", "origin": "production", **common},
            {"id": "t", "provider": "testbed-caddy", "origin": "testbed", **common},
        ]
    )
    assert [group["group"] for group in groups] == ["testbed-caddy (testbed)", "google (production)"]


def test_the_default_pair_is_one_program_that_is_installed() -> None:
    clients: list[dict[str, Any]] = [
        {"id": "a-h2", "program": "a", "protocol": "h2", "builds": []},
        {"id": "a-h3", "program": "a", "protocol": "h3", "builds": []},
        {"id": "b-h3", "program": "b", "protocol": "h3", "builds": [1]},
        {"id": "c-h3", "program": "c", "protocol": "h3", "builds": [1]},
        {"id": "c-h2", "program": "c", "protocol": "h2", "builds": [1]},
    ]
    assert default_pair(clients) == ["c-h2", "c-h3"]


def test_the_client_tells_down_from_refused() -> None:
    def refuse(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(404, json={"title": "Not found", "status": 404, "detail": "There is no campaign x."})

    def broken(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(503, json={"title": "Unavailable", "detail": "The database does not answer."})

    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(ApiProblem, match="There is no campaign x"):
        client(refuse).campaign("x")
    with pytest.raises(ApiDown, match="The database does not answer"):
        client(broken).campaign("x")
    with pytest.raises(ApiDown, match="ConnectError"):
        client(gone).campaigns()


def test_the_client_follows_cursors() -> None:
    def pages(request: httpx.Request) -> httpx.Response:
        second = request.url.params.get("cursor") == "more"
        assert request.url.params["endpoint"] == "e"
        return httpx.Response(
            200, json={"items": [{"id": 2}] if second else [{"id": 1}], "next": None if second else "more"}
        )

    assert client(pages).trials("x", endpoint="e") == [{"id": 1}, {"id": 2}]


def test_an_unknown_address_says_so() -> None:
    page = render(client(lambda _: httpx.Response(500, json={})), Place("/nowhere", {}, "UTC", "light"), 1000)
    assert "There is no such page" in text_of(page)


def test_the_page_asks_nothing_of_other_hosts() -> None:
    app = create_app(api=client(lambda _: httpx.Response(500, json={})))
    html = app.server.test_client().get("/").get_data(as_text=True)
    assert "lastbyte" in html
    assert "https://" not in html
    assert "http://" not in html.replace("http://www.w3.org", "")
