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
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import create_engine, text

from bench.many_trials import campaign_id, fill
from bench.serving import serving, serving_api
from lastbyte.adapters.postgres.campaign_records import COLUMNS, WHOLE
from lastbyte.adapters.postgres.engine import make_engine
from lastbyte.embedded.postgres import DATABASE, SUPERUSER, Postgres
from lastbyte.embedded.running import running_postgres
from migrations.run import upgrade

CONNECTIONS = 4
SECONDS = 2.0
ROUNDS = 7
CAMPAIGNS = 3

_HEATMAP_QUERY = """
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
            with serving("bench.bare:app") as bare, serving_api(url) as api:
                urls = {
                    "bare": f"{bare}/bare",
                    "heatmap": f"{api}/api/v1/campaigns/{small}/heatmap",
                    "campaigns": f"{api}/api/v1/campaigns?limit=20",
                }
                for target in urls.values():
                    _client(target, time.monotonic() + 1.0)  # warm
                # in turns, so that what else runs on the machine meets all of them
                rounds = [{what: _rate(target) for what, target in urls.items()} for _ in range(ROUNDS)]
            in_pgbench = {what: _pgbench(server, query, folder) for what, query in _queries(small).items()}
    rates = {what: median(each[what] for each in rounds) for what in rounds[0]}
    shares = {what: median(each[what] / each["bare"] for each in rounds) for what in rounds[0]}
    for what, rate in rates.items():
        print(f"{what:<10} {rate:6.0f} requests/s, {100 * shares[what]:4.0f} % of the bare route (n={ROUNDS})")
    for what, rate in in_pgbench.items():
        print(f"{what:<34} {rate:6.0f} transactions/s in pgbench")
    return {
        "goals": [
            {"what": f"bare route over {what}", "value": 1 / shares[what], "at_most": 1 / 0.4}
            for what in ("heatmap", "campaigns")
        ],
        "requests_per_s": rates,
        "shares": shares,
        "pgbench_per_s": in_pgbench,
    }


def _queries(small: str) -> dict[str, str]:
    """What is asked for a heatmap in memory, for a list, and what counting the cells of that list anew would ask."""
    idents = ", ".join(f"'{campaign_id(number)}'" for number in range(CAMPAIGNS))
    return {
        "query of a cached heatmap": _HEATMAP_QUERY.format(ident=small),
        "query of GET /campaigns": f"""
            SELECT {COLUMNS}, (SELECT count(*) FROM campaigns) FROM campaigns
          ORDER BY created_at DESC, id DESC LIMIT 21;""",  # noqa: S608 - constants
        "the same, its cells counted anew": WHOLE.replace("%(ids)s", f"ARRAY[{idents}]::uuid[]") + ";",
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
