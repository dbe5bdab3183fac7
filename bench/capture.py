"""Is the recorded TTLB true? Compared, trial by trial, with one taken from packets at the client's side of the link.

Kernel timestamps (``netem.packet_tap``); ``bench.wire`` says what begins and what ends a transfer. Clients write
their key log meanwhile, so that QUIC can be read: some hundred bytes into a file during the handshake.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.wire import parse, ttlb_s
from lastbyte import wiring
from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client, expand_clients
from lastbyte.ports import Target
from netem.factory import ShapedPathFactory
from netem.packet_tap import PacketTap
from netem.path import ShapedPath

TRIALS = 50
PROFILES = ("baseline", "delay-50")
GOAL_MS = 1.0


def run(names: Sequence[str] = ("curl-quiche", "curl-ngtcp2"), trials: int = TRIALS) -> dict[str, Any]:
    """Differences of recorded and captured TTLB for each client."""
    goals, rows = [], []
    clients = expand_clients(names, wiring.clients(), "--client")
    endpoint = wiring.endpoint_of("https://testbed-nginx.test/100KB.bin")
    print("| client | median, signed | median | p95 | p99 | largest | n |\n|---|---|---|---|---|---|---|")
    with wiring.testbed_for(endpoint), ShapedPathFactory().open() as path:
        target = wiring.resolver().resolve(endpoint)
        for client in clients:
            errors_ms: list[float] = []
            for name in PROFILES:
                path.configure(wiring.profiles()[name], endpoint.base_rtt_ms)
                errors_ms += [_error_ms(path, client, target) for _ in range(trials)]
            signed = float(np.median(errors_ms))
            p50, p95, p99, most = (float(p) for p in np.percentile(np.abs(errors_ms), [50, 95, 99, 100]))
            shown = f"{p50:.2f} ms | {p95:.2f} ms | {p99:.2f} ms{' (missed)' if p99 > GOAL_MS else ''}"
            print(f"| {client.id} | {signed:+.2f} ms | {shown} | {most:.2f} ms | {len(errors_ms)} |")
            rows.append({"client": client.id, "n": len(errors_ms), "errors_ms": errors_ms})
            goals.append({"what": f"TTLB against capture {client.id}, p99 ms", "value": p99, "at_most": GOAL_MS})
    return {"goals": goals, "rows": rows}


def _error_ms(path: ShapedPath, client: Client, target: Target) -> float:
    runner = ProgramClientRunner()
    with tempfile.NamedTemporaryFile(prefix="lb-keys-") as keys:
        client = replace(client, env={**client.env, "SSLKEYLOGFILE": keys.name})
        with PacketTap(path.client) as tap:
            observation = runner.run(client, target, path.command_prefix(), 30)
        assert observation.timings is not None, observation.failure
        assert not tap.lost
        parsed = (parse(frame.data, frame.at_ns / 1e9, outgoing=frame.outgoing) for frame in tap.frames)
        packets = [packet for packet in parsed if packet is not None]
        return (observation.timings.ttlb_s - ttlb_s(packets, Path(keys.name).read_text())) * 1000
