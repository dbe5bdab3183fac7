"""Keys over REST, their rates in a real Valkey, the command line that makes them, and starts that are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from lastbyte.services.access import new_key
from lastbyte.settings import KeysWanted, Settings
from tests.integration.api.conftest import serving

OWN_KEY = new_key()
EVERYWHERE = "0.0.0.0"  # noqa: S104 - never bound: the start is refused
CAMPAIGN = {"endpoints": ["testbed-caddy-100KB"], "profiles": ["baseline"], "clients": ["curl-quiche"], "rounds": 1}


@pytest.fixture
def guarded_url(database_url: str, embedded_valkey_url: str) -> Iterator[str]:
    config = Settings(
        database_url=database_url,
        broker_url=embedded_valkey_url,
        keys=KeysWanted.REQUIRED,
        api_key=SecretStr(OWN_KEY),
        rate_limit_per_minute=50,
    )
    with serving(config) as url:
        yield f"{url}/api/v1"


def lastbyte_key(database_url: str, *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("lastbyte")), "key", *arguments, "--database-url", database_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ask(url: str, key: str = "", method: str = "GET", **arguments: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.request(method, url, headers=headers, timeout=30, **arguments)  # type: ignore[arg-type]


def test_scopes_expiry_and_revocation(guarded_url: str, database_url: str) -> None:
    nobody = ask(f"{guarded_url}/campaigns")
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    assert nobody.headers["Content-Type"] == "application/problem+json"
    assert ask(f"{guarded_url}/campaigns", new_key()).status_code == 401
    assert ask(f"{guarded_url}/healthz").status_code == 200

    reader = lastbyte_key(database_url, "create", "reader")
    maker = lastbyte_key(database_url, "create", "maker", "--scope", "schedule", "--expires", "90d")
    assert ask(f"{guarded_url}/campaigns", reader).status_code == 200
    refused = ask(f"{guarded_url}/campaigns", reader, "POST", json=CAMPAIGN)
    assert (refused.status_code, "scope schedule" in refused.json()["detail"]) == (403, True)
    made = ask(f"{guarded_url}/campaigns", maker, "POST", json=CAMPAIGN)
    assert made.status_code == 201, made.text
    ident = made.json()["id"]
    assert ask(f"{guarded_url}/campaigns/{ident}/cancel", maker, "POST").status_code == 200
    assert ask(f"{guarded_url}/campaigns/{ident}", maker, "DELETE").status_code == 403
    assert ask(f"{guarded_url}/campaigns/{ident}", OWN_KEY, "DELETE").status_code == 204

    listed = {key["name"]: key for key in json.loads(lastbyte_key(database_url, "list", "--json"))}
    assert listed["maker"]["last_used_at"] is not None
    assert listed["maker"]["expires_at"] is not None
    assert maker not in json.dumps(listed)
    assert "lb_" in lastbyte_key(database_url, "list")

    unseen = lastbyte_key(database_url, "create", "leaked")
    lastbyte_key(database_url, "revoke", "leaked")
    assert ask(f"{guarded_url}/campaigns", unseen).status_code == 401


def test_a_key_is_limited_and_told_so(guarded_url: str, database_url: str) -> None:
    slow = lastbyte_key(database_url, "create", "slow", "--rate", "5")
    answers = [ask(f"{guarded_url}/profiles", slow) for _ in range(8)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 3
    assert answers[0].headers["RateLimit-Policy"] == '"key";q=5;w=60'
    assert answers[0].headers["RateLimit"].startswith('"key";r=4;t=')
    last = answers[-1]
    assert 1 <= int(last.headers["Retry-After"]) <= 60
    assert last.json()["type"] == "urn:lastbyte:problem:too-many-requests"
    assert ask(f"{guarded_url}/profiles", OWN_KEY).status_code == 200


def test_other_ports_need_admin_and_inside_addresses_are_refused(guarded_url: str, database_url: str) -> None:
    maker = lastbyte_key(database_url, "create", "maker", "--scope", "schedule")
    other_port = {**CAMPAIGN, "endpoints": ["https://no-such-host.invalid:8443/x"]}
    refused = ask(f"{guarded_url}/campaigns", maker, "POST", json=other_port)
    assert (refused.status_code, "port 8443" in refused.json()["detail"]) == (403, True)
    (fault,) = refused.json()["errors"]
    assert (fault["field"], "admin" in fault["remedy"]) == ("endpoints.0", True)
    assert ask(f"{guarded_url}/campaigns", OWN_KEY, "POST", json=other_port).status_code == 201
    schedule = {"name": "s", "cron": "0 3 * * *", "template": other_port, "enabled": False}
    assert ask(f"{guarded_url}/schedules", maker, "POST", json=schedule).status_code == 403

    for host in ("127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "localhost"):
        inside = {**CAMPAIGN, "endpoints": ["testbed-caddy-1MB", f"https://{host}/x"]}
        answer = ask(f"{guarded_url}/campaigns", OWN_KEY, "POST", json=inside)
        assert answer.status_code == 422, (host, answer.text)
        assert answer.json()["errors"][0]["field"] == "endpoints.1"


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        (["-m", "api"], {"LASTBYTE_API_HOST": EVERYWHERE}, "there is none, but the API would listen on 0.0.0.0"),
        (
            ["-m", "uvicorn", "--factory", "api.app:create_app", "--host", EVERYWHERE],
            {},
            "there is none, but the API would listen on 0.0.0.0",
        ),
        (["-m", "api"], {"LASTBYTE_API_HOST": EVERYWHERE, "LASTBYTE_KEYS": "off"}, "LASTBYTE_KEYS: is off"),
    ],
)
def test_a_start_that_others_reach_without_keys_is_refused(
    database_url: str, embedded_valkey_url: str, command: list[str], more: dict[str, str], said: str
) -> None:
    stores = {"LASTBYTE_DATABASE_URL": database_url, "LASTBYTE_BROKER_URL": embedded_valkey_url}
    environment = {**os.environ, **stores, **more}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode != 0
    assert said in done.stderr
    assert "lastbyte key create" in done.stderr
