"""QUIC packets of a capture, decrypted with the connection's own secrets (RFC 9001, by aioquic's cryptography)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aioquic.buffer import Buffer, BufferReadError
from aioquic.quic.crypto import CryptoContext, CryptoError, CryptoPair, apply_key_phase, next_key_phase
from aioquic.quic.packet import QuicPacketType, is_long_header, pull_quic_header
from aioquic.tls import CipherSuite

from lastbyte.adapters.traces.keylog import secrets_of
from lastbyte.adapters.traces.packets import Packet
from lastbyte.adapters.traces.quic import QuicEvent, quic_trace
from lastbyte.adapters.traces.quic_frames import crypto_of, frames_of
from lastbyte.domain.acks import AckTrace, TraceProblem, TraceUnreadable

_RANDOM = slice(6, 38)
"""Of a ClientHello or ServerHello: after its type, length and version (RFC 8446, 4.1.2)."""
_MAX_UNDECRYPTED_SHARE = 0.1


@dataclass(slots=True)
class _Side:
    """What is known of the packets that one side sends."""

    hello: dict[int, bytes] = field(default_factory=dict)
    target_cid_bytes: int = 0
    """Length of the connection id in its short headers: the other side's choice."""
    keys: CryptoContext = field(default_factory=CryptoContext)
    expected: int = 0

    def hello_bytes(self) -> bytes:
        """The beginning of its hello, as far as it is there without a gap."""
        data = b""
        for offset, part in sorted(self.hello.items()):
            if offset > len(data):
                break
            data += part[len(data) - offset :]
        return data


def first_initial(packets: Sequence[Packet]) -> Packet | None:
    """The packet that begins a QUIC connection."""
    return next((p for p in packets if not p.is_tcp and _is_initial(p.payload)), None)


def quic_packet_trace(packets: Sequence[Packet], key_log: bytes | None) -> AckTrace:
    """The first connection that is begun; raises TraceUnreadable."""
    datagrams = [packet for packet in packets if not packet.is_tcp]
    first = first_initial(datagrams)
    mine = (
        datagrams if first is None else [p for p in datagrams if {p.source, p.target} == {first.source, first.target}]
    )
    if any(packet.is_cut for packet in mine):
        detail = "Packets were captured in part only, so they can't be decrypted: capture whole ones."
        raise TraceUnreadable(TraceProblem.CUT_PACKETS, detail)
    if first is None:
        raise TraceUnreadable(TraceProblem.NO_CONNECTION, "No QUIC connection begins in the capture.")
    if key_log is None:
        raise TraceUnreadable(TraceProblem.NO_KEY_LOG, "QUIC is encrypted, and there is no key log to decrypt it.")
    return _Connection(first).trace(mine, key_log)


def server_hello(packets: Sequence[Packet]) -> bytes:
    """The server's hello of the first QUIC connection that is begun, as far as it is there; no secrets are needed."""
    first = first_initial(packets)
    if first is None:
        return b""
    ends = {first.source, first.target}
    connection = _Connection(first)
    connection.read_initials([p for p in packets if not p.is_tcp and {p.source, p.target} == ends])
    return connection.server_hello()


def _is_initial(payload: bytes) -> bool:
    if not payload or not is_long_header(payload[0]):
        return False
    try:
        return pull_quic_header(Buffer(data=payload)).packet_type is QuicPacketType.INITIAL
    except (ValueError, BufferReadError):
        return False


