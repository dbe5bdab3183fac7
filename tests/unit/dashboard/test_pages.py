"""Pages as text: what a person would read."""

from __future__ import annotations

import json
from typing import Any

import httpx
import plotly.graph_objects as go
import pytest
from dash import html, no_update
from plotly.io.json import to_json_plotly

from dashboard.actions import ACTIONS, delete_question
from dashboard.app import create_app
from dashboard.callbacks.live import controls_anew, news
from dashboard.callbacks.new import request_body
from dashboard.callbacks.routing import render
from dashboard.client import ApiClient, ApiDown, ApiProblem
from dashboard.inplace import PROPERTIES, Values, values
from dashboard.inplace import parts as inplace_parts
from dashboard.pages import parts
from dashboard.pages.campaign import fingerprint, head
from dashboard.pages.campaigns import campaign_list
from dashboard.pages.campaigns import fingerprint as list_fingerprint
from dashboard.pages.card import figure_card
from dashboard.pages.home import chosen_campaigns, needed
from dashboard.pages.new import default_endpoints, default_pair, endpoint_choices, errors_by_field, estimate_view
from dashboard.pages.place import Place
from dashboard.pages.schedule_form import Catalogue, form
from dashboard.pages.schedules import schedule_card
from dashboard.pages.view import Choice, offered
from dashboard.routes import NoSuchPage, draw
from tests.unit.dashboard.samples import campaign, cell, heatmap, schedule, trial

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"
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
    other = Place("/", {"candidate": "c"}, "UTC", "light")
    assert fingerprint(campaign(), PLACE) != fingerprint(campaign(), other)


