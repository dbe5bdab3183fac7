"""Trials by any property and order, exports of many, ETags, events."""

from __future__ import annotations

import csv
import io
import json
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow.parquet
import pytest
from sqlalchemy import Engine, text

from api import export
from api.schemas.trials import TrialOut
from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.trial import FailureKind
from lastbyte.stats.significance import wilcoxon_p
from tests.integration.api.test_campaigns import create
from tests.integration.samples import H2, H3, bad, good, proof


@pytest.fixture
def measured(api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> str:
    ident = str(create(api, rounds=3)["id"])
    cell = campaigns.dispatchable_cells(1, ident)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    for number in range(4):
        cells.store_trial(cell, "w", good(number, H2, 0.4 - number / 10, "overflow" if number == 3 else ""))
        cells.store_trial(cell, "w", bad(number, H3, FailureKind.TIMEOUT) if number == 2 else good(number, H3, 0.2))
    return ident


def ids(api: httpx.Client, campaign: str, **params: Any) -> list[int]:
    found: list[int] = []
    cursor: str | None = None
    while True:
        query = {"limit": 3, **params, **({"cursor": cursor} if cursor else {})}
        page = api.get(f"/campaigns/{campaign}/trials", params=query)
        assert page.status_code == 200, page.text
        found += [item["id"] for item in page.json()["items"]]
        cursor = page.json()["next"]
        if cursor is None:
            assert page.json()["total"] == len(found)
            return found


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({}, 8),
        ({"warmup": True}, 2),
        ({"warmup": False, "client": H2}, 3),
        ({"failed": True}, 1),
        ({"outcome": "timeout"}, 1),
        ({"unproven": True}, 1),
        ({"round": 2}, 2),
        ({"ttlb_from_ms": 250, "ttlb_to_ms": 350}, 1),
        ({"provider": "testbed-nginx"}, 0),
        ({"started_from": "2020-01-01T00:00:00Z"}, 8),
        ({"started_to": "2020-01-01T00:00:00Z"}, 0),
    ],
)
def test_filters_of_trials(api: httpx.Client, measured: str, params: dict[str, Any], count: int) -> None:
    assert len(ids(api, measured, **params)) == count


@pytest.mark.parametrize("sort", ["id", "started_at", "ttlb", "elapsed"])
def test_orders_go_both_ways_over_pages(api: httpx.Client, measured: str, sort: str) -> None:
    up = ids(api, measured, sort=sort)
    assert up == ids(api, measured, sort=f"-{sort}")[::-1]
    assert len(set(up)) == 8
    items = api.get(f"/campaigns/{measured}/trials", params={"sort": "ttlb"}).json()["items"]
    times = [item["ttlb_ms"] or float("inf") for item in items]
    assert times == sorted(times)
    refused = api.get(f"/campaigns/{measured}/trials", params={"sort": "-ttlb", "cursor": "WzFd"})
    assert refused.status_code == 422


def test_exports_agree(api: httpx.Client, measured: str) -> None:
    listed = api.get(f"/campaigns/{measured}/trials").json()["items"]
    lines = [json.loads(line) for line in api.get(f"/campaigns/{measured}/trials.jsonl").text.splitlines()]
    assert lines == listed
    rows = list(csv.DictReader(io.StringIO(api.get(f"/campaigns/{measured}/trials.csv").text)))
    assert [row["ttlb_ms"] for row in rows] == [str(item["ttlb_ms"] or "") for item in listed]
    answer = api.get(f"/campaigns/{measured}/trials.parquet", params={"failed": False})
    assert answer.headers["content-disposition"].endswith('.parquet"')
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    kept = [item for item in listed if item["outcome"] == "ok"]
    assert table["ttlb_ms"].to_pylist() == [item["ttlb_ms"] for item in kept]
    assert json.loads(table["headers"][0].as_py()) == kept[0]["headers"]
    assert [str(table.schema.field(name).type) for name in ("started_at", "round", "warmup", "proof")] == [
        "timestamp[us, tz=UTC]",
        "int64",
        "bool",
        "string",
    ]


