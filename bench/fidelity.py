"""How true the link is: spread of TTLB, round-trip times, and round trips per handshake."""

from __future__ import annotations

import statistics
import threading
from typing import Any

import numpy as np

from lastbyte import wiring
from lastbyte.domain.client import expand_clients
from lastbyte.services.one_shot import OneShot, measure

ROUNDS = 20
SPREAD_GOAL_PCT = 1.0
PROVIDERS = {"testbed-caddy": 10.0, "testbed-nginx": 20.0, "testbed-haproxy": 40.0}
ROUND_TRIPS = {"curl-quiche-h2": 2, "curl-quiche-h3": 1, "curl-ngtcp2-h3": 1}


def run() -> dict[str, Any]:
    """1 MB at 10 Mbit/s, baseline, 20 rounds per provider; and RTTs over the profiles."""
    goals: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    stop = threading.Event()
    clients = tuple(expand_clients(["curl-quiche", "curl-ngtcp2"], wiring.clients()))
    profiles = wiring.profiles()
    endpoints = {name: wiring.endpoint_of(f"https://{name}.test/1MB.bin") for name in PROVIDERS}
    print(
        "| provider (base RTT) | client | median TTLB | p95 - p5 | handshake | round trips (expected) | drops in | n |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with wiring.testbed_for(endpoints["testbed-caddy"]), wiring.bench(stop, "auto") as bench:
        for name, base_rtt_ms in PROVIDERS.items():
            job = OneShot(endpoints[name], (profiles["baseline"],), clients, ROUNDS, seed=1)
            result = measure(job, bench, lambda _profile, _trial: None)[0]
            for client in clients:
                ttlb_ms = [seconds * 1000 for seconds in result.ttlb_s(client.id).values()]
                timings = [t.observation.timings for t in result.counted(client.id)]
                handshakes_ms = [t.handshake_s * 1000 for t in timings if t and t.handshake_s is not None]
                p5, median, p95 = np.percentile(ttlb_ms, [5, 50, 95])
                row = {
                    "provider": name,
                    "client": client.id,
                    "n": len(ttlb_ms),
                    "median_ttlb_ms": median,
                    "spread_pct": (p95 - p5) / median * 100,
                    "handshake_ms": statistics.median(handshakes_ms),
                    "trials_with_drops": sum(
                        t.proof is not None and t.proof.downlink.dropped_packets > 0 for t in result.counted(client.id)
                    ),
                    "round_trips": statistics.median(handshakes_ms) / base_rtt_ms,
                }
                rows.append(row)
                spread = f"{row['spread_pct']:.2f} %{' (missed)' if row['spread_pct'] > SPREAD_GOAL_PCT else ''}"
                print(
                    f"| {name} ({base_rtt_ms:g} ms) | {client.id} | {median:.1f} ms | {spread} | "
                    f"{row['handshake_ms']:.1f} ms | {row['round_trips']:.2f} ({ROUND_TRIPS[client.id]}) | "
                    f"{row['trials_with_drops']} | {row['n']} |"
                )
                goals.append(
                    {"what": f"spread {name} {client.id} %", "value": row["spread_pct"], "at_most": SPREAD_GOAL_PCT}
                )
        for profile in (item for item in profiles.values() if item.group == profiles["baseline"].group):
            for base_rtt_ms in (0.0, *PROVIDERS.values()):
                probe = bench.link.shape(profile, base_rtt_ms)
                error_ms = abs(statistics.median(probe.samples_ms) - probe.requested_ms)
                rows.append({"profile": profile.name, "requested_ms": probe.requested_ms, "error_ms": error_ms})
                goals.append(
                    {"what": f"RTT error {profile.name}+{base_rtt_ms:g} ms", "value": error_ms, "at_most": 1.0}
                )
        errors = [row["error_ms"] for row in rows if "error_ms" in row]
        print(
            f"RTT achieved minus requested over {len(errors)} settings: median {np.median(errors):.2f} ms, "
            f"largest {max(errors):.2f} ms"
        )
    return {"goals": goals, "rows": rows}
