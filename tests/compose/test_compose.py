"""What README says of docker compose, on a real engine: one journey, in order, over one system.

Each test goes on where the one before it ended, so that the system is started once.
"""

from __future__ import annotations

import json
import re
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.compose.system import ROOT, System
from tests.e2e.dashboard.conftest import OpenPage

pytestmark = pytest.mark.timeout(900)

IPV6 = Path("/proc/sys/net/ipv6").exists()
POWERFUL = {"NET_ADMIN", "SYS_ADMIN"}


def demo(system: System) -> Any:
    return next(iter(system.get("/campaigns")["items"]), None)


def busy_workers(system: System) -> set[str]:
    """Containers that hold a cell now."""
    rows = system.sql("SELECT lease_owner FROM cells WHERE state = 'running'")
    return {row[0].partition(":")[0] for row in rows}


def test_up_ends_in_a_filling_heatmap_at_the_published_port(system: System, open_page: OpenPage) -> None:
    *_, up, watch = system.readme()
    began = time.monotonic()
    system.follow(up)
    first = system.wait(lambda: (found := demo(system)) and found["trials_done"] and found, 300, "a first trial")
    print(f"\nmeasuring {time.monotonic() - began:.1f} s after docker compose up")
    system.watching = system.start(watch)  # until the demo's end, which comes in another test
    page = open_page(f"{system.dashboard_url}/campaigns/{first['id']}")
    panel = page.locator(".lb-panel").first
    expect(panel).to_contain_text("testbed-caddy", timeout=120_000)
    expect(panel.get_by_text(re.compile(r"n.=.6")).first).to_be_visible(timeout=300_000)
    made = system.compose("logs", "--no-log-prefix", "secrets")
    assert len(re.findall(r"LASTBYTE_(?:POSTGRES|REDIS)_PASSWORD=\S{20,} ", made)) == 2


def test_rights_are_given_to_the_worker_alone(system: System) -> None:
    services = system.compose("ps", "--services", "--all").split()
    assert {"api", "beat", "dashboard", "demo", "migrate", "postgres", "redis", "secrets", "testbed", "worker"} == set(
        services
    )
    published = {}
    for service in services:
        container = system.compose("ps", "--quiet", "--all", service).split()[0]
        facts = system.inspect(container)
        host = facts["HostConfig"]
        assert host["ReadonlyRootfs"], service
        assert host["CapDrop"] == ["ALL"], service
        assert "no-new-privileges:true" in host["SecurityOpt"], service
        assert not host["Privileged"], service
        powers = {name.removeprefix("CAP_") for name in host["CapAdd"] or []} & POWERFUL
        assert powers == (POWERFUL if service == "worker" else set()), service
        assert bool(host["Devices"]) == (service == "worker"), service
        assert host["Memory"] > 0, service
        for binding in (one for ports in host["PortBindings"].values() for one in ports):
            assert binding["HostIp"] == "127.0.0.1", service
            published[service] = binding["HostPort"]
    assert published == {"api": str(system.api_port), "dashboard": str(system.dashboard_port)}


@pytest.mark.parametrize("service", ["api", "beat", "dashboard", "testbed"])
def test_no_root_where_it_is_not_needed(system: System, service: str) -> None:
    assert system.compose("exec", "-T", service, "id", "-u").strip() == "10001"


def test_only_the_uplink_leads_out(system: System) -> None:
    """Database and broker are on a network without a way out; the worker's way out is the measured one."""
    networks = {
        service: set(system.inspect(system.containers(service)[0])["NetworkSettings"]["Networks"])
        for service in ("postgres", "redis", "beat", "worker", "testbed")
    }
    control, uplink = f"{system.project}_control", f"{system.project}_uplink"
    assert networks["postgres"] == networks["redis"] == networks["beat"] == {control}
    assert networks["worker"] == {control, uplink}
    assert networks["testbed"] == {uplink}
    assert system.run("docker", "network", "inspect", "--format", "{{.Internal}}", control).strip() == "true"


def test_four_workers_and_a_killed_one_and_a_restarted_broker_lose_nothing(system: System) -> None:
    system.compose("up", "--detach", "--no-recreate", "--scale", "worker=4")
    workers = system.containers("worker")
    assert len(workers) == 4
    hostnames = {system.inspect(worker)["Config"]["Hostname"]: worker for worker in workers}
    busy: set[str] = system.wait(
        lambda: found if len(found := busy_workers(system)) >= 3 else None, 60, "three workers at once"
    )
    assert busy <= set(hostnames)
    system.run("docker", "kill", "--signal", "KILL", hostnames[min(busy)])
    system.compose("restart", "redis")
    campaign = demo(system)
    done = system.wait(
        lambda: (now := system.get(f"/campaigns/{campaign['id']}"))["state"] == "done" and now, 300, "the demo's end"
    )
    assert done["trials_done"] == done["trials_planned"] == 168
    assert done["trials_failed"] == 0
    assert system.sql("SELECT count(*), count(DISTINCT (cell_id, client_id, round_index)) FROM trials") == [
        ["168", "168"]
    ]
    assert "demo campaign done after" in system.follow(system.readme()[-1], system.watching)


