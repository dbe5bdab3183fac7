"""STREAM and ACK frames of a decrypted QUIC packet (RFC 9000, 19; with aioquic's buffers)."""

from __future__ import annotations

from collections.abc import Callable

from aioquic.buffer import Buffer, BufferReadError
from aioquic.quic.packet import pull_ack_frame

Streams = tuple[tuple[int, int, int], ...]
Acked = tuple[tuple[int, int], ...]

_PADDING, _ACK, _ACK_ECN, _CRYPTO = 0x00, 0x02, 0x03, 0x06
_STREAM_FIRST, _STREAM_LAST = 0x08, 0x0F
_OFFSET_BIT, _LENGTH_BIT = 0x04, 0x02


def _numbers(count: int) -> Callable[[Buffer], None]:
    def skip(buffer: Buffer) -> None:
        for _ in range(count):
            buffer.pull_uint_var()

    return skip


def _counted_bytes(buffer: Buffer) -> None:
    buffer.pull_bytes(buffer.pull_uint_var())


def _new_connection_id(buffer: Buffer) -> None:
    _numbers(2)(buffer)
    buffer.pull_bytes(buffer.pull_uint8() + 16)


def _close(numbers: int) -> Callable[[Buffer], None]:
    def skip(buffer: Buffer) -> None:
        _numbers(numbers)(buffer)
        _counted_bytes(buffer)

    return skip


_SKIP: dict[int, Callable[[Buffer], None]] = {
    0x01: _numbers(0),  # PING
    0x04: _numbers(3),  # RESET_STREAM
    0x05: _numbers(2),  # STOP_SENDING
    0x07: _counted_bytes,  # NEW_TOKEN
    0x10: _numbers(1),  # MAX_DATA
    0x11: _numbers(2),  # MAX_STREAM_DATA
    0x12: _numbers(1),
    0x13: _numbers(1),  # MAX_STREAMS
    0x14: _numbers(1),  # DATA_BLOCKED
    0x15: _numbers(2),  # STREAM_DATA_BLOCKED
    0x16: _numbers(1),
    0x17: _numbers(1),  # STREAMS_BLOCKED
    0x18: _new_connection_id,
    0x19: _numbers(1),  # RETIRE_CONNECTION_ID
    0x1A: lambda buffer: _discard(buffer, 8),  # PATH_CHALLENGE
    0x1B: lambda buffer: _discard(buffer, 8),  # PATH_RESPONSE
    0x1C: _close(2),
    0x1D: _close(1),  # CONNECTION_CLOSE
    0x1E: _numbers(0),  # HANDSHAKE_DONE
    0x31: _counted_bytes,  # DATAGRAM with its length (RFC 9221)
    0xAF: _numbers(4),  # ACK_FREQUENCY (draft-ietf-quic-ack-frequency)
}


def _discard(buffer: Buffer, count: int) -> None:
    buffer.pull_bytes(count)


def frames_of(payload: bytes) -> tuple[Streams, Acked]:
    """STREAM frames as (id, offset, length) and acknowledged ranges as (first, last).

    What stands after a frame of an unknown kind is passed over: its length can't be known.
    """
    buffer = Buffer(data=payload)
    streams: list[tuple[int, int, int]] = []
    acked: list[tuple[int, int]] = []
    try:
        while not buffer.eof():
            kind = buffer.pull_uint_var()
            if kind == _PADDING:
                continue
            if _STREAM_FIRST <= kind <= _STREAM_LAST:
                streams.append(_stream(buffer, kind))
            elif kind in (_ACK, _ACK_ECN):
                ranges, _ = pull_ack_frame(buffer)
                acked += [(item.start, item.stop - 1) for item in ranges]
                if kind == _ACK_ECN:
                    _numbers(3)(buffer)
            elif kind == _CRYPTO:
                buffer.pull_uint_var()
                _counted_bytes(buffer)
            elif kind in _SKIP:
                _SKIP[kind](buffer)
            else:
                break
    except (BufferReadError, ValueError):
        pass  # a frame that runs beyond its packet: what came before it stands
    return tuple(streams), tuple(acked)


def crypto_of(payload: bytes) -> list[tuple[int, bytes]]:
    """Offset and data of the CRYPTO frames of an Initial packet."""
    buffer = Buffer(data=payload)
    found: list[tuple[int, bytes]] = []
    try:
        while not buffer.eof():
            kind = buffer.pull_uint_var()
            if kind == _CRYPTO:
                offset = buffer.pull_uint_var()
                found.append((offset, buffer.pull_bytes(buffer.pull_uint_var())))
            elif kind in (_ACK, _ACK_ECN):
                pull_ack_frame(buffer)
                if kind == _ACK_ECN:
                    _numbers(3)(buffer)
            elif kind not in (_PADDING, 0x01):
                break
    except (BufferReadError, ValueError):
        pass
    return found


def _stream(buffer: Buffer, kind: int) -> tuple[int, int, int]:
    ident = buffer.pull_uint_var()
    offset = buffer.pull_uint_var() if kind & _OFFSET_BIT else 0
    length = buffer.pull_uint_var() if kind & _LENGTH_BIT else buffer.capacity - buffer.tell()
    buffer.pull_bytes(length)
    return ident, offset, length
