"""Acknowledgements read from real captures and qlogs of the clients, and from broken ones."""

from __future__ import annotations

import gzip
import json
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from lastbyte.adapters.traces import hellos
from lastbyte.adapters.traces.hellos import agreed_over_quic
from lastbyte.adapters.traces.qlog import qlog_trace
from lastbyte.adapters.traces.reading import decompressed, read_trace, sorted_out
from lastbyte.adapters.traces.received import Received
from lastbyte.domain.acks import AckTrace, TraceProblem, TraceUnreadable
from lastbyte.domain.tls import GroupSource, TlsDetails
from lastbyte.ports import TraceFiles

DATA = Path(__file__).parents[2] / "data/traces"
BODY_BYTES = 100_000
H3 = ("curl-quiche-h3", "curl-ngtcp2-h3")


def data(name: str) -> bytes:
    return decompressed((DATA / name).read_bytes())


def pcap(client: str) -> bytes:
    return data(f"{client}.pcap.gz")


def keys(client: str) -> bytes:
    return data(f"{client}.keys.txt")


def problem(files: TraceFiles) -> TraceProblem:
    with pytest.raises(TraceUnreadable) as caught:
        read_trace(files)
    assert caught.value.detail
    return caught.value.kind


def by_packets(client: str) -> AckTrace:
    return read_trace(TraceFiles(pcap=pcap(client), key_log=keys(client)))


