"""Several campaigns together: pooled heatmaps, comparisons, trends, crossovers, notes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine, text

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.trial import FailureKind
from tests.integration.api.test_campaigns import create
from tests.integration.samples import H2, H3, bad, good, proof

SMALL, LARGE = "testbed-caddy-100KB", "testbed-caddy-1MB"
BASE = 0.1


class Measured:
    """Campaigns with made-up trials."""

    def __init__(self, api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> None:
        self.api = api
        self.campaigns = campaigns
        self.cells = cells
        self.noise = random.Random(5)  # noqa: S311 - noise to reproduce

    def campaign(self, ratios: dict[str, float], rounds: int = 8, scale: float = 1.0, **changes: Any) -> str:
        """H3/H2 by profile; times scatter by 2 %."""
        body = {"endpoints": [SMALL], "profiles": list(ratios), "rounds": rounds, **changes}
        ident = str(create(self.api, **body)["id"])
        for cell in self.api.get(f"/campaigns/{ident}/cells").json()["items"]:
            self.measure(cell["cell_id"], rounds, ratios[cell["profile"]], scale)
        return ident

    def measure(self, cell: int, rounds: int, ratio: float, scale: float = 1.0, achieved_ms: float = 10.2) -> None:
        self.cells.claim(cell, "w", 60)
        self.cells.store_proof(cell, "w", proof(achieved_ms=achieved_ms))
        for number in range(1, rounds + 1):
            for client, factor in ((H2, 1.0), (H3, ratio)):
                time_s = BASE * scale * factor * self.noise.gauss(1, 0.02)
                self.cells.store_trial(cell, "w", good(number, client, time_s))
        self.cells.finish(cell, "w")


@pytest.fixture
def measured(api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> Measured:
    return Measured(api, campaigns, cells)


def test_rounds_of_several_campaigns_are_pooled(measured: Measured, api: httpx.Client) -> None:
    first = measured.campaign({"baseline": 0.8, "loss-1": 0.7}, labels=["n"])
    second = measured.campaign({"baseline": 0.8, "loss-1": 0.7}, labels=["n"])
    pooled = api.get("/heatmap", params={"campaign": [first, second], "x": "loss", "y": "size"}).json()
    assert [campaign["id"] for campaign in pooled["campaigns"]] == [first, second]
    (facet,) = pooled["facets"]
    assert (facet["name"], facet["x_values"], facet["y_values"]) == ("testbed-caddy", [0, 1], ["100KB"])
    left, right = facet["squares"]
    assert (left["n"], right["n"]) == (16, 16)
    assert left["diff_pct"] == pytest.approx(-20, abs=2)
    assert right["diff_pct"] == pytest.approx(-30, abs=2)
    assert right["verdict"] == "h3 faster"
    assert len(left["cells"]) == 2
    assert api.get("/heatmap", params={"label": "n", "x": "loss", "y": "size"}).json() == pooled
    paper = api.get("/heatmap", params={"label": "n", "mode": "yu2021"}).json()
    assert paper["mode_note"]
    assert paper["facets"][0]["squares"][0]["paper"]["value_pct"] == pytest.approx(-20, abs=2)


def test_a_pool_of_one_campaign_is_its_heatmap(measured: Measured, api: httpx.Client) -> None:
    ident = measured.campaign({"baseline": 0.8, "loss-1": 1.2})
    pooled = api.get("/heatmap", params={"campaign": ident}).json()["facets"][0]["squares"]
    own = api.get(f"/campaigns/{ident}/heatmap").json()["providers"][0]["cells"]
    for square in own:
        (found,) = [item for item in pooled if item["x"] == square["profile"]]
        assert {k: v for k, v in found.items() if k in square} == {k: square[k] for k in found if k in square}


def test_cells_that_cannot_be_believed_stay_out_of_a_pool(measured: Measured, api: httpx.Client) -> None:
    good_one = measured.campaign({"baseline": 0.8})
    off = str(create(api, endpoints=[SMALL], profiles=["baseline"], rounds=8)["id"])
    cell = api.get(f"/campaigns/{off}/cells").json()["items"][0]["cell_id"]
    measured.measure(cell, 8, 3.0, achieved_ms=30)
    (square,) = api.get("/heatmap", params={"campaign": [good_one, off]}).json()["facets"][0]["squares"]
    assert (square["n"], square["unproven_cells"], len(square["cells"])) == (8, 1, 2)
    assert square["verdict"] == "h3 faster"


@pytest.mark.parametrize("facet", ["none", "client", "vantage"])
def test_facets(measured: Measured, api: httpx.Client, facet: str) -> None:
    ident = measured.campaign({"baseline": 0.8}, endpoints=[SMALL, "testbed-nginx-100KB"])
    facets = api.get("/heatmap", params={"campaign": ident, "facet": facet}).json()["facets"]
    assert [item["name"] for item in facets] == {"none": [""], "client": [H3], "vantage": ["local"]}[facet]
    assert len(facets[0]["squares"]) == 2


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/heatmap", "campaign"),
        ("/heatmap?label=nobody-has-it", "label"),
        ("/heatmap?x=colour&label=x", "x"),
        ("/crossover", "campaign"),
        ("/trends?profile=baseline", "endpoint"),
        ("/compare?baseline=1", "baseline"),
    ],
)
def test_questions_that_mean_nothing(api: httpx.Client, path: str, field: str) -> None:
    refused = api.get(path)
    assert refused.status_code == 422
    assert field in [error["field"] for error in refused.json()["errors"]]


def test_compare_passes_fails_and_does_not_know(measured: Measured, api: httpx.Client) -> None:
    base = measured.campaign({"baseline": 0.8, "loss-1": 0.9})
    same = measured.campaign({"baseline": 0.8, "loss-1": 0.9})
    slow = measured.campaign({"baseline": 0.8, "loss-1": 1.2})
    few = measured.campaign({"baseline": 0.8, "loss-1": 0.9}, rounds=1)

    def compared(candidate: str) -> dict[str, Any]:
        answer = api.get("/compare", params={"baseline": base, "candidate": candidate, "tolerance_pct": 10})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    assert (compared(same)["verdict"], compared(same)["exit_code"]) == ("pass", 0)
    assert compared(same)["counts"] == {"pass": 4, "fail": 0, "inconclusive": 0}
    assert (compared(few)["verdict"], compared(few)["exit_code"]) == ("inconclusive", 2)
    failed = compared(slow)
    assert (failed["verdict"], failed["exit_code"]) == ("fail", 1)
    (item,) = [item for item in failed["items"] if item["verdict"] == "fail"]
    assert (item["profile"], item["client"]) == ("loss-1", H3)
    assert item["diff_pct"] == pytest.approx(100 / 3, abs=6)
    assert item["p_slower"] < 0.05
    other = measured.campaign({"baseline": 0.8}, endpoints=[LARGE])
    refused = api.get("/compare", params={"baseline": base, "candidate": other})
    assert refused.status_code == 422
    part = measured.campaign({"baseline": 0.8})
    assert compared(part)["exit_code"] == 2  # half of the cells are missing: no pass


def test_a_client_that_stops_working_fails(measured: Measured, api: httpx.Client) -> None:
    base = measured.campaign({"baseline": 0.8})
    ident = str(create(api, endpoints=[SMALL], profiles=["baseline"], rounds=8)["id"])
    cell = api.get(f"/campaigns/{ident}/cells").json()["items"][0]["cell_id"]
    measured.cells.claim(cell, "w", 60)
    measured.cells.store_proof(cell, "w", proof())
    for number in range(1, 9):
        measured.cells.store_trial(cell, "w", good(number, H2, BASE * measured.noise.gauss(1, 0.01)))
        measured.cells.store_trial(cell, "w", bad(number, H3, FailureKind.PROTOCOL))
    found = api.get("/compare", params={"baseline": base, "candidate": ident, "tolerance_pct": 20}).json()
    assert found["verdict"] == "fail"
    (item,) = [item for item in found["items"] if item["client"] == H3]
    assert "8 of 8 failed" in item["reason"]


def test_trends_date_a_change_and_carry_notes(measured: Measured, api: httpx.Client, engine: Engine) -> None:
    start = datetime(2026, 1, 1, 3, 15, tzinfo=UTC)
    for night in range(14):
        ident = measured.campaign({"baseline": 0.8 if night < 7 else 1.1}, rounds=6, labels=["nightly"])
        with engine.begin() as connection:
            values = {"at": start + timedelta(days=night), "id": ident}
            connection.execute(text("UPDATE cells SET started_at = :at WHERE campaign_id = :id"), values)
    noted = api.post("/annotations", json={"at": "2026-01-08T00:00:00+01:00", "text": "new build"})
    assert noted.status_code == 201
    assert noted.json()["at"] == "2026-01-07T23:00:00.000000Z"
    params = {"endpoint": SMALL, "profile": "baseline", "label": "nightly"}
    trends = api.get("/trends", params=params).json()
    h2, h3, difference = trends["series"]
    assert [(s["client"], s["baseline"], s["unit"], len(s["points"])) for s in (h2, h3, difference)] == [
        (H2, None, "ms", 14),
        (H3, None, "ms", 14),
        (H3, H2, "%", 14),
    ]
    assert h2["changes"] == []
    (change,) = difference["changes"]
    assert change["at"] == "2026-01-08T03:15:00.000000Z"
    assert change["shift_pct"] == pytest.approx(100 * (1.1 / 0.8 - 1), abs=5)
    assert len(h3["changes"]) == 1
    assert difference["points"][0]["value"] == pytest.approx(-20, abs=3)
    assert [note["text"] for note in trends["annotations"]] == ["new build"]
    later = api.get("/trends", params={**params, "measured_from": "2026-01-10T00:00:00Z"}).json()
    assert len(later["series"][0]["points"]) == 5
    assert later["annotations"] == []
    assert api.get("/trends", params=params).json() == trends, "kept, and still so"
    ident = api.get("/annotations").json()["items"][0]["id"]
    assert api.delete(f"/annotations/{ident}").status_code == 204
    assert api.get("/trends", params=params).json() == {**trends, "annotations": []}, (
        "what was kept does not outlive it"
    )
    measured.campaign({"baseline": 1.1}, rounds=6, labels=["nightly"])
    assert len(api.get("/trends", params=params).json()["series"][0]["points"]) == 15, "a new night"
    assert api.delete(f"/annotations/{ident}").status_code == 404


def test_crossover_over_loss(measured: Measured, api: httpx.Client) -> None:
    ident = measured.campaign({"baseline": 1.2, "loss-1": 0.8}, rounds=12)
    found = api.get("/crossover", params={"campaign": ident, "axis": "loss"}).json()
    (line,) = found["lines"]
    assert (line["kind"], line["size_label"], line["loss_pct"]) == ("found", "100KB", None)
    assert 0.3 < line["ci_low"] < line["x"] < line["ci_high"] < 0.7
    assert line["h3_faster_below"] is False
    assert found["unit"] == "%"
    assert api.get("/crossover", params={"campaign": ident, "axis": "size"}).json()["lines"] == []