def test_many_rows_take_no_more_memory_than_some(api: httpx.Client, measured: str, engine: Engine) -> None:
    """Twenty thousand trials, read and written as files while the memory is watched."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO trials (campaign_id, cell_id, client_id, round_index, position, started_at, outcome,"
                " ttlb_s, elapsed_s, exit_code, headers)"
                " SELECT campaign_id, cell_id, client_id, 10 + n, position, started_at, outcome, ttlb_s, elapsed_s,"
                " exit_code, headers FROM (SELECT * FROM trials ORDER BY id LIMIT 1) one, generate_series(1, 20000) n"
            )
        )
    store = PostgresResultStore(engine)
    wilcoxon_p([1.0] * 6, [1.1, 1.2, 1.3, 1.4, 1.5, 1.6])  # loads SciPy, which the API would do in the midst of it

    def peak_bytes(limit: int) -> int:
        records = store.all_trials(measured)
        trials: Iterator[TrialOut] = (TrialOut.of(record) for _, record in zip(range(limit), records, strict=False))
        tracemalloc.start()
        size = sum(len(part) for part in export.json_lines(trials))
        assert size > limit * 300
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    some, many = peak_bytes(3000), peak_bytes(20_000)
    assert many < 1.5 * some
    table = pyarrow.parquet.read_metadata(io.BytesIO(api.get(f"/campaigns/{measured}/trials.parquet").content))
    assert (table.num_rows, table.num_row_groups) == (20_008, 3)


def test_who_has_an_answer_already_is_told_so(api: httpx.Client, measured: str) -> None:
    for path in (f"/campaigns/{measured}", f"/campaigns/{measured}/heatmap", "/endpoints", "/campaigns"):
        first = api.get(path)
        tag = first.headers["etag"]
        for known in (tag, f'"x", W/{tag}', "*"):
            again = api.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert api.get(path, headers={"If-None-Match": '"other"'}).json() == first.json()
    tag = api.get(f"/campaigns/{measured}").headers["etag"]
    api.patch(f"/campaigns/{measured}", json={"name": "changed"})
    assert api.get(f"/campaigns/{measured}", headers={"If-None-Match": tag}).status_code == 200
    assert "etag" not in api.get("/campaigns/x").headers


def events(api: httpx.Client, campaign: str, last: str | None = None) -> Iterator[dict[str, Any]]:
    headers = {"Last-Event-ID": last} if last else {}
    with api.stream("GET", f"/campaigns/{campaign}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        event: dict[str, Any] = {}
        for line in answer.iter_lines():
            if not line:
                if event:
                    yield event
                event = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                event[name] = json.loads(value) if name == "data" else value


def test_events_tell_of_progress_cells_and_the_end(
    api: httpx.Client, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    ident = str(create(api, rounds=1)["id"])
    seen: list[dict[str, Any]] = []
    others: list[list[dict[str, Any]]] = [[], []]
    threads = [threading.Thread(target=lambda to=to: to.extend(events(api, ident)), daemon=True) for to in others]
    for thread in threads:
        thread.start()
    stream = events(api, ident)
    first = next(stream)
    assert (first["event"], first["data"]["state"], first["id"]) == ("progress", "queued", "0-0")
    ended = [cell.cell_id for cell in campaigns.dispatchable_cells(10, ident)]
    for cell in ended:
        cells.claim(cell, "w", 60)
        cells.store_trial(cell, "w", good(0, H2))
        cells.finish(cell, "w")
    seen = list(stream)
    assert [event["data"]["cell_id"] for event in seen if event["event"] == "cell"] == ended
    assert (seen[-1]["event"], seen[-1]["data"]["state"]) == ("end", "done")
    for thread in threads:
        thread.join(timeout=80)
    for other in others:
        assert [e["data"]["cell_id"] for e in other if e["event"] == "cell"] == ended
    second = next(event for event in seen if event["event"] == "cell")
    missed = list(events(api, ident, last=second["id"]))
    assert [event["data"]["cell_id"] for event in missed if event["event"] == "cell"] == ended[1:]
    assert missed[-1]["event"] == "end"


@pytest.mark.parametrize(
    ("headers", "status"), [({"Last-Event-ID": "odd"}, 422), ({"Last-Event-ID": "9" * 30 + "-1"}, 422)]
)
def test_events_of_nothing(api: httpx.Client, headers: dict[str, str], status: int) -> None:
    ident = create(api)["id"]
    assert api.get(f"/campaigns/{ident}/events", headers=headers).status_code == status
    assert api.get("/campaigns/00000000-0000-4000-8000-000000000000/events").status_code == 404