def test_a_capture_of_quic_tells_cipher_and_group_without_secrets() -> None:
    hashes = {64: "SHA256", 96: "SHA384"}  # hex digits of a secret are two for each byte of the cipher's hash
    for client, cipher in zip(H3, ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"), strict=True):
        agreed = agreed_over_quic(pcap(client))
        assert agreed == TlsDetails("TLSv1.3", cipher, "X25519MLKEM768", GroupSource.SERVER_HELLO)
        assert cipher.endswith(hashes[len(keys(client).split()[-1])]), "the key log says the same"
    assert agreed_over_quic(pcap("curl-quiche-h2")) is None
    assert agreed_over_quic(pcap("curl-quiche-h3")[:400]) is None
    assert agreed_over_quic(b"no capture") is None


def test_a_hello_after_a_retry_is_the_one_that_counts() -> None:
    def hello(random: bytes, group: int) -> bytes:
        share = struct.pack("!HHH", 51, 4, group) + b"\0\0"
        body = b"\x03\x03" + random + b"\0" + b"\x13\x03" + b"\0" + struct.pack("!H", len(share)) + share
        return b"\x02" + len(body).to_bytes(3) + body

    retry = hello(hellos._RETRY, 0x0018)
    expected = TlsDetails("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256", "X25519", GroupSource.SERVER_HELLO)
    assert hellos._agreed(retry + hello(b"r" * 32, 0x001D)) == expected
    assert hellos._agreed(retry) is None


def test_tcp_ends_with_the_body_and_the_overhead_of_tls_and_http2() -> None:
    trace = by_packets("curl-quiche-h2")
    assert (trace.transport, trace.source) == ("tcp", "pcap")
    # certificate and handshake 2 to 5 KB; per record of TLS 22 bytes and 9 of HTTP/2, at least one each 1.3 KB
    assert 1_500 < trace.acked_bytes - BODY_BYTES < 8_000
    assert trace.acked_bytes == trace.received_bytes
    assert trace.rtt_ms == pytest.approx(20, abs=3)


@pytest.mark.parametrize("client", H3)
def test_quic_ends_with_the_body_and_a_little_of_http3(client: str) -> None:
    trace = by_packets(client)
    assert (trace.transport, trace.source) == ("quic", "pcap and key log")
    assert 0 < trace.received_bytes - BODY_BYTES < 500
    # the packets at the very end may go unacknowledged: the client says goodbye instead
    assert 0 <= trace.received_bytes - trace.acked_bytes < 3_000
    assert trace.rtt_ms == pytest.approx(22, abs=4)


@pytest.mark.parametrize("client", H3)
def test_qlog_and_decrypted_packets_tell_the_same(client: str) -> None:
    packets, qlog = by_packets(client), qlog_trace(data(f"{client}.sqlog.gz"))
    assert [p.acked_bytes for p in packets.points] == [p.acked_bytes for p in qlog.points]
    assert (packets.received_bytes, packets.duplicate_bytes) == (qlog.received_bytes, qlog.duplicate_bytes)
    apart_ms = [abs(a.at_ms - b.at_ms) for a, b in zip(packets.points, qlog.points, strict=True)]
    assert max(apart_ms) < 5
    assert sum(p.byte_count for p in packets.retransmitted) == sum(p.byte_count for p in qlog.retransmitted)


def test_both_versions_of_qlog_are_known_and_named() -> None:
    assert qlog_trace(data("curl-quiche-h3.sqlog.gz")).source == "qlog quic-12"
    old = qlog_trace(data("curl-ngtcp2-h3.sqlog.gz"))
    assert old.source == "qlog 0.3"
    assert "whole milliseconds" in old.note


@pytest.mark.parametrize("client", ["curl-quiche-h2", *H3])
def test_acknowledged_bytes_never_fall_and_time_goes_on(client: str) -> None:
    points = by_packets(client).points
    assert all(b.acked_bytes >= a.acked_bytes and b.at_ms >= a.at_ms for a, b in pairwise(points))


def test_what_is_on_the_wire_is_more_than_what_arrives() -> None:
    trace = by_packets("curl-quiche-h2")
    assert trace.wire_bytes is not None
    assert 1.03 < trace.wire_bytes / trace.received_bytes < 1.10


def test_a_capture_that_ends_within_a_packet_is_truncated() -> None:
    whole = pcap("curl-quiche-h2")
    for cut in (whole[:-1], whole[:-700], whole[: 24 + 8]):
        assert problem(TraceFiles(pcap=cut)) is TraceProblem.TRUNCATED_PCAP


def test_packets_left_over_from_the_fetch_before_change_nothing() -> None:
    """The end of a TCP connection at the beginning of a QUIC capture, and the reverse."""
    h2, h3 = pcap("curl-quiche-h2"), pcap("curl-quiche-h3")
    alone = read_trace(TraceFiles(h3, keys("curl-quiche-h3")))
    assert read_trace(TraceFiles(_last_packet(h2) + h3[24:], keys("curl-quiche-h3"))) == alone
    assert read_trace(TraceFiles(_last_packet(h3) + h2[24:])) == by_packets("curl-quiche-h2")


def _last_packet(whole: bytes) -> bytes:
    """The capture's header and its last packet alone."""
    at = last = 24
    while at < len(whole):
        last, at = at, at + 16 + struct.unpack_from("<I", whole, at + 8)[0]
    return whole[:24] + whole[last:]


def test_failures_have_their_kind() -> None:
    quic = pcap("curl-quiche-h3")
    assert problem(TraceFiles()) is TraceProblem.NOT_CAPTURED
    assert problem(TraceFiles(pcap=b"nonsense" * 9)) is TraceProblem.NOT_A_PCAP
    assert problem(TraceFiles(pcap=quic)) is TraceProblem.NO_KEY_LOG
    assert problem(TraceFiles(pcap=quic, key_log=keys("curl-ngtcp2-h3"))) is TraceProblem.WRONG_KEY_LOG
    assert problem(TraceFiles(pcap=quic, key_log=b"# empty\n")) is TraceProblem.NO_KEY_LOG
    assert problem(TraceFiles(pcap=quic[:24])) is TraceProblem.NO_CONNECTION
    assert problem(TraceFiles(qlog=b"")) is TraceProblem.NOT_A_QLOG
    assert problem(TraceFiles(qlog=b"\x1e{}\n")) is TraceProblem.NOT_A_QLOG
    old = json.dumps({"qlog_version": "draft-02", "traces": []}).encode()
    assert problem(TraceFiles(qlog=old)) is TraceProblem.QLOG_VERSION
    with pytest.raises(TraceUnreadable):
        decompressed(gzip.compress(b"x" * 100)[:-9])


def test_secrets_of_the_right_connection_that_do_not_decrypt_are_wrong() -> None:
    lines = keys("curl-quiche-h3").decode().splitlines()
    spoiled = "\n".join(line[:-8] + "00000000" for line in lines).encode()
    assert problem(TraceFiles(pcap=pcap("curl-quiche-h3"), key_log=spoiled)) is TraceProblem.WRONG_KEY_LOG


def test_packets_captured_in_part_are_refused() -> None:
    whole, cut, at = pcap("curl-quiche-h3"), bytearray(), 24
    cut += whole[:24]
    while at < len(whole):
        seconds, nanoseconds, kept, length = struct.unpack_from("<IIII", whole, at)
        short = min(kept, 96)
        cut += struct.pack("<IIII", seconds, nanoseconds, short, length) + whole[at + 16 : at + 16 + short]
        at += 16 + kept
    files = TraceFiles(pcap=bytes(cut), key_log=keys("curl-quiche-h3"))
    assert problem(files) is TraceProblem.CUT_PACKETS


def test_a_qlog_that_is_cut_off_or_of_another_version_gives_way_to_the_packets() -> None:
    files = TraceFiles(pcap("curl-ngtcp2-h3"), keys("curl-ngtcp2-h3"), b'{"qlog_version":"0.9"}\n')
    trace = read_trace(files)
    assert trace.source == "pcap and key log"
    assert "0.9" in trace.note
    # the last record of a client that was killed is incomplete
    cut = qlog_trace(data("curl-ngtcp2-h3.sqlog.gz")[:-20])
    assert cut.acked_bytes > 90_000


def test_files_are_told_by_what_they_hold() -> None:
    names = ("curl-quiche-h3.pcap.gz", "curl-quiche-h3.keys.txt", "curl-quiche-h3.sqlog.gz")
    files = sorted_out([("x", (DATA / name).read_bytes()) for name in names])
    assert None not in (files.pcap, files.key_log, files.qlog)
    with pytest.raises(TraceUnreadable, match=r"photo\.jpg"):
        sorted_out([("photo.jpg", b"\xff\xd8\xff")])


@pytest.mark.parametrize(
    ("arrivals", "late", "duplicate"),
    [
        ([(0, 10), (10, 20)], 0, 0),
        ([(0, 10), (20, 30), (10, 20)], 0, 0),  # one packet late: reordered
        ([(0, 10), (20, 30), (30, 40), (40, 50), (10, 20)], 10, 0),  # three late: sent again
        ([(0, 10), (0, 10)], 10, 10),
    ],
)
def test_late_data_was_lost_and_reordered_data_was_not(
    arrivals: list[tuple[int, int]], late: int, duplicate: int
) -> None:
    received = Received()
    for number, (start, stop) in enumerate(arrivals):
        received.add(float(number), start, stop)
    assert sum(piece.byte_count for piece in received.retransmitted) == late
    assert received.duplicate_bytes == duplicate
