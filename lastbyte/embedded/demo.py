"""The campaign that a first start runs by itself, so that the dashboard has something true to show within minutes."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lastbyte.domain.errors import Unavailable

PROVIDERS = ("testbed-caddy", "testbed-haproxy")
"""The nearest and the farthest stand-in; a third one would take the demo past three minutes."""
SIZES = ("100KB", "1MB")
PROFILES = ("baseline", "loss-1", "delay-50")
CLIENTS = ("curl-quiche-h2", "curl-quiche-h3")
ROUNDS = 6
"""Rounds that count: the fewest that allow a verdict. With the warm-up round, 2 providers x 2 sizes x 3 profiles x
2 clients make 168 trials."""

_TIMEOUT_S = 10.0
_POLL_S = 1.0
_WORKER_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Rest:
    """The few calls of the REST API that are needed here, without a client library's import time."""

    port: int
    host: str = "127.0.0.1"
    key: str = ""
    """API key; empty where none is asked for."""

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """One request; Unavailable with the problem's own words when it is refused."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request(
                method,
                f"/api/v1{path}",
                body=json.dumps(body) if body is not None else None,
                headers={
                    "Content-Type": "application/json",
                    **({"Authorization": f"Bearer {self.key}"} if self.key else {}),
                },
            )
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(f"the API did not answer {method} {path}: {error}") from error
        finally:
            connection.close()
        if response.status >= http.client.BAD_REQUEST:
            raise Unavailable(f"{method} {path}: {answer.get('detail') or answer.get('title') or response.status}")
        found: dict[str, Any] = answer
        return found


def campaign_body(
    endpoints: Sequence[dict[str, Any]], profiles: Sequence[dict[str, Any]], clients: Sequence[str], rounds: int
) -> dict[str, Any]:
    """What to post: the testbed's small objects under three conditions, H2 against H3 by the same program.

    Raises Unavailable, saying what is missing, when there is nothing to compare.
    """
    wanted = [item["id"] for item in endpoints if item["provider"] in PROVIDERS and item["size_label"] in SIZES]
    if not wanted:
        raise Unavailable("the testbed offers no endpoints")
    conditions = [name for name in PROFILES if any(item["name"] == name for item in profiles)]
    missing = [name for name in CLIENTS if name not in clients]
    if missing:
        raise Unavailable(f"the worker has no {' and no '.join(missing)}; run: lastbyte setup")
    return {
        "name": "demo",
        "endpoints": wanted,
        "profiles": conditions,
        "clients": list(CLIENTS),
        "rounds": rounds,
        "seed": 1,
    }


def start(rest: Rest, rounds: int, say: Callable[[str], None]) -> str | None:
    """Post the demo campaign unless some campaign is there already; its id, or None."""
    if rest.call("GET", "/campaigns?limit=1")["items"]:
        return None
    clients = _clients_of_a_living_worker(rest)
    endpoints, profiles = rest.call("GET", "/endpoints")["items"], rest.call("GET", "/profiles")["items"]
    body = campaign_body(endpoints, profiles, clients, rounds)
    campaign = rest.call("POST", "/campaigns", body)
    say(f"demo campaign started: {campaign['trials_planned']} trials of the testbed over H2 and H3, about two minutes")
    ident: str = campaign["id"]
    return ident


def follow(rest: Rest, ident: str, say: Callable[[str], None], go_on: Callable[[], bool]) -> None:
    """Say when the first square of the heatmap is there and when the last one is."""
    began = time.monotonic()
    first = False
    while go_on():
        time.sleep(_POLL_S)
        try:
            campaign = rest.call("GET", f"/campaigns/{ident}")
        except Unavailable:
            continue  # the API is being started again
        if campaign["cells_done"] and not first:
            first = True
            say(f"demo campaign: first of {campaign['cells_planned']} cells after {time.monotonic() - began:.0f} s")
        if campaign["state"] in ("done", "cancelled"):
            say(
                f"demo campaign {campaign['state']} after {time.monotonic() - began:.0f} s: "
                f"{campaign['trials_done']} trials, {campaign['trials_failed']} of them failed"
            )
            return


def _clients_of_a_living_worker(rest: Rest) -> list[str]:
    deadline = time.monotonic() + _WORKER_PATIENCE_S
    while True:
        alive = [item for item in rest.call("GET", "/vantages")["items"] if item["alive"]]
        if alive:
            return [client["id"] for client in alive[0]["clients"]]
        if time.monotonic() > deadline:
            raise Unavailable("no worker has reported itself; see its log")
        time.sleep(0.1)