def test_a_stopped_worker_hands_its_cell_back(system: System) -> None:
    answer = system.http.post(
        "/campaigns",
        json={
            "name": "long",
            "endpoints": ["testbed-caddy-1MB"],
            "profiles": ["delay-100"],
            "clients": ["curl-quiche-h2", "curl-quiche-h3"],
            "rounds": 40,
        },
    )
    assert answer.status_code == 201, answer.text
    link = f"/campaigns/{answer.json()['id']}"
    system.wait(lambda: system.get(link)["trials_done"] >= 2, 60, "two trials")
    began = time.monotonic()
    stopped = system.containers("worker")  # the one that the test before killed is not among them
    system.compose("stop", "worker")
    assert time.monotonic() - began < 30
    assert {system.inspect(one)["State"]["ExitCode"] for one in stopped} <= {0}, "137 would be a kill"
    assert {row[0] for row in system.sql("SELECT DISTINCT state FROM cells")} <= {"pending", "done"}
    assert system.http.post(f"{link}/cancel").status_code < 300


def test_an_upgrade_with_a_migration_keeps_the_data(system: System) -> None:
    before = system.get(f"/campaigns/{demo_id(system)}/heatmap")
    head = system.sql("SELECT version_num FROM alembic_version")
    system.compose("stop", "api", "beat", "worker")
    system.compose("run", "--rm", "migrate", "python", "-m", "migrations", "downgrade", "-1")
    assert system.sql("SELECT version_num FROM alembic_version") != head
    system.manual("upgrade", ROOT)
    system.wait(lambda: system.http.get("/readyz").status_code == 200, 60, "the API")
    assert system.sql("SELECT version_num FROM alembic_version") == head
    assert system.get(f"/campaigns/{demo_id(system)}/heatmap") == before


def test_backup_and_restore_as_the_manual_says(system: System) -> None:
    before = system.get(f"/campaigns/{demo_id(system)}/heatmap")
    with tempfile.TemporaryDirectory() as folder:
        system.manual("backup", Path(folder))
        assert Path(folder, "lastbyte.dump").stat().st_size > 10_000
        system.sql("DELETE FROM campaigns")
        assert system.get("/campaigns")["items"] == []
        system.manual("restore", Path(folder))
    system.wait(lambda: system.http.get("/readyz").status_code == 200, 60, "the API")
    assert system.get(f"/campaigns/{demo_id(system)}/heatmap") == before


def test_down_and_up_again_keeps_the_data(system: System) -> None:
    """Up again with IPv6, where this machine has it, for the test after this one."""
    before = system.get(f"/campaigns/{demo_id(system)}/heatmap")
    system.compose("down")
    if IPV6:
        system.files.append("compose.ipv6.yml")
    system.compose("up", "--detach", "--wait", "api", "dashboard", "worker", "beat", "testbed")
    assert system.get(f"/campaigns/{demo_id(system)}/heatmap") == before
    assert "passwords are there already" in system.compose("logs", "--no-log-prefix", "secrets")


@pytest.mark.skipif(not IPV6, reason="this kernel has no IPv6, so compose.ipv6.yml is NOT tested")
def test_ipv6_is_measured_where_the_uplink_has_it(system: System) -> None:
    measure = ("lastbyte", "measure", "https://testbed-nginx.test/100KB.bin", "-n", "3", "--json")
    shown = system.compose("exec", "-T", "-e", "LASTBYTE_ADDRESS_FAMILY=ipv6", "worker", *measure)
    (found,) = json.loads(shown)["profiles"]
    assert ":" in found["proof"]["address"]
    assert len(found["trials"]) >= 6
    assert all(trial["observation"]["timings"] for trial in found["trials"]), "a failed fetch"