class _Connection:
    def __init__(self, first: Packet) -> None:
        self._first = first
        self._client, self._server = _Side(), _Side()
        self._version = 1
        self._undecrypted = 0

    def trace(self, datagrams: Sequence[Packet], key_log: bytes) -> AckTrace:
        self.read_initials(datagrams)
        self._take_secrets(key_log)
        events: list[QuicEvent] = []
        for packet in datagrams:
            event = self._event(packet)
            if event is not None:
                events.append(event)
        if self._undecrypted > _MAX_UNDECRYPTED_SHARE * (len(events) + self._undecrypted):
            detail = f"{self._undecrypted} packets can't be decrypted: the key log does not fit the capture."
            raise TraceUnreadable(TraceProblem.WRONG_KEY_LOG, detail)
        answer = next((p for p in datagrams if p.source == self._first.target), None)
        rtt_ms = None if answer is None else (answer.at_s - self._first.at_s) * 1000
        note = f"{self._undecrypted} packets could not be decrypted." if self._undecrypted else ""
        return quic_trace(events, "pcap and key log", rtt_ms, note)

    def read_initials(self, datagrams: Sequence[Packet]) -> None:
        """Connection ids, and both hellos: Initial packets are encrypted with keys that all can derive."""
        pair = CryptoPair()
        header = pull_quic_header(Buffer(data=self._first.payload))
        self._version = header.version or 1
        destination, retried = header.destination_cid, False
        pair.setup_initial(destination, is_client=False, version=self._version)
        for packet in datagrams:
            from_client = packet.source == self._first.source
            data = packet.payload
            while data and is_long_header(data[0]):
                try:
                    buffer = Buffer(data=data)
                    header = pull_quic_header(buffer)
                except (ValueError, BufferReadError):
                    break
                whole, data = data[: header.packet_length], data[header.packet_length :]
                side, other = (self._client, self._server) if from_client else (self._server, self._client)
                other.target_cid_bytes = len(header.source_cid)
                if header.packet_type is QuicPacketType.RETRY and not retried:
                    pair.setup_initial(header.source_cid, is_client=False, version=self._version)
                    retried = True
                if header.packet_type is not QuicPacketType.INITIAL:
                    continue
                keys = pair.recv if from_client else pair.send
                try:
                    _, payload, number, _ = keys.decrypt_packet(whole, buffer.tell(), side.expected)
                except CryptoError:
                    continue
                side.expected = number + 1
                side.hello.update(dict(crypto_of(payload)))

    def server_hello(self) -> bytes:
        """The beginning of the server's hello, once the Initial packets are read."""
        return self._server.hello_bytes()

    def _take_secrets(self, key_log: bytes) -> None:
        client_hello, server_hello = self._client.hello_bytes(), self._server.hello_bytes()
        if len(client_hello) < _RANDOM.stop or len(server_hello) < _RANDOM.stop + 1:
            raise TraceUnreadable(TraceProblem.NO_CONNECTION, "The handshake of the connection is not in the capture.")
        session_bytes = server_hello[_RANDOM.stop]
        at = _RANDOM.stop + 1 + session_bytes
        try:
            suite = CipherSuite(int.from_bytes(server_hello[at : at + 2]))
            for side, secret in zip(
                (self._client, self._server), secrets_of(key_log, client_hello[_RANDOM]), strict=True
            ):
                side.keys.setup(cipher_suite=suite, secret=secret, version=self._version)
                side.expected = 0
        except (ValueError, KeyError) as exc:
            raise TraceUnreadable(TraceProblem.NO_CONNECTION, "The handshake of the connection can't be read.") from exc

    def _event(self, packet: Packet) -> QuicEvent | None:
        """What the packet of application data in the datagram holds; None when there is none."""
        data = packet.payload
        while data and is_long_header(data[0]):
            try:
                data = data[pull_quic_header(Buffer(data=data)).packet_length :]
            except (ValueError, BufferReadError):
                return None
        if not data.strip(b"\0"):
            return None  # padding behind the last packet of a datagram
        received = packet.source != self._first.source
        side = self._server if received else self._client
        try:
            _, payload, number, update = side.keys.decrypt_packet(data, 1 + side.target_cid_bytes, side.expected)
        except (CryptoError, IndexError, ValueError):
            self._undecrypted += 1
            return None
        if update:
            apply_key_phase(side.keys, next_key_phase(side.keys), "seen in the capture")
        side.expected = max(side.expected, number + 1)
        streams, acked = frames_of(payload)
        return QuicEvent((packet.at_s - self._first.at_s) * 1000, number, received, streams, acked)
