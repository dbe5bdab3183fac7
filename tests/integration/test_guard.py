"""Names that lead inside, asked of a real DNS by the system's own resolver, and answers that change in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lastbyte.adapters.command_line import command_line
from lastbyte.adapters.resolver import HostResolver
from lastbyte.domain.addresses import AddressRule
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.trial import FailureKind
from lastbyte.services.link import Link
from lastbyte.services.measure_cell import Bench, measure_cell
from lastbyte.wiring import clients
from tests.fakes.dns import DnsServer
from tests.fakes.measuring import FakePathFactory, FakeRunner, FakeStore, plan

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace with an own resolv.conf needs root")

PUBLIC = "1.1.1.1"
"""Never connected to here: only names are asked for."""

ANSWERS = {
    "public.guard.example": [[PUBLIC, "2606:4700::1111"]],
    "private.guard.example": [["10.0.0.7"]],
    "loopback.guard.example": [["127.0.0.1"]],
    "metadata.guard.example": [["169.254.169.254"]],
    "mapped.guard.example": [["::ffff:10.0.0.7"]],
    "nat64.guard.example": [["64:ff9b::a00:7"]],
    "sixtofour.guard.example": [["2002:a00:7::1"]],
    "ula.guard.example": [["fd00:ec2::254"]],
    "mixed.guard.example": [[PUBLIC, "192.168.1.1"]],
    "rebinding.guard.example": [[PUBLIC], ["127.0.0.1"]],
}

# Runs in a mount namespace of its own, where /etc/resolv.conf is another file.
ASK = """
import json, subprocess, sys
from lastbyte.adapters.resolver import HostResolver
from lastbyte.domain.addresses import AddressRule
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import LastbyteError
subprocess.run(["mount", "--bind", sys.argv[1], "/etc/resolv.conf"], check=True)
resolver = HostResolver(rule=AddressRule.parse(sys.argv[2]))
found = []
for host in sys.argv[3:]:
    try:
        found.append(resolver.resolve(Endpoint(host, "p", f"https://{host}/x", "")).address)
    except LastbyteError as exc:
        found.append(f"{type(exc).__name__}: {exc}")
print(json.dumps(found))
"""


def ask(tmp_path: Path, server: DnsServer, *hosts: str, allowed: str = "") -> list[str]:
    conf = tmp_path / "resolv.conf"
    conf.write_text(f"nameserver {server.address}\noptions timeout:2 attempts:1\n")
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", ASK, str(conf), allowed, *hosts]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def test_names_that_lead_inside_are_refused(tmp_path: Path) -> None:
    with DnsServer(ANSWERS) as server:
        hosts = [host for host in ANSWERS if not host.startswith(("public", "rebinding"))]
        public, *refused = ask(tmp_path, server, "public.guard.example", *hosts)
        assert public == PUBLIC
        for host, said in zip(hosts, refused, strict=True):
            assert said.startswith("AddressRefused: "), (host, said)
        reasons = dict(zip(hosts, refused, strict=True))
        assert "(IPv4-mapped)" in reasons["mapped.guard.example"] or "(private)" in reasons["mapped.guard.example"]
        assert "metadata" in reasons["metadata.guard.example"]
        assert "192.168.1.1" in reasons["mixed.guard.example"]
        (allowed,) = ask(tmp_path, server, "private.guard.example", allowed="10.0.0.0/24")
        assert allowed == "10.0.0.7"


def test_each_check_sees_the_answer_of_its_own_moment(tmp_path: Path) -> None:
    """At creation the name is public, at the worker it leads inside: the worker's own check refuses it."""
    with DnsServer(ANSWERS) as server:
        at_creation, at_worker = ask(tmp_path, server, "rebinding.guard.example", "rebinding.guard.example")
        assert at_creation == PUBLIC
        assert at_worker.startswith("AddressRefused: rebinding.guard.example leads to 127.0.0.1 (loopback)")
        assert len(server.asked) == 2


def test_the_checked_address_is_the_one_that_clients_connect_to() -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]])
    asked: list[str] = []

    def rebinding(host: str, _port: int) -> list[tuple[int, str]]:
        asked.append(host)
        return [(2, address) for address in next(answers)]

    resolver = HostResolver(lookup=rebinding, rule=AddressRule())  # type: ignore[arg-type]
    target = resolver.resolve(Endpoint("e", "p", "https://rebinding.guard.example/x", ""))
    assert target.address == PUBLIC
    for client in clients():
        words = command_line(client, target, 60.0, 20.0)
        assert any(PUBLIC in word for word in words), client.id
        assert not {"-L", "--location", "--location-trusted", "--alt-svc"} & set(words), client.id
    assert asked == ["rebinding.guard.example"]


def test_a_refused_host_becomes_stored_failures_and_nothing_is_started() -> None:
    cell = plan(rounds=1)
    inside = replace(cell.endpoint, url="https://inside.example/x", origin=Origin.PRODUCTION)
    store, runner = FakeStore(replace(cell, endpoint=inside)), FakeRunner()
    resolver = HostResolver(lookup=lambda _h, _p: [(2, "169.254.169.254")], rule=AddressRule())  # type: ignore[list-item]
    bench = Bench(Link(FakePathFactory()), runner, resolver, threading.Event())
    assert measure_cell(7, "w", store, bench, 20.0)
    failures = [trial.observation.failure for trial in store.trials.values()]
    assert [failure.kind for failure in failures if failure] == [FailureKind.NOT_ALLOWED] * 4
    assert runner.runs == []
    assert store.reserved == 0
