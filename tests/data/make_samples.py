"""Writes the sample folders beside this file. Their numbers are made up here, none was measured.

Run ``python tests/data/make_samples.py`` to write them anew; the tests check that they are what this writes.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent

NETWORKS = {
    "loss-0_delay-0_bw-10": 0.0,
    "loss-0dot1_delay-0_bw-10": 2.0,
    "loss-1_delay-0_bw-10": 30.0,
    "loss-0_delay-50_bw-10": -10.0,
    "loss-0_delay-100_bw-10": -16.0,
}
"""Network -> by how many percent H3 differs from H2 there (before the provider's share)."""

PROVIDERS = {"cloudflare": 1.0, "facebook": 0.5, "google": -0.5}
SIZES = {"100KB": 150.0, "1MB": 950.0, "5MB": 4300.0}
"""Size -> H2's time in ms on the clear link."""

CLIENTS = {"chrome_h2": 1.0, "curl_h2": 1.02, "chrome_h3": 1.0, "ngtcp2_h3": 1.01, "proxygen_h3": 1.04}
"""Client -> factor on its protocol's time."""

SPREAD_PCT = (-1.0, -0.6, -0.3, -0.1, 0.0, 0.1, 0.2, 0.4, 0.6, 0.7)
"""Ten times per file, by how many percent they lie beside the middle; they add up to zero."""

DELAYS = {0: (5, 2), 10: (15, 2)}
"""Delay in ms -> threshold and deviation of the ping gate."""

PHASES_MS = {"quic": (20.0, 2.0, 8.0, 10_012.0), "tcp": (10.0, 1.0, 1.5, 3.0)}
"""Protocol -> handshake, secure to data, data to streamEnd, streamEnd to socketClose on the clear link, in ms."""

STEPS_MS = (-2, -1, 0, 1, 2)
"""Five samples: each phase lies so many ms (handshake, close) or half as many (the others) beside the middle."""


def times_ms(network: str, provider: str, size: str, client: str) -> list[float]:
    """The times of one file."""
    delay_ms = float(network.split("delay-")[1].split("_", maxsplit=1)[0])
    base = SIZES[size] + 3 * delay_ms
    effect = NETWORKS[network] * PROVIDERS[provider] if client.endswith("h3") else 0.0
    middle = base * (1 + effect / 100) * CLIENTS[client]
    return [round(middle * (1 + spread / 100), 3) for spread in SPREAD_PCT]


def timings() -> dict[str, str]:
    """Path -> content of the folder ``timings``."""
    return {
        f"timings/{network}/{provider}/{size}/{client}.json": json.dumps(times_ms(network, provider, size, client))
        + "\n"
        for network in NETWORKS
        for provider in PROVIDERS
        for size in SIZES
        for client in CLIENTS
    }


def sockets() -> dict[str, str]:
    """Path -> content of the folder ``sockets``."""
    files = {}
    for delay, (threshold, deviation) in DELAYS.items():
        for protocol, phases in PHASES_MS.items():
            for number, step in enumerate(STEPS_MS):
                begin = datetime(2021, 3, 8, 8, 20 + number, tzinfo=UTC)
                folder = f"sockets/samples_threshold{threshold}_dev{deviation}_delay{delay}/{protocol}/remote/"
                folder += begin.strftime("%Y-%m-%d %H-%M-%S.000000")
                files[f"{folder}/{protocol}-benchmark-server.json"] = _server(begin, phases, delay, step, number)
                ready = begin - timedelta(milliseconds=30)
                client = {"ready": _iso(ready), "writeToServer": _iso(begin), "error": ""}
                files[f"{folder}/{protocol}-benchmark-client.json"] = json.dumps(client) + "\n"
                files[f"{folder}/ping.json"] = json.dumps({"mean": 3.2, "stdev": 0.9}) + "\n"
    return files


def _server(secure: datetime, phases: tuple[float, ...], delay: int, step: int, number: int) -> str:
    handshake, wait, transfer, close = phases
    data = secure + timedelta(milliseconds=wait + delay / 10 + step / 2)
    end = data + timedelta(milliseconds=transfer + delay + step / 2)
    closed = end + timedelta(milliseconds=close + delay + step)
    handshake_ns = round((handshake + delay + step) * 1e6)
    document = {
        "events": {
            "listening": _iso(secure - timedelta(seconds=4)),
            "session": _iso(secure - timedelta(milliseconds=7)),
            "keylog": _iso(secure - timedelta(milliseconds=3)),
            "secure": _iso(secure),
            "data": _iso(data),
            "streamEnd": _iso(end),
            "streamClose": _iso(closed),
            "socketClose": _iso(closed),
        },
        # node.js wrote it now as text, now as a number
        "durations": {"handshakeDurationInNs": str(handshake_ns) if number % 2 else handshake_ns},
    }
    return json.dumps(document) + "\n"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def main() -> None:
    """Write all files."""
    for path, content in (timings() | sockets()).items():
        file = HERE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
