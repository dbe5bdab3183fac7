"""Fills a database with campaigns as years of nights leave them: made-up times, real rows, by COPY, resumable.

A campaign is a night: 250 cells (25 endpoints x 10 profiles) of two arms with 20 rounds, the warm-up counted in:
10,000 trials. Campaigns are spread evenly over a year that ends now; the first 25 x 10 cells repeat in each, as a
schedule's do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import psycopg
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from lastbyte.adapters.postgres import codec
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import DirectionCounters, LinkProof
from lastbyte.ports import CellProof, RttProbe
from lastbyte.wiring import clients

ENDPOINTS, PROFILES, ROUNDS = 25, 10, 20
ARMS = ("curl-quiche-h2", "curl-quiche-h3")
CELLS = ENDPOINTS * PROFILES
TRIALS = CELLS * ROUNDS * len(ARMS)
NAMESPACE = UUID("2f2bd1c2-6a3f-4b58-9d0a-7a3c55d0f5a1")

_KINDS = 64
"""Different cells; more would say nothing new and take longer to draw."""

_COLUMNS = (
    "campaign_id, cell_id, client_id, round_index, position, started_at, outcome, handshake_s, ttfb_s, ttlb_s,"
    " elapsed_s, exit_code, http_status, http_version, body_bytes, remote_address, headers, proof, stored_at"
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rows of one cell, with ``@`` marks for what differs between cells of the same kind."""

    trials: bytes
    rollups: tuple[bytes, ...]


def campaign_id(number: int) -> UUID:
    """Id of a campaign of ours."""
    return uuid5(NAMESPACE, str(number))


def fill(engine: Engine, campaigns: int, nights: int | None = None) -> int:
    """Bring the number of campaigns up to ``campaigns``, each in a transaction; gives how many were added.

    ``nights``: how many share the year, when they are added bit by bit.
    """
    arms = [client for client in clients() if client.id in ARMS]
    places, shapes = endpoints(), profiles()
    PostgresCatalogue(engine).sync(places, shapes, arms)
    kinds = [_kind(arms, random.Random(number)) for number in range(_KINDS)]  # noqa: S311 - made-up times
    plan = _Plan(arms, places, shapes)
    end = datetime.now(UTC)
    raw = engine.raw_connection()
    try:
        connection: psycopg.Connection[Any] = raw.driver_connection  # type: ignore[assignment]
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET session_replication_role = replica")  # what refers to what is known to be right
        for month in range(13):
            connection.execute("SELECT make_trial_partition(%s)", [end - timedelta(days=30.4 * month)])
        connection.commit()
        known = {row[0] for row in connection.execute("SELECT id FROM campaigns")}
        missing = [number for number in range(campaigns) if campaign_id(number) not in known]
        for number in missing:
            night = end - timedelta(days=365 * (1 - number / (nights or campaigns)))
            _add(connection, plan, number, night, kinds)
            connection.commit()
        return len(missing)
    finally:
        raw.close()


@dataclass(frozen=True, slots=True)
class _Plan:
    arms: list[Client]
    endpoints: list[Endpoint]
    profiles: list[Profile]


def _add(connection: psycopg.Connection[Any], plan: _Plan, number: int, night: datetime, kinds: list[_Kind]) -> None:
    ident = campaign_id(number)
    connection.execute(
        "INSERT INTO campaigns (id, name, state, endpoint_ids, profile_names, rounds, seed, vantage, timeout_s,"
        " labels, created_at, started_at, finished_at)"
        " VALUES (%s, %s, 'done', %s, %s, %s, 1, 'local', 60, '{nightly}', %s, %s, %s)",
        [
            ident,
            f"night {number}",
            [e.id for e in plan.endpoints],
            [p.name for p in plan.profiles],
            ROUNDS - 1,
            night,
            night,
            night + timedelta(hours=2),
        ],
    )
    connection.cursor().executemany(
        "INSERT INTO campaign_arms (campaign_id, client_id, position, client) VALUES (%s, %s, %s, %s)",
        [(ident, arm.id, place, Jsonb(codec.client_to_json(arm))) for place, arm in enumerate(plan.arms)],
    )
    cells = connection.execute(
        "SELECT nextval(pg_get_serial_sequence('cells', 'id')) FROM generate_series(1, %s)", [CELLS]
    ).fetchall()
    ids = [int(row[0]) for row in cells]
    with connection.cursor().copy(
        "COPY cells (id, campaign_id, endpoint_id, profile_name, vantage, position, endpoint, profile, state,"
        " trials_planned, trials_done, busy_s, version, proof, started_at, finished_at) FROM STDIN"
    ) as copy:
        for row in _cells(plan, ident, ids, night):
            copy.write_row(row)
    chosen = random.Random(number).choices(kinds, k=CELLS)  # noqa: S311 - made-up times
    with connection.cursor().copy(f"COPY trials ({_COLUMNS}) FROM STDIN") as copy:
        at, campaign = night.isoformat().encode(), str(ident).encode()
        for cell_id, kind in zip(ids, chosen, strict=True):
            copy.write(
                kind.trials.replace(b"@campaign", campaign).replace(b"@cell", b"%d" % cell_id).replace(b"@at", at)
            )
    with connection.cursor().copy(
        "COPY cell_rollups (cell_id, client_id, rounds, kinds, ttlb_s, handshake_s, ttfb_s, elapsed_s, body_bytes,"
        " unproven, bodies, tls) FROM STDIN"
    ) as copy:
        for cell_id, kind in zip(ids, chosen, strict=True):
            for rollup in kind.rollups:
                copy.write(rollup.replace(b"@cell", b"%d" % cell_id))