def served(path: str, *cells: dict[str, Any], query: dict[str, str] | None = None, **other: Any) -> str:
    """The text of a page, from an API with one campaign."""
    found = campaign(**other)
    answers: dict[str, Any] = {
        "/api/v1/campaigns": {"items": [found], "next": None, "total": 1},
        f"/api/v1/campaigns/{found['id']}": found,
        f"/api/v1/campaigns/{found['id']}/heatmap": heatmap(*cells),
        f"/api/v1/campaigns/{found['id']}/cells": {"items": [], "next": None},
        f"/api/v1/campaigns/{found['id']}/trials": {"items": [trial(0, H2), trial(1, H2), trial(1, H3)], "next": None},
        "/api/v1/profiles": {"items": [], "next": None},
        "/api/v1/cells/7": {"tc": {"downlink": ["tc qdisc x"], "uplink": []}},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        known = answers.get(request.url.path)
        return httpx.Response(200, json=known) if known else httpx.Response(404, json={"title": "Not found"})

    return text_of(render(client(answer), Place(path.format(found["id"]), query or {}, "UTC", "light"), 1000))


def test_the_campaign_page_lists_what_no_grid_shows() -> None:
    text = served("/campaigns/{}", cell(), cell("both", loss_pct=1.0, extra_rtt_ms=50.0))
    assert "Conditions outside the grids" in text


def test_the_query_chooses_the_axis() -> None:
    assert "Extra delay (RTT)" in served("/campaigns/{}", cell(), query={"axis": "delay"})


def test_home_answers_in_words_before_the_picture() -> None:
    text = served("/", cell("loss-1", loss_pct=1.0))
    assert text.index("H3 slower in 1") < text.index('"z"')
    # A line per provider: where, by how much, how sure, on how many trials.
    line = text[text.index("lb-word-h2") - 400 : text.index('"z"')]
    assert " at 1 % loss, 100 KB: +12.3 % (+10.3 … +14.3). " in line
    assert "H3 faster nowhere." in line
    assert "20 trials." in line
    assert "Rests on 20 trials" in text


def test_home_says_which_clients_its_squares_compare_where_campaigns_had_others() -> None:
    browsers = {"baseline": "chromium-h2", "candidate": "chromium-h3"}
    pages = {**campaign(id="pages", clients=list(browsers.values())), "endpoints": ["testbed-caddy-page-small"]}
    objects = campaign(id="objects", cells_done=1)
    both = {
        "pages": {**heatmap(cell(size="small", endpoint="testbed-caddy-page-small", cell_id=8)), **browsers},
        "objects": heatmap(cell(cell_id=9)),
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/campaigns":
            return httpx.Response(200, json={"items": [pages, objects], "next": None, "total": 2})
        return httpx.Response(200, json=both[request.url.path.split("/")[4]])

    text = text_of(render(client(answer), PLACE, 1000))
    assert "chromium-h3 against chromium-h2; curl-quiche-h3 against curl-quiche-h2" in text
    assert "/campaigns/pages/cells/8?baseline=chromium-h2&candidate=chromium-h3" in text
    assert "/campaigns/objects/cells/9?baseline=curl-quiche-h2&candidate=curl-quiche-h3" in text
    assert "each campaign's own" in text
    assert "Not all squares" not in served("/", cell())


def test_campaigns_with_nothing_in_common_say_so_and_let_the_viewer_choose_others() -> None:
    fault = {"field": "candidate", "message": "has no cell in common.", "remedy": "Rerun the baseline."}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/compare":
            return httpx.Response(422, json={"title": "Invalid input", "detail": "No.", "errors": [fault]})
        found = [campaign(id="a"), campaign(id="b", name="before")]
        return httpx.Response(200, json={"items": found, "next": None, "total": 2})

    text = text_of(render(client(answer), Place("/compare", {}, "UTC", "light"), 1000))
    assert "“After” has no cell in common. Rerun the “Before”." in text
    assert "before (" in text, "the lists to choose from"


def test_the_form_begins_with_objects_not_with_pages() -> None:
    object_ = {"id": "testbed-caddy-1MB", "origin": "testbed", "kind": "object"}
    others = [{"id": "page", "origin": "testbed", "kind": "page"}, {"id": "far", "origin": "production"}]
    assert default_endpoints([object_, *others]) == ["testbed-caddy-1MB"]


def test_home_without_campaigns_says_what_to_do() -> None:
    empty = client(lambda _: httpx.Response(200, json={"items": [], "next": None, "total": 0}))
    assert "Schedule the first one" in text_of(render(empty, PLACE, 1000))


def test_home_takes_as_many_campaigns_as_the_newest_squares_need() -> None:
    def night(ident: str, **other: Any) -> dict[str, Any]:
        return campaign(id=ident, cells_done=1, state="done", **other)

    nightly = [night("3"), night("2"), night("1", profiles=["loss-1"])]
    assert [c["id"] for c in needed(nightly)] == ["3", "1"]
    running = [campaign(id="4"), *nightly]
    assert [c["id"] for c in needed(running)] == ["4", "3", "1"]
    chosen = chosen_campaigns(Place("/", {"campaigns": "2,unknown"}, "UTC", "light"), nightly)
    assert [c["id"] for c in chosen] == ["2"]


def test_a_cell_page_has_proof_trials_and_commands() -> None:
    proof = {
        "box_kind": "uml", "rtt_requested_ms": 10.0, "rtt_achieved_ms": 10.2, "rtt_min_ms": 10.0, "rtt_max_ms": 11.0,
        "probes_sent": 20, "probes_lost": 0, "commands": {H3: ["curl", "--http3-only", "a b"]},
    }  # fmt: skip
    text = served("/campaigns/{}/cells/7", cell(cell_id=7, proof=proof, p_value=0.03, spread_p=0.4))
    for part in ("Proof of the link", "Round by round", "curl --http3-only 'a b'", "tc qdisc x", "p = 0.03"):
        assert part in text


def test_a_cell_that_is_not_there_says_so() -> None:
    with pytest.raises(ApiProblem, match="has no cell 99"):
        served("/campaigns/{}/cells/99", cell(cell_id=7))


def test_an_imported_campaign_says_where_it_came_from() -> None:
    text = text_of(head(campaign(source={"importer": "timings", "files": 3}), "UTC"))
    assert "Imported, not measured here" in text
    assert "importer: timings; files: 3" in text


def test_what_a_campaign_waits_for_and_has_saved_is_told() -> None:
    text = text_of(head(campaign(waiting_for=["The budget of x is used up."], rounds_saved=12, trials_saved=24), "UTC"))
    assert "The budget of x is used up." in text
    assert "12 rounds (24 trials) not needed" in text


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


def test_the_estimate_names_cost_and_courtesy() -> None:
    budget = {
        "host": "www.example.com", "requests_per_day": 1000, "requests_left": 900, "bytes_left": 5e9, "min_gap_s": 0.5,
    }  # fmt: skip
    cost = {
        "cells": 2, "trials": 40, "bytes": 40_000_000, "unknown_sizes": ["e"], "seconds": 60.0, "measured_cells": 0,
        "hosts": [{"budget": budget, "requests": 40, "bytes": 4e7, "days": 2}],
    }  # fmt: skip
    text = text_of(estimate_view(cost))
    for part in ("40, the warm-up included", "at least 40 MB", "roughly 60 s", "900 of 1,000", "It will take 2 days"):
        assert part in text


def test_what_can_be_done_depends_on_the_state() -> None:
    def buttons(**other: Any) -> set[str]:
        found = text_of(parts.actions(campaign(**other)))
        return {word for word in ("Pause", "Resume", "Cancel", "Run again", "Delete", "Clone") if f'"{word}"' in found}

    assert buttons(state="running") == {"Pause", "Cancel", "Clone"}
    assert buttons(state="paused") == {"Resume", "Cancel", "Clone"}
    assert buttons(state="done") == {"Run again", "Delete", "Clone"}
    assert buttons(state="done", source={"importer": "x"}) == {"Delete"}


def test_every_button_has_an_action_and_what_is_final_asks_first() -> None:
    assert {do for do, action in ACTIONS.items() if action.question} == {"cancel", "delete", "forget"}
    text = delete_question(campaign(trials_done=24)).replace("\u00a0", " ")
    assert "goes for good, with 24 trials" in text


def test_a_schedule_shows_its_words_next_runs_and_last_result() -> None:
    text = text_of(schedule_card(schedule(), Place("/schedules", {}, "Europe/Berlin", "light")))
    for part in ("every night", "At 03:15", "15 3 * * *", "Europe/Berlin", "skipped", "the one before still runs"):
        assert part in text
    assert "/schedules?edit=3" in text


def test_the_form_of_a_schedule_is_filled_with_the_one_that_is_edited() -> None:
    clients = [
        {"id": f"curl-quiche-{kind}", "program": "curl-quiche", "protocol": kind[:2], "memory": kind[3:] or None}
        for kind in ("h2", "h3", "h3@resume")
    ]
    catalogue = Catalogue(endpoints=[], profiles=[], clients=clients, campaigns=[])
    edited = form(catalogue, "UTC", schedule(cron="30 6 * * *", time_zone="Asia/Kathmandu", overlap="queue"))
    shown = {
        item.id["field"]: item.value
        for item in edited._traverse()  # type: ignore[no-untyped-call]
        if isinstance(getattr(item, "id", None), dict) and item.id["type"] == "schedule-form"
    }
    assert shown["name"] == "every night"
    assert (shown["cron"], shown["time_zone"], shown["overlap"]) == ("30 6 * * *", "Asia/Kathmandu", "queue")
    assert shown["endpoints"] == ["testbed-caddy-1MB"]  # the catalogue has it no more, and yet it is kept
    assert shown["clients"] == ["curl-quiche-h2", "curl-quiche-h3"]
    assert "testbed-caddy-1MB" in text_of(edited)


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
        {"id": "c-h3@reuse", "program": "c", "protocol": "h3", "builds": [1]},
        {"id": "c-h2@resume", "program": "c", "protocol": "h2", "builds": [1]},
    ]
    assert default_pair(clients) == ["c-h2", "c-h3"], "never an arm with a memory"


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
    with pytest.raises(NoSuchPage):
        render(client(lambda _: httpx.Response(500, json={})), Place("/nowhere", {}, "UTC", "light"), 1000)


def test_the_page_asks_nothing_of_other_hosts() -> None:
    app = create_app(api=client(lambda _: httpx.Response(500, json={})))
    html = app.server.test_client().get("/").get_data(as_text=True)
    assert "lastbyte" in html
    assert "https://" not in html
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_news_of_the_same_structure_are_put_in_place_and_others_replace_the_page() -> None:
    def body(text: str, *keys: str) -> list[Any]:
        cards = [figure_card(key, "title", go.Figure(), note=text) for key in keys]
        return [html.P(text), html.Div(cards)]

    def shown(found: Values) -> list[list[dict[str, str]]]:
        return [
            [{"type": kind, "key": name.removeprefix("key=")} for name in found.by_type[kind]] for kind in PROPERTIES
        ]

    before = shown(values(inplace_parts(body("old", "a", "b"))))
    page, inside = news(body("new", "a", "b"), before)
    assert page is no_update
    first_part, second_part = inside[0]
    assert first_part.children == "new"
    assert second_part is no_update  # its figures stay mounted
    assert inside[1] == ["new", "new"]
    replaced, rest = news(body("new", "a"), before)
    assert len(replaced) == 2
    assert all(value is no_update for values_ in rest for value in values_)


def test_the_table_of_all_cells_is_made_once_it_is_opened() -> None:
    closed = served("/campaigns/4f8c1a52-0000-4000-8000-000000000000", cell(), state="done")
    opened = served("/campaigns/4f8c1a52-0000-4000-8000-000000000000", cell(), state="done", query={"table": "cells"})
    assert "All cells as a table" in closed
    assert "H2 median" not in closed
    assert "H2 median" in opened


def test_controls_stay_mounted_until_they_offer_something_else() -> None:
    sizes = Choice("sizes", "Sizes", [("100KB", "100 KB"), ("1MB", "1 MB")], "100KB", many=True)
    before = offered([sizes])
    assert controls_anew([sizes], before, {"sizes": "100KB"}) == (no_update, no_update)
    row, _ = controls_anew([sizes], before, {"sizes": "7TB"})  # what can't be chosen is put right
    assert row is not no_update
    more = Choice("sizes", "Sizes", [*sizes.options, ("5MB", "5 MB")], "100KB", many=True)
    row, offer = controls_anew([more], before, {"sizes": "100KB"})
    assert "5 MB" in text_of(row)
    assert offer == offered([more]) != before


def test_a_heatmap_is_not_fetched_where_nothing_is_new() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, json={"items": [campaign(state="done")], "next": None, "total": 1})

    assert draw(client(answer), PLACE).seen == draw(client(answer), PLACE).seen
    assert asked == ["/api/v1/campaigns"] * 2
