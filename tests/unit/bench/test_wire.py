from __future__ import annotations

import struct

import pytest

from bench.quic import ServerStream, packet_number, server_secret, short_header_packet, stream_frames
from bench.wire import Packet, parse, ttlb_s, whole_at

# RFC 9001, A.1: the server's Initial secret and what follows from it by the same derivation that 1-RTT keys take.
SECRET = bytes.fromhex("3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b")
KEY = bytes.fromhex("cf3a5331653c364c88f0f379b6067e37")
IV = bytes.fromhex("0ac1493ca1905853b0bba03e")
HEADER_KEY = bytes.fromhex("c206b8d9b9f0f37644430b490eeaa314")


def segment(at_s: float, sequence: int, size: int, *, outgoing: bool = False, syn: bool = False) -> Packet:
    flags = 0x02 if syn and outgoing else 0x12 if syn else 0x10
    ports = (40_000, 443) if outgoing else (443, 40_000)
    header = struct.pack("!HHIIBBHHH", *ports, sequence, 0, 5 << 4, flags, 0, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + size, 0, 0, 64, 6, 0, bytes(4), bytes(4))
    packet = parse(bytes(12) + b"\x08\x00" + ip + header + bytes(size), at_s, outgoing=outgoing)
    assert packet is not None
    return packet


def test_keys_are_those_of_the_rfc() -> None:
    stream = ServerStream(SECRET, 8)
    assert stream._expand(SECRET, "quic key", 16) == KEY
    assert stream._expand(SECRET, "quic iv", 12) == IV
    assert stream._header.key == HEADER_KEY


def test_packet_numbers_are_completed_as_in_the_rfc() -> None:
    assert packet_number(0x9B32, 2, 0xA82F30EA) == 0xA82F9B32  # RFC 9000, A.3


def test_stream_frames_are_found_among_others() -> None:
    ack = b"\x02\x05\x00\x01\x00\x00\x00"  # one range besides the first
    stream = b"\x0e\x00\x44\x00\x02ab"  # stream 0, offset 1024, two bytes
    to_the_end = b"\x08\x04xyz"  # stream 4, from 0 to the end of the packet
    frames = list(stream_frames(b"\x00\x01" + ack + stream + b"\x11\x00\x05" + to_the_end))
    assert frames == [(0, 1024, 1026), (4, 0, 3)]


def test_long_header_packets_of_a_datagram_are_passed_over() -> None:
    initial = b"\xc0" + b"\0\0\0\1" + b"\x01a" + b"\x02bc" + b"\x01t" + b"\x03123"
    handshake = b"\xe0" + b"\0\0\0\1" + b"\x01a" + b"\x00" + b"\x021x"
    assert short_header_packet(initial + handshake + b"\x40rest") == b"\x40rest"
    assert short_header_packet(initial) == b""


def test_a_packet_of_other_keys_is_none_of_the_stream() -> None:
    assert ServerStream(SECRET, 4).stream_parts(b"\x40" + bytes(60)) == []


def test_the_secret_is_found_in_a_key_log() -> None:
    assert server_secret("# x\nCLIENT_TRAFFIC_SECRET_0 00 aa\nSERVER_TRAFFIC_SECRET_0 00 0b0c\n") == b"\x0b\x0c"
    with pytest.raises(ValueError, match="SERVER_TRAFFIC"):
        server_secret("")


def test_the_last_byte_came_when_the_bytes_were_whole_not_with_the_last_packet() -> None:
    pieces = [(1.0, 0, b"12"), (2.0, 4, b"56"), (3.0, 2, b"34"), (4.0, 4, b"56")]
    assert whole_at(pieces) == 3.0
    with pytest.raises(ValueError, match="whole"):
        whole_at(pieces[:2])


def test_a_tcp_transfer_runs_from_the_syn_to_the_byte_that_made_it_whole() -> None:
    isn = 2**32 - 50  # sequence numbers wrap around
    packets = [
        segment(0.5, 7, 0, outgoing=True),  # an answer to what the transfer before left
        segment(1.0, 9, 0, outgoing=True, syn=True),
        segment(1.1, isn, 0, syn=True),
        segment(1.2, 10, 100, outgoing=True),
        segment(1.3, isn + 1, 40),
        segment(1.4, (isn + 41) % 2**32, 40),
        segment(1.5, isn + 1, 40),  # sent again for nothing
        segment(1.6, 110, 24, outgoing=True),
        segment(1.7, (isn + 81) % 2**32, 10),  # after the goodbye
    ]
    assert ttlb_s(packets, "") == pytest.approx(0.4)
    with pytest.raises(ValueError, match="opened no connection"):
        ttlb_s(packets[:1], "")
