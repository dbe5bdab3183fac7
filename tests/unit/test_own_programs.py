"""What lastbyte's own small clients print, and hq's log lines, become reports; what their command lines are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastbyte.adapters.client_descriptions import load_descriptions
from lastbyte.adapters.client_output import read_report
from lastbyte.adapters.command_line import command_line
from lastbyte.adapters.outcome import Ended, judge
from lastbyte.domain.client import Client, pinned
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.tls import GroupSource
from lastbyte.domain.trial import FailureKind, Timings
from lastbyte.ports import Target

CLIENTS = {client.id: client for description in load_descriptions() for client in description.clients}
ENDPOINT = Endpoint("e", "p", "https://a.test/x?y=1", "100KB")
SAID = {
    "handshake_s": 0.05,
    "ttfb_s": 0.1,
    "ttlb_s": 0.2,
    "status": 200,
    "http_version": "3",
    "body_bytes": 7,
    "announced_bytes": 7,
    "connections": 1,
    "tls_version": "TLSv1.3",
    "tls_cipher": "TLS_AES_128_GCM_SHA256",
    "tls_group": "X25519",
    "resumed": False,
    "early_data": False,
    "headers": {"Server": "Caddy", "X-Tls-Resumed": "false", "Set-Cookie": "secret"},
}
HQ_LOG = """\
I1122 23:59:59.950000  1234 HQClient.cpp:48] HQClient connecting to [2001:db8::7]:443
I1122 23:59:59.990000  1234 CurlClient.cpp:210] received headers
I1123 00:00:00.150250  1234 CurlClient.cpp:262] Got EOM for /x. Txn Time= 110 ms
"""
"""After the format strings of hq's source; no hq was at hand to record one."""


def argv(client: Client, ca: Path | None = Path("/ca.pem")) -> list[str]:
    return command_line(client, Target(ENDPOINT, "2001:db8::7", 0.0, ca), 60.0, 20.0)


def outcome(client_id: str, **figures: object) -> Timings | FailureKind:
    client = CLIENTS[client_id]
    stderr = "a warning\n" + json.dumps({**SAID, **figures}) + "\n"
    timings, failure = judge(client, read_report(client, "", stderr, 1.0), Ended(0, stderr, killed=False), ENDPOINT)
    return timings or failure.kind  # type: ignore[union-attr]


def test_a_program_says_its_figures_beside_the_body() -> None:
    client = CLIENTS["quic-go-h3"]
    report = read_report(client, "", "noise {\n" + json.dumps(SAID), 1.0)
    assert report is not None
    assert (report.handshake_s, report.ttfb_s, report.ttlb_s) == (0.05, 0.1, 0.2)
    assert (report.status, report.body_bytes, report.announced_bytes, report.connections) == (200, 7, 7, 1)
    assert report.headers == {"server": "Caddy", "x-tls-resumed": "false"}
    assert report.tls is not None
    assert (report.tls.cipher, report.tls.group, report.tls.group_source) == (
        "TLS_AES_128_GCM_SHA256",
        "X25519",
        GroupSource.CLIENT,
    )
    assert (report.resumed, report.early_data) == (False, False)
    assert outcome("quic-go-h3") == Timings(0.05, 0.1, 0.2)


@pytest.mark.parametrize(
    ("client_id", "figures", "kind"),
    [
        ("quic-go-h3", {"http_version": "2"}, FailureKind.PROTOCOL),
        ("quic-go-h3", {"resumed": True}, FailureKind.PROTOCOL),
        ("quic-go-h3", {"early_data": True}, FailureKind.PROTOCOL),
        ("quic-go-h3", {"body_bytes": 6}, FailureKind.SHORT_BODY),
        ("quic-go-h3@resume", {}, FailureKind.PROTOCOL),
        ("quic-go-h3@resume", {"resumed": True, "early_data": True, "headers": {}}, FailureKind.PROTOCOL),
        ("quic-go-h3@0rtt", {"resumed": True, "headers": {}}, FailureKind.PROTOCOL),
        ("quic-go-h3@reuse", {}, FailureKind.PROTOCOL),
    ],
)
def test_more_or_less_than_the_arm_is_for_is_a_failure(
    client_id: str, figures: dict[str, object], kind: FailureKind
) -> None:
    assert outcome(client_id, **figures) is kind


def test_early_data_that_was_accepted_is_a_success() -> None:
    said = outcome("quic-go-h3@0rtt", resumed=True, early_data=True, headers={})
    assert said == Timings(0.05, 0.1, 0.2)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("quic-go: connect timed out (context deadline exceeded)", FailureKind.CONNECT_TIMEOUT),
        ("quic-go: the fetch timed out", FailureKind.TIMEOUT),
        ("quic-go: CRYPTO_ERROR 0x12a (local): tls: failed to verify certificate: x509: unknown", FailureKind.TLS),
        ("quic-go: CRYPTO_ERROR 0x178 (remote): tls: no application protocol", FailureKind.PROTOCOL),
        ("quic-go: unexpected EOF", FailureKind.SHORT_BODY),
        ("aioquic: the stream was reset, error 0x102", FailureKind.RESET),
        ("aioquic: [Errno 111] Connection refused", FailureKind.REFUSED),
    ],
)
def test_failures_have_their_kind(said: str, kind: FailureKind) -> None:
    _, failure = judge(CLIENTS["quic-go-h3"], None, Ended(1, said, killed=False), ENDPOINT)
    assert failure is not None
    assert failure.kind is kind


@pytest.mark.parametrize("client_id", ["quic-go-h2", "quic-go-h3", "aioquic-h3", "curl-cffi-h2", "curl-cffi-h3"])
def test_each_is_pinned_and_told_its_limits(client_id: str) -> None:
    made = argv(CLIENTS[client_id])
    for option, value in (
        ("--address", "2001:db8::7"),
        ("--timeout", "60"),
        ("--connect-timeout", "20"),
        ("--ca-file", "/ca.pem"),
    ):
        assert made[made.index(option) + 1] == value
    assert made[-1] == ENDPOINT.url
    assert "--ca-file" not in argv(CLIENTS[client_id], ca=None)
    assert "--request-before" not in made


def test_arms_and_groups_are_options() -> None:
    assert {"--request-before", "--new-connection", "--early-data"} <= set(argv(CLIENTS["quic-go-h3@0rtt"]))
    assert "--new-connection" not in argv(CLIENTS["quic-go-h3@reuse"])
    made = argv(pinned(CLIENTS["quic-go-h3"], ["X25519", "P-256"]))
    assert made[made.index("--groups") + 1] == "X25519:P-256"


def test_hq_is_told_address_and_path_and_its_log_is_read_across_midnight() -> None:
    client = CLIENTS["hq-h3"]
    assert argv(client)[:7] == [
        "--mode=client",
        "--protocol=h3",
        "--quic_version=1",
        "--host=a.test",
        "--connect_to_address=2001:db8::7",
        "--port=443",
        "--path=/x?y=1",
    ]
    report = read_report(client, "body", HQ_LOG, 1.0)
    assert report is not None
    assert report.ttlb_s == pytest.approx(0.20025)
    assert report.start_s == 0.0
    assert report.remote_address == "2001:db8::7"


def test_hq_without_an_end_has_no_ttlb() -> None:
    report = read_report(CLIENTS["hq-h3"], "", HQ_LOG.splitlines()[0], 1.0)
    assert report is not None
    assert report.ttlb_s is None
    orphan = read_report(CLIENTS["hq-h3"], "", HQ_LOG.splitlines()[2], 1.0)
    assert orphan is not None
    assert orphan.ttlb_s is None