def test_the_nightly_schedule_that_comes_with_it_starts_one_campaign_when_it_is_due(system: System) -> None:
    (nightly,) = [item for item in system.get("/schedules")["items"] if item["name"] == "nightly"]
    assert (nightly["cron"], nightly["enabled"]) == ("15 3 * * *", False)
    link, before = f"/schedules/{nightly['id']}", system.get("/campaigns")["total"]
    assert system.http.patch(link, json={"enabled": True}).is_success
    system.sql("UPDATE schedules SET next_due_at = date_trunc('second', now()) WHERE name = 'nightly'")
    (run,) = system.wait(lambda: system.get(f"{link}/runs")["items"], 60, "beat to start it")
    assert (run["trigger"], run["outcome"]) == ("due", "started")
    campaign = f"/campaigns/{run['campaign_id']}"
    system.wait(lambda: system.get(campaign)["trials_done"], 90, "a trial of the schedule's campaign")
    time.sleep(5)  # beat has looked at least once more
    assert [item["id"] for item in system.get(f"{link}/runs")["items"]] == [run["id"]]
    assert system.get("/campaigns")["total"] == before + 1
    assert system.http.patch(link, json={"enabled": False}).is_success
    assert system.http.post(f"{campaign}/cancel").is_success


def test_cron_starts_a_campaign_as_the_manual_says(system: System) -> None:
    system.environment["LASTBYTE_KEYS"] = "required"
    try:
        with tempfile.TemporaryDirectory() as folder:
            system.manual("nightly", Path(folder))
            system.manual("key", Path(folder))
            system.compose("up", "--detach", "--wait", "api")
            assert system.http.get("/campaigns").status_code == 401
            assert not system.crontab(Path(folder))
            shown = {"Authorization": f"Bearer {Path(folder, 'key').read_text().strip()}"}
        newest = system.http.get("/campaigns", headers=shown).json()["items"][0]
        assert newest["name"] == "from cron"
        assert system.http.post(f"/campaigns/{newest['id']}/cancel", headers=shown).is_success
    finally:
        del system.environment["LASTBYTE_KEYS"]
        system.compose("up", "--detach", "--wait", "api")


def test_a_vantage_elsewhere_measures_over_tls_and_survives_a_lost_connection(system: System) -> None:
    # the engine's own address on its default bridge: reachable from both systems' containers, not from outside
    here = system.run(
        "docker", "network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"
    ).strip()
    system.environment["LASTBYTE_GATE_BIND"] = here
    system.compose("--profile", "vantages", "build", "--quiet", "gate")
    system.compose("--profile", "vantages", "up", "--detach", "--wait", "gate")
    issue = ("run", "--rm", "-T", "--no-deps", "gate-keys", "issue", "elsewhere", here)
    key = system.compose("--profile", "vantages", *issue).strip().splitlines()[-1]
    with socket.create_connection((here, 16379), 5) as plain:
        plain.sendall(b"PING\r\n")
        assert b"PONG" not in plain.recv(100)
    system.remote("up", "--detach", key=key)
    system.wait(
        lambda: [
            found for found in system.get("/vantages")["items"] if found["name"] == "elsewhere" and found["alive"]
        ],
        60,
        "the vantage's heartbeat",
    )
    body = {
        "name": "from elsewhere",
        "vantage": "elsewhere",
        "endpoints": ["testbed-caddy-100KB"],
        "profiles": ["baseline", "delay-50"],
        "clients": ["curl-quiche-h2", "curl-quiche-h3"],
        "rounds": 12,
        "capture": "last-round",
    }
    answer = system.http.post("/campaigns", json=body)
    assert answer.status_code == 201, answer.text
    link = f"/campaigns/{answer.json()['id']}"
    system.wait(lambda: system.get(link)["trials_done"] >= 3, 60, "three trials from elsewhere")
    system.compose("--profile", "vantages", "stop", "gate")
    time.sleep(5)
    assert system.get(link)["state"] == "running"
    system.compose("--profile", "vantages", "start", "gate")
    done = system.wait(lambda: (now := system.get(link))["state"] == "done" and now, 120, "the campaign's end")
    assert done["trials_done"] == done["trials_planned"]
    assert done["trials_failed"] == 0
    captures_are_carried_over(system, link)


def captures_are_carried_over(system: System, campaign: str) -> None:
    """The API says where they are, and serves them once they were carried over as docs/vantages.md says."""
    files = system.get(f"{campaign}/artifacts")["items"]
    assert {item["vantage"] for item in files} == {"elsewhere"}
    place = f"/artifacts/{next(item['id'] for item in files if item['kind'] == 'pcap')}"
    away = system.http.get(place)
    assert away.status_code == 410
    assert "vantage 'elsewhere'" in away.json()["detail"]
    with tempfile.TemporaryDirectory() as folder:
        system.manual("captures-out", Path(folder), "vantages.md", elsewhere=True)
        system.manual("captures-in", Path(folder), "vantages.md")
    here = system.http.get(place)
    assert here.status_code == 200, here.text
    assert here.content[:4] in {b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"}, "a pcap with nanoseconds"


def demo_id(system: System) -> str:
    found: str = next(item["id"] for item in system.get("/campaigns")["items"] if item["name"] == "demo")
    return found
