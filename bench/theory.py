"""Theory beside measurement: the least TTLB that is possible without loss, and what was measured."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

from lastbyte import wiring
from lastbyte.domain.client import Client, Protocol, expand_clients
from lastbyte.domain.profile import Profile
from lastbyte.services.one_shot import OneShot, measure
from lastbyte.settings import var_dir
from lastbyte.stats.ideal import IdealLink, Sender, h2_floor_s, h3_floor_s
from testbed.catalogue import PROVIDERS
from testbed.configs import Layout

ROUNDS = 5
SIZES = ("100KB", "1MB")
PROFILES = ("baseline", "delay-50")

TCP_WINDOW = 10
"""Linux's initial window (RFC 6928; TCP_INIT_CWND, include/net/tcp.h)."""
QUIC = {
    "testbed-caddy": Sender(32),
    "testbed-nginx": Sender(10),
    "testbed-haproxy": Sender(10, packet_bytes=1252),
}
"""Initial windows: quic-go 32 packets (internal/congestion/cubic_sender.go), nginx and HAProxy 10 (RFC
9002, 7.2: ngx_event_quic.c, quic_cc.c). Datagrams: nginx and quic-go probe the path's MTU, HAProxy stays at 1252."""


def run() -> dict[str, Any]:
    """A row per stand-in, client, profile and size; that nothing was faster than the floor is the goal."""
    stop = threading.Event()
    clients = tuple(expand_clients(["curl-quiche", "curl-ngtcp2"], wiring.clients()))
    profiles = tuple(wiring.profiles()[name] for name in PROFILES)
    rows: list[dict[str, Any]] = []
    print(f"Fastest and median of {ROUNDS} rounds.\n")
    print("| provider | client | profile | object | floor | fastest | median | median / floor |")
    print("|---|---|---|---|---|---|---|---|")
    with wiring.testbed_for(wiring.endpoint_of(PROVIDERS[0].url("1MB"))), wiring.bench(stop, "auto") as bench:
        certificate_bytes = _certificate_bytes(Layout(var_dir() / "testbed").certificates / "leaf.pem")
        for provider in PROVIDERS:
            for size in SIZES:
                endpoint = wiring.endpoint_of(provider.url(size))
                job = OneShot(endpoint, profiles, clients, ROUNDS, seed=1)
                for result in measure(job, bench, lambda _profile, _trial: None):
                    for client in clients:
                        floor_s = floor_of(
                            client,
                            provider.name,
                            result.profile,
                            endpoint.base_rtt_ms,
                            endpoint.expected_bytes or 0,
                            certificate_bytes,
                        )
                        times_s = list(result.ttlb_s(client.id).values())
                        median_s = result.median_ttlb_s(client.id)
                        assert median_s is not None, f"{endpoint.id} {client.id} failed"
                        row = {
                            "provider": provider.name,
                            "client": client.id,
                            "profile": result.profile.name,
                            "size": size,
                            "floor_ms": floor_s * 1000,
                            "fastest_ms": min(times_s) * 1000,
                            "median_ms": median_s * 1000,
                        }
                        rows.append(row)
                        print(
                            f"| {provider.name} | {client.id} | {row['profile']} | {size} | {row['floor_ms']:.1f} ms | "
                            f"{row['fastest_ms']:.1f} ms | {row['median_ms']:.1f} ms | {median_s / floor_s:.3f} |"
                        )
    least = min(row["fastest_ms"] / row["floor_ms"] for row in rows)
    print(f"\nfastest / floor over all rows: {least:.3f} at least")
    return {"goals": [{"what": "floor / fastest, most", "value": 1 / least, "at_most": 1.0}], "rows": rows}


def floor_of(
    client: Client, provider: str, profile: Profile, base_rtt_ms: float, body_bytes: int, certificate_bytes: int
) -> float:
    """Least TTLB in seconds of one client towards one stand-in over a profile with one rate both ways."""
    rate = profile.downlink.rate_mbit_s
    assert rate is not None
    assert rate == profile.uplink.rate_mbit_s
    link = IdealLink((profile.extra_rtt_ms + base_rtt_ms) / 1000, rate * 1e6)
    if client.protocol is Protocol.H2:
        return h2_floor_s(link, Sender(TCP_WINDOW, flight_bytes=certificate_bytes), body_bytes)
    quic = QUIC[provider]
    return h3_floor_s(link, Sender(quic.window_packets, quic.packet_bytes, certificate_bytes), body_bytes)


def _certificate_bytes(leaf: Path) -> int:
    """Size in DER of the one certificate that every server of the testbed sends."""
    text = leaf.read_text()
    return len(ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERT") :]))
