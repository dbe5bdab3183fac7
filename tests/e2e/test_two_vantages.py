"""Two workers in network namespaces that have nothing in common but a wire to the database and broker each, with TLS.

Neither sees the servers' folder (a file system of its own lies over it), and neither has a route to the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
import pytest

from bench.serving import free_port, serving_api
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.running import running_postgres
from lastbyte.embedded.valkey import Valkey
from migrations.run import upgrade

ROLE = Path(__file__).parent.parent.parent / "deploy" / "vantage-role.sql"
"""What docs/vantages.md has people run."""

PLACES = {"oslo": "10.77.1", "lima": "10.77.2"}
PASSWORD = "tested-and-thrown-away"  # noqa: S105 - lives as long as the test
CELLS = {
    "endpoints": ["testbed-caddy-100KB"],
    "profiles": ["baseline"],
    "clients": ["curl-quiche"],
    "rounds": 2,
}


T = TypeVar("T")


@dataclass
class Servers:
    """Database and broker as two machines see them: TLS on port 5432 and 6379 of their own gateway."""

    database_url: str
    broker_url: str
    certificate: Path
    key: Path
    database_port: str
    broker_port: str

    def urls(self, net: str) -> dict[str, str]:
        """What docs/vantages.md tells people to set."""
        return {
            "LASTBYTE_DATABASE_URL": f"postgresql+psycopg://vantage:{PASSWORD}@{net}.1:5432/lastbyte"
            f"?sslmode=verify-full&sslrootcert={self.certificate}&sslnegotiation=direct",
            "LASTBYTE_BROKER_URL": f"rediss://:{PASSWORD}@{net}.1:6379/0"
            f"?ssl_cert_reqs=required&ssl_ca_certs={self.certificate}",
        }


@contextmanager
def running(argv: list[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def place(net: str, hidden: Path, log: Path) -> Iterator[list[str]]:
    """A network namespace with one wire, whose end out here is ``net.1``; gives the prefix that enters it."""
    with running(["unshare", "--net", "--mount", "sleep", "infinity"], log) as holder:
        outside, inside = f"lbt{net.rsplit('.', 1)[1]}", "wire"
        enter = ["nsenter", f"--target={holder.pid}", "--net", "--mount"]
        deadline = time.monotonic() + 10
        while Path(f"/proc/{holder.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for command in (
            ["ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", str(holder.pid)],
            ["ip", "address", "add", f"{net}.1/30", "dev", outside],
            ["ip", "link", "set", outside, "up"],
            [*enter, "ip", "address", "add", f"{net}.2/30", "dev", inside],
            [*enter, "ip", "link", "set", inside, "up"],
            [*enter, "ip", "link", "set", "lo", "up"],
            [*enter, "mount", "-t", "tmpfs", "tmpfs", str(hidden)],
        ):
            subprocess.run(command, check=True, capture_output=True)
        yield enter


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    folder = tmp_path / "servers"
    folder.mkdir()
    certificate, key = tmp_path / "server.crt", tmp_path / "server.key"
    names = ",".join(f"IP:{net}.1" for net in PLACES.values())
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=lastbyte test", "-addext", f"subjectAltName={names}"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    hba = folder / "pg_hba.conf"
    hba.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
    database_port, broker_port = str(free_port()), str(free_port())
    settings = {"listen_addresses": "127.0.0.1", "port": database_port, "hba_file": str(hba)}
    postgres, valkey = Postgres.under(folder, settings), Valkey.under(folder)
    valkey.prepare()
    listening = ["--port", broker_port, "--bind", "127.0.0.1", "--requirepass", PASSWORD]
    with ExitStack() as stack:
        stack.enter_context(running_postgres(postgres, folder / "postgres.log"))
        stack.enter_context(running([*valkey.command(), *listening], folder / "valkey.log"))
        at = {"host": str(postgres.socket_folder), "port": database_port, "user": "postgres"}
        with psycopg.connect(**at, dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE lastbyte")
        url = f"{postgres.url()}&port={database_port}"
        upgrade(url)
        with psycopg.connect(**at, dbname="lastbyte", autocommit=True) as connection:
            for statement in (ROLE.read_text().replace("CHOOSE-ONE", PASSWORD)).split(";"):
                connection.execute(statement.encode())
        broker_url = f"redis://:{PASSWORD}@127.0.0.1:{broker_port}/0"
        yield Servers(url, broker_url, certificate, key, database_port, broker_port)


@contextmanager
def vantage(name: str, servers: Servers, folder: Path, hidden: Path) -> Iterator[list[str]]:
    """A machine with a worker and an origin of its own; gives the prefix that enters it."""
    net, var = PLACES[name], folder / name
    (var / "log").mkdir(parents=True)
    environment = {**servers.urls(net), "LASTBYTE_VANTAGE": name, "LASTBYTE_VAR": str(var)}
    front = [sys.executable, "-m", "tests.tls_front", str(servers.certificate), str(servers.key)]
    log = var / "log" / "all.log"
    with ExitStack() as stack:
        enter = stack.enter_context(place(net, hidden, log))
        for port, target, alpn in (("5432", servers.database_port, ["postgresql"]), ("6379", servers.broker_port, [])):
            stack.enter_context(running([*front, f"{net}.1:{port}", f"127.0.0.1:{target}", *alpn], log))
        stack.enter_context(running([*enter, sys.executable, "-m", "testbed"], log, **environment))
        stack.enter_context(running([*enter, sys.executable, "-m", "worker"], log, **environment))
        yield enter


def test_two_machines_with_nothing_in_common_measure_for_one_system(servers: Servers, tmp_path: Path) -> None:
    hidden = tmp_path / "servers"
    with ExitStack() as stack:
        api = stack.enter_context(serving_api(servers.database_url, servers.broker_url))
        http = stack.enter_context(httpx.Client(base_url=f"{api}/api/v1", timeout=30))
        machines = {name: stack.enter_context(vantage(name, servers, tmp_path, hidden)) for name in PLACES}
        listed = until(lambda: (found := _vantages(http)).keys() == PLACES.keys() and found, 90, tmp_path)
        assert [len(seen["workers"]) for seen in listed.values()] == [1, 1]
        made = {name: http.post("/campaigns", json={**CELLS, "name": name, "vantage": name}) for name in PLACES}
        assert [answer.status_code for answer in made.values()] == [201, 201], [a.text for a in made.values()]
        for name, answer in made.items():
            ident = answer.json()["id"]
            until(lambda at=f"/campaigns/{ident}": http.get(at).json()["state"] == "done", 120, tmp_path)
            trials = http.get(f"/campaigns/{ident}/trials").json()["items"]
            assert {trial["outcome"] for trial in trials} == {"ok"}, name
            assert len(trials) == 2 * 3
        _are_apart(machines, servers)


def _are_apart(machines: dict[str, list[str]], servers: Servers) -> None:
    for name, other in (("oslo", "lima"), ("lima", "oslo")):
        url = servers.urls(PLACES[name])["LASTBYTE_DATABASE_URL"].replace("postgresql+psycopg", "postgresql")
        assert _connects(machines[name], url) == ""
        assert "password authentication failed" in _connects(machines[name], url.replace(PASSWORD, "guessed"))
        assert "certificate" in _connects(machines[name], url.replace(f"{servers.certificate}", "/etc/hostname"))
        elsewhere = _connects(machines[name], url.replace(PLACES[name], PLACES[other]))
        assert "unreachable" in elsewhere, "one place must not reach the other"


def _connects(enter: list[str], url: str) -> str:
    code = f"import psycopg; psycopg.connect({url!r}, connect_timeout=5)"
    done = subprocess.run([*enter, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr


def _vantages(http: httpx.Client) -> dict[str, dict[str, Any]]:
    return {seen["name"]: seen for seen in http.get("/vantages").json()["items"] if seen["alive"]}


def until(check: Callable[[], T], limit_s: float, folder: Path) -> T:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.3)
    logs = "\n".join(f"--- {log}\n{log.read_text(errors='replace')[-3000:]}" for log in folder.rglob("*.log"))
    raise AssertionError(f"waited {limit_s} s\n{logs}")
