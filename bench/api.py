"""Requests a second of a cached heatmap and of GET /campaigns, beside a bare FastAPI route and beside pgbench.

All in one run on one machine: a loop over keep-alive connections that costs some 30 microseconds a request; the queries
are those that PostgreSQL's own statement log shows for the request.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import create_engine, text

from bench.many_trials import campaign_id, fill
from bench.serving import serving, serving_api
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import DATABASE, SUPERUSER, Postgres
from lastbyte.embedded.running import running_postgres
from migrations.run import upgrade

CONNECTIONS = 4
SECONDS = 6.0
CAMPAIGNS = 3

_SAME_QUERY = """
SELECT campaigns.state,
       (SELECT format('%s %s %s', count(*), sum(version), sum(hashtextextended(cells.state, cells.id)))
          FROM cells WHERE campaign_id = campaigns.id)
  FROM campaigns WHERE id = '{ident}';
"""


def run() -> dict[str, Any]:
    """Rates, and their ratios to the bare route."""
    with tempfile.TemporaryDirectory(prefix="lb-") as name:
        folder = Path(name)
        with running_postgres(Postgres.under(folder), folder / "postgres.log") as server:
            server.ensure_database()
            url = server.url()
            upgrade(url)
            engine = make_engine(url)
            fill(engine, CAMPAIGNS)
            engine.dispose()
            small = _small_campaign(url)
            with serving("bench.bare:app", {}) as bare, serving_api(url) as api:
                rates = {
                    "bare": _rate(f"{bare}/bare"),
                    "heatmap": _rate(f"{api}/api/v1/campaigns/{small}/heatmap"),
                    "campaigns": _rate(f"{api}/api/v1/campaigns?limit=20"),
                    "bare again": _rate(f"{bare}/bare"),
                }
            rates["pgbench"] = _pgbench(server, _SAME_QUERY.format(ident=small), folder)
    bare_rate = (rates["bare"] + rates["bare again"]) / 2
    for what, rate in rates.items():
        print(f"{what:<12} {rate:8.0f} requests/s, {100 * rate / bare_rate:5.0f} % of the bare route")
    return {
        "goals": [
            {"what": f"bare route over {what}", "value": bare_rate / rates[what], "at_most": 1 / 0.4}
            for what in ("heatmap", "campaigns")
        ],
        "requests_per_s": rates,
    }


def _small_campaign(url: str) -> str:
    """A campaign cut down to the 9 cells of the demo."""
    ident = str(campaign_id(0))
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM cells WHERE campaign_id = :id AND position >= 9"), {"id": ident})
    engine.dispose()
    return ident


def _rate(url: str) -> float:
    """Answers a second over ``CONNECTIONS`` connections."""
    _client(url, time.monotonic() + 1.0)  # warm
    ends = time.monotonic() + SECONDS
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(_client(url, ends)), daemon=True) for _ in range(CONNECTIONS)
    ]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(counts) < CONNECTIONS:
        raise RuntimeError(f"{url} did not answer as it should")
    return sum(counts) / (time.monotonic() - started)


def _client(url: str, ends: float) -> int:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    count = 0
    with socket.create_connection((parts.hostname or "", parts.port or 80)) as connection:
        while time.monotonic() < ends:
            connection.sendall(request)
            _read_answer(connection)
            count += 1
    return count


def _read_answer(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            raise RuntimeError("the server closed the connection")
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.splitlines()[0].decode())
    lengths = [line.split(b":")[1] for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    left = int(lengths[0]) - len(body)
    while left > 0:
        left -= len(connection.recv(min(left, 65536)))


def _pgbench(server: Postgres, query: str, folder: Path) -> float:
    script = folder / "query.sql"
    script.write_text(query, encoding="utf-8")
    argv = [str(server.program.path.with_name("pgbench")), "--no-vacuum", f"--file={script}", "--protocol=prepared"]
    argv += [f"--client={CONNECTIONS}", f"--time={SECONDS:.0f}", f"--host={server.socket_folder}", "-U", SUPERUSER]
    done = subprocess.run([*argv, DATABASE], capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("tps =")]
    return float(line.split()[2])
