"""What is shown of whole pages: medians of loads, and the waterfall of a load."""

from __future__ import annotations

import json
from typing import Any

import httpx

from dashboard.figures.palette import palette
from dashboard.figures.waterfall import bars, events, summary, waterfall_figure
from dashboard.pages import page_loads
from dashboard.pages.place import Place

PLACE = Place("/x", {}, "UTC", "light")


def entry(name: str, at: str, time_ms: float, receive_ms: float, protocol: str = "h3") -> dict[str, Any]:
    return {
        "startedDateTime": f"2026-01-01T00:00:{at}Z",
        "time": time_ms,
        "timings": {"receive": receive_ms},
        "request": {"url": f"https://a.test/{name}", "httpVersion": protocol},
        "response": {"status": 200, "content": {"size": 5000}},
    }


def har() -> dict[str, Any]:
    page = {
        "startedDateTime": "2026-01-01T00:00:10.000Z",
        "pageTimings": {"onLoad": 900.0, "_firstContentfulPaint": 300.0, "_largestContentfulPaint": -1},
    }
    entries = [entry("late.png", "10.500", 300, 100, "h2"), entry("page.html", "09.990", 210, 50)]
    return {"log": {"pages": [page], "entries": entries}}


def test_bars_begin_at_the_request_and_end_with_the_last_byte() -> None:
    first, second = bars(har())
    assert (first.name, round(first.start_ms), round(first.first_byte_ms), round(first.end_ms)) == (
        "page.html", -10, 150, 200,
    )  # fmt: skip
    assert (second.name, round(second.start_ms), round(second.end_ms), second.protocol) == ("late.png", 500, 800, "h2")
    assert events(har()) == {"FCP": 300.0, "load": 900.0}


def test_one_bar_a_resource_with_its_protocol_by_mark_pattern_and_colour() -> None:
    for scheme in ("light", "dark"):
        pal = palette(scheme)
        figure = waterfall_figure(har(), scheme, 900.0)
        drawn = [data for data in figure.data if data.type == "bar"]
        marks = [data for data in figure.data if data.type == "scatter"]
        assert [list(data.y) for data in drawn] == [[1], [0]]  # H2, then H3
        assert [round(x) for data in drawn for x in data.x] == [300, 210]
        assert [data.marker.color for data in marks] == [pal.h2, pal.h3]
        assert len({data.marker.symbol for data in marks}) == 2
        assert len({data.marker.pattern.shape for data in drawn}) == 2
        assert [round(x) for data in marks for x in data.x] == [700, 150]
        assert "(ms)" in figure.layout.xaxis.title.text
        assert list(figure.layout.yaxis.ticktext) == ["page.html", "late.png"]
        assert [note.text for note in figure.layout.annotations] == ["FCP 300 ms", "load 900 ms"]


def test_the_picture_is_told_in_words() -> None:
    said = summary(har())
    assert said == "2 resources, 10 KB, last byte at 800 ms, FCP at 300 ms, load at 900 ms, longest: late.png, 300 ms"


def trial(client: str, number: int, ttlb_ms: float, **more: object) -> dict[str, Any]:
    page = {
        "load_ms": ttlb_ms + 50,
        "fcp_ms": 100.0,
        "lcp_ms": None,
        "resources": 18,
        "failed_resources": 0,
        "body_bytes": 396_608,
        "connections": 1,
        "protocols": {client[-2:]: 18},
        "blocked_hosts": [],
        **more,
    }
    return {
        "id": 10 * number + len(client),
        "client": client,
        "round": number,
        "outcome": "ok",
        "unproven_reason": None,
        "capture": number < 0,
        "ttlb_ms": ttlb_ms,
        "page": page,
    }


class Api:
    """A watched trial with an archive, and one whose archive is no JSON."""

    def cell_acks(self, cell_id: int) -> list[dict[str, Any]]:
        files = [{"id": n, "kind": "har", "download": f"/artifacts/{n}", "bytes": 100} for n in (1, 2)]
        ids = [trial("chromium-h2", -1, 1.0)["id"], trial("chromium-h3", -1, 1.0)["id"] + 1]
        return [{"trial_id": ident, "artifacts": [file]} for ident, file in zip(ids, files, strict=True)]

    def artifact(self, artifact_id: int, headers: object) -> httpx.Response:
        return httpx.Response(200, content=json.dumps(har()) if artifact_id == 1 else "no archive")


def test_the_section_has_medians_of_counted_loads_and_a_waterfall_of_each_watched_one() -> None:
    trials = [trial("chromium-h2", number, 400.0 + number) for number in (0, 1, 2, 3)]
    trials += [trial("chromium-h3", 1, 350.0, blocked_hosts=["ads.example"]), trial("chromium-h2", -1, 9000.0)]
    trials += [{**trial("chromium-h3", -1, 9000.0), "id": trial("chromium-h3", -1, 1.0)["id"] + 1}]
    text = str(page_loads.section(Api(), PLACE, {"cell_id": 3}, trials)).replace("\\xa0", " ")  # type: ignore[arg-type]
    assert "402 ms" in text
    assert "452 ms" in text
    assert "h2 100 %" in text
    assert "none of the page's own names: ads.example" in text
    assert "Waterfall: chromium-h2" in text
    assert "Waterfall: chromium-h3" not in text


def test_objects_have_no_such_section() -> None:
    assert page_loads.section(Api(), PLACE, {"cell_id": 3}, [{"page": None, "capture": True}]) is None  # type: ignore[arg-type]