def _cells(plan: _Plan, ident: UUID, ids: list[int], night: datetime) -> Iterator[tuple[Any, ...]]:
    rtt = RttProbe(20.0, tuple(20.0 + number / 100 for number in range(10)))
    argv = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{json}", "https://bench.test/1MB.bin"]
    proof = CellProof(
        box_kind="uml",
        address="10.200.1.1",
        resolution_s=0.001,
        rtt=rtt,
        commands={arm.id: argv for arm in plan.arms},
        machine={"kernel": "6.12"},
    )
    proof_json = Jsonb(codec.cell_proof_to_json(proof))
    pairs = [(endpoint, profile) for endpoint in plan.endpoints for profile in plan.profiles]
    endpoints = {endpoint.id: Jsonb(codec.endpoint_to_json(endpoint)) for endpoint in plan.endpoints}
    profiles = {profile.name: Jsonb(codec.profile_to_json(profile)) for profile in plan.profiles}
    for position, (cell_id, (endpoint, profile)) in enumerate(zip(ids, pairs, strict=True)):
        yield (
            cell_id,
            ident,
            endpoint.id,
            profile.name,
            "local",
            position,
            endpoints[endpoint.id],
            profiles[profile.name],
            "done",
            ROUNDS * len(ARMS),
            ROUNDS * len(ARMS),
            60.0,
            ROUNDS * len(ARMS) + 1,
            proof_json,
            night,
            night,
        )


_TLS = '"TLSv1.3 TLS_AES_128_GCM_SHA256 X25519MLKEM768"'


def _kind(arms: list[Client], draw: random.Random) -> _Kind:
    trials, rollups = [], []
    counters = DirectionCounters(780, 1_090_000, 7, 0)
    for place, arm in enumerate(arms):
        factor = draw.lognormvariate(0, 0.1)
        columns: list[list[str]] = [[] for _ in range(5)]
        for round_index in range(ROUNDS):
            handshake, wait, transfer = (s * draw.lognormvariate(0, 0.08) * factor for s in (0.03, 0.02, 0.4))
            failed = draw.random() < 0.02
            marks = [f"{value:.6f}" for value in (handshake, handshake + wait, handshake + wait + transfer)]
            shown = ["\\N"] * 3 if failed else marks
            outcome = "timeout" if failed else "ok"
            proof = codec.link_proof_to_json(LinkProof(counters, counters))
            trials.append(
                "\t".join(
                    (
                        *("@campaign", "@cell", arm.id, str(round_index), str(place), "@at", outcome, *shown, "0.6"),
                        *("28" if failed else "0", "\\N" if failed else "200", "2", "1000000", "10.200.1.1"),
                        '{"server": "bench", "content-type": "application/octet-stream"}',
                        _json(proof),
                        "@at",
                    )
                )
            )
            for column, value in zip(columns, (str(round_index), outcome, *shown), strict=True):
                column.append("NULL" if value == "\\N" else value)
        rounds, kinds, *times = ("{" + ",".join(column) + "}" for column in columns)
        handshakes, first_bytes, last_bytes = times
        same = [f"{{{','.join([text] * ROUNDS)}}}" for text in ("0.6", "1000000", '""', "22863e6d992c3984", _TLS)]
        rollups.append("\t".join(("@cell", arm.id, rounds, kinds, last_bytes, handshakes, first_bytes, *same)) + "\n")
    return _Kind(("\n".join(trials) + "\n").encode(), tuple(rollup.encode() for rollup in rollups))


def _json(value: object) -> str:
    import json  # noqa: PLC0415

    return json.dumps(value)


def endpoints() -> list[Endpoint]:
    return [
        Endpoint(
            id=f"testbed-bench{number % 5}-{number // 5 + 1}MB",
            provider=f"testbed-bench{number % 5}",
            url=f"https://testbed-bench{number % 5}.test/{number // 5 + 1}MB.bin",
            size_label=f"{number // 5 + 1}MB",
            origin=Origin.TESTBED,
            expected_bytes=(number // 5 + 1) * 1_000_000,
            base_rtt_ms=20.0,
        )
        for number in range(ENDPOINTS)
    ]


def profiles() -> list[Profile]:
    shapes = [Impairment(loss_pct=number / 2, rate_mbit_s=10) for number in range(PROFILES)]
    return [Profile(f"bench-loss-{number}", "made up", shape, shape) for number, shape in enumerate(shapes)]
