"""A small catalogue and made-up observations for tests of stores and API."""

from __future__ import annotations

from datetime import UTC, datetime

from lastbyte.domain.campaign import CampaignSpec
from lastbyte.domain.client import Client, ClientBuild, Protocol
from lastbyte.domain.endpoint import Endpoint, Origin
from lastbyte.domain.link_probe import DirectionProbe, LinkProbe
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.tls import GroupSource, TlsDetails
from lastbyte.domain.trial import (
    DirectionCounters,
    Failure,
    FailureKind,
    HostUse,
    LinkProof,
    Observation,
    Timings,
    Trial,
)
from lastbyte.ports import CampaignPlan, CellProof, RttProbe

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"

ENDPOINTS = [
    Endpoint(
        id=f"testbed-{server}-{label}",
        provider=f"testbed-{server}",
        url=f"https://testbed-{server}.test/{label}.bin",
        size_label=label,
        origin=Origin.TESTBED,
        expected_bytes=size,
        base_rtt_ms=rtt_ms,
    )
    for server, rtt_ms in (("caddy", 10.0), ("nginx", 20.0))
    for label, size in (("100KB", 100_000), ("1MB", 1_000_000))
]

PROFILES = [
    Profile("baseline", "10 Mbit/s", Impairment(rate_mbit_s=10), Impairment(rate_mbit_s=10)),
    Profile("loss-1", "1 %", Impairment(loss_pct=1, rate_mbit_s=10), Impairment(loss_pct=1, rate_mbit_s=10)),
]

CLIENTS = [
    Client(
        id=f"curl-quiche-{protocol}",
        program="curl-quiche",
        protocol=protocol,
        title=f"curl with quiche, {protocol}",
        argv=("--url", "{url}"),
        parser="curl-json",
        executable=("curl",),
        quic_stack="quiche",
        env={"LC_ALL": "C"},
        tls_groups_argv=("--curves", "{tls_groups}"),
    )
    for protocol in Protocol
]

BUILD = ClientBuild("curl-quiche", "/opt/curl", "curl 8.22.0\nFeatures: HTTP3", "ab" * 32)


def plan(endpoints: int = 2, profiles: int = 1, rounds: int = 2, seed: int = 7, name: str = "sample") -> CampaignPlan:
    chosen = ENDPOINTS[:endpoints], PROFILES[:profiles]
    spec = CampaignSpec(
        name=name,
        endpoint_ids=tuple(e.id for e in chosen[0]),
        profile_names=tuple(p.name for p in chosen[1]),
        client_ids=tuple(c.id for c in CLIENTS),
        rounds=rounds,
        seed=seed,
    )
    return CampaignPlan(spec, tuple(chosen[0]), tuple(chosen[1]), tuple(CLIENTS), timeout_s=30.0)


def proof(requested_ms: float = 10.0, achieved_ms: float = 10.2, rate_mbit_s: float = 9.98) -> CellProof:
    return CellProof(
        box_kind="uml",
        address="10.200.1.1",
        resolution_s=0.001,
        rtt=RttProbe(requested_ms, (achieved_ms - 0.1, achieved_ms, achieved_ms + 0.1), lost=1),
        link=LinkProbe(
            DirectionProbe(10.0, rate_mbit_s, 1.0, 1000, 12),
            DirectionProbe(None, None, 0.0, 500, 0, rate_unjudged="no rate was requested"),
            elapsed_s=0.25,
            repeats=1,
        ),
        commands={H3: ["curl", "--http3-only"]},
        builds={H2: BUILD, H3: BUILD},
        machine={"rmem_default": 212992, "path": {"offloads": []}},
    )


def link_proof() -> LinkProof:
    return LinkProof(
        DirectionCounters(90, 105_000, 1, 0, overflow_packets=1),
        DirectionCounters(50, 4_000, 0, 0),
        udp_rcvbuf_errors=2,
        host=HostUse(0.1, 0.5, 0.0, 0.0, 1.25, pressure_share=0.25, box_cpu_share=None),
    )


def good(round_index: int, client_id: str, ttlb_s: float = 0.1, unproven_reason: str = "", body: str = "ab") -> Trial:
    observation = Observation(
        started_at=datetime.now(UTC),
        timings=Timings(ttlb_s / 4, ttlb_s / 2, ttlb_s),
        failure=None,
        exit_code=0,
        http_status=200,
        http_version=client_id[-1],
        body_sha256=body * 32,
        tls=TlsDetails("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519", GroupSource.CLIENT),
        body_bytes=100_000,
        remote_address="10.200.1.1",
        elapsed_s=ttlb_s + 0.01,
        headers={"server": "Caddy"},
    )
    return Trial(round_index, client_id, 0, observation, link_proof(), unproven_reason)


def bad(round_index: int, client_id: str, kind: FailureKind = FailureKind.TIMEOUT, detail: str = "too late") -> Trial:
    observation = Observation(datetime.now(UTC), None, Failure(kind, detail), exit_code=28, elapsed_s=30.0)
    return Trial(round_index, client_id, 1, observation)
