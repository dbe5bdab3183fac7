"""Schedules over REST, and two real beats that start each due time once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Engine, text

BODY: dict[str, Any] = {
    "name": "every night",
    "cron": "30 2 * * *",
    "time_zone": "Europe/Berlin",
    "template": {"endpoints": ["testbed-caddy-100KB"], "profiles": ["baseline"], "clients": ["curl-quiche"]},
}


def created(api: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = api.post("/schedules", json={**BODY, **changes})
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == answer.json()["links"]["self"]
    found: dict[str, Any] = answer.json()
    return found


def test_life_of_a_schedule(api: httpx.Client) -> None:
    made = created(api)
    assert made["words"] == "At 02:30 every day"
    assert made["last_run"] is None
    assert made["next_runs"][0]["at"] == made["next_due_at"]
    assert len(made["next_runs"]) == 5
    assert len(made["clock_notes"]) == 2  # both changes of the clocks of the coming year touch 02:30
    assert made["template"]["rounds"] == 10

    listed = api.get("/schedules").json()
    assert [item["name"] for item in listed["items"]] == ["every night", "nightly"]

    changed = api.patch(f"/schedules/{made['id']}", json={"cron": "0 4 * * MON-FRI", "overlap": "queue"}).json()
    assert changed["words"] == "At 04:00 on Monday through Friday"
    assert (changed["overlap"], changed["time_zone"], changed["clock_notes"]) == ("queue", "Europe/Berlin", [])
    put_aside = api.patch(f"/schedules/{made['id']}", json={"enabled": False}).json()
    assert (put_aside["enabled"], put_aside["next_due_at"]) == (False, None)

    run = api.post(f"/schedules/{made['id']}/run")
    assert run.status_code == 201, run.text
    campaign = api.get(f"/campaigns/{run.json()['campaign_id']}").json()
    assert campaign["name"].startswith("every night, 20")
    waits = api.post(f"/schedules/{made['id']}/run").json()
    assert (waits["outcome"], waits["campaign_id"]) == ("queued", None)
    runs = api.get(f"/schedules/{made['id']}/runs").json()
    assert [item["outcome"] for item in runs["items"]] == ["queued", "started"]
    assert runs["items"][1]["campaign_state"] == "queued"
    assert api.get(f"/schedules/{made['id']}").json()["last_run"] == runs["items"][0]

    assert api.delete(f"/schedules/{made['id']}").status_code == 204
    assert api.get(f"/schedules/{made['id']}").status_code == 404
    assert api.get(f"/campaigns/{campaign['id']}").status_code == 200


def test_preview_stores_nothing_and_counts(api: httpx.Client) -> None:
    shown = api.post("/schedules/preview", json={key: BODY[key] for key in ("cron", "time_zone", "template")}).json()
    assert shown["words"] == "At 02:30 every day"
    assert shown["planned"] == {"cells": 1, "trials": 22}
    assert all(
        run["local"].endswith(("02:30:00+01:00", "02:30:00+02:00", "03:00:00+02:00")) for run in shown["next_runs"]
    )
    assert api.get("/schedules").json()["total"] == 1


def test_what_is_wrong_is_named(api: httpx.Client) -> None:
    for body, field in (
        ({**BODY, "cron": "61 2 * * *"}, "cron"),
        ({**BODY, "time_zone": "Berlin"}, "time_zone"),
        ({**BODY, "template": {**BODY["template"], "profiles": ["bascline"]}}, "template.profiles.0"),
        ({**BODY, "template": {**BODY["template"], "rounds": 0}}, "template.rounds"),
        ({**BODY, "missed": "sometimes"}, "missed"),
        ({**BODY, "when": "now"}, "when"),
    ):
        answer = api.post("/schedules", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["errors"][0]["field"] == field
    for path in ("/schedules/999", "/schedules/999/runs"):
        assert api.get(path).status_code == 404
    assert api.post("/schedules/999/run").status_code == 404
    assert api.post("/schedules", json={**BODY, "name": "nightly"}).status_code == 409


def test_two_beats_start_each_due_time_once(
    api: httpx.Client, engine: Engine, database_url: str, embedded_valkey_url: str, tmp_path: Path
) -> None:
    made = [created(api, name=f"s{number}") for number in range(8)]
    environment = {**os.environ, "LASTBYTE_DATABASE_URL": database_url, "LASTBYTE_BROKER_URL": embedded_valkey_url}
    beats = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "worker.beat", f"--hostname=control{number}@%h"]
            own = {**environment, "LASTBYTE_VAR": str(folder)}
            beats.append(subprocess.Popen(command, env=own, stdout=log, stderr=subprocess.STDOUT))
    try:
        for _ in range(2):  # two due times one after the other
            with engine.begin() as connection:
                connection.execute(text("UPDATE campaigns SET state = 'done', finished_at = now()"))
                connection.execute(text("UPDATE schedules SET next_due_at = date_trunc('second', now()) WHERE enabled"))
            deadline = time.monotonic() + 110  # on a busy machine the two take long to start
            while any(item["enabled"] and _is_due(item) for item in api.get("/schedules").json()["items"]):
                assert time.monotonic() < deadline, [(tmp_path / n / "log").read_text() for n in "01"]
                time.sleep(0.2)
        time.sleep(4.5)  # two more ticks of both
        assert all(beat.poll() is None for beat in beats)
    finally:
        for beat in beats:
            beat.send_signal(signal.SIGTERM)
        for beat in beats:
            beat.wait(30)
    for schedule in made:
        runs = api.get(f"/schedules/{schedule['id']}/runs").json()["items"]
        assert [run["outcome"] for run in runs] == ["started", "started"]
        assert len({run["campaign_id"] for run in runs}) == 2
    assert api.get("/campaigns").json()["total"] == 2 * len(made)


def _is_due(schedule: dict[str, Any]) -> bool:
    return str(schedule["next_due_at"]) < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
