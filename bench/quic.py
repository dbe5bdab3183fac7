"""What a server's QUIC packets carried, read with the TLS key log: enough to see when a stream was whole.

Packet protection: RFC 9001, 5. Frames: RFC 9000, 19. Server's 1-RTT packets alone; no keys of handshakes are needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_TAG_BYTES = 16
_VARINTS_OF_FRAME = {
    0x00: 0,  # PADDING
    0x01: 0,  # PING
    0x1E: 0,  # HANDSHAKE_DONE
    0x04: 3,  # RESET_STREAM
    0x05: 2,  # STOP_SENDING
    0x10: 1,  # MAX_DATA
    0x11: 2,  # MAX_STREAM_DATA
    0x12: 1,  # MAX_STREAMS
    0x13: 1,
    0x14: 1,  # DATA_BLOCKED
    0x15: 2,  # STREAM_DATA_BLOCKED
    0x16: 1,  # STREAMS_BLOCKED
    0x17: 1,
    0x19: 1,  # RETIRE_CONNECTION_ID
}


def server_secret(key_log: str) -> bytes:
    """SERVER_TRAFFIC_SECRET_0 of a key log with one connection (the format that SSLKEYLOGFILE names)."""
    for line in key_log.splitlines():
        words = line.split()
        if words[:1] == ["SERVER_TRAFFIC_SECRET_0"]:
            return bytes.fromhex(words[2])
    raise ValueError("the key log has no SERVER_TRAFFIC_SECRET_0")


class ServerStream:
    """Opens a server's short-header packets in the order of their arrival."""

    def __init__(self, secret: bytes, connection_id_bytes: int) -> None:
        self._hash: hashes.HashAlgorithm = hashes.SHA384() if len(secret) == 48 else hashes.SHA256()
        self._key_bytes = 32 if len(secret) == 48 else 16
        self._secret = secret
        self._header = algorithms.AES(self._expand(secret, "quic hp", self._key_bytes))
        self._use(secret)
        self._id_bytes = connection_id_bytes
        self._largest = -1

    def _expand(self, secret: bytes, label: str, length: int) -> bytes:
        """HKDF-Expand-Label without context (RFC 8446, 7.1)."""
        name = b"tls13 " + label.encode()
        info = length.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
        return HKDFExpand(self._hash, length, info).derive(secret)

    def _use(self, secret: bytes) -> None:
        self._secret = secret
        self._aead = AESGCM(self._expand(secret, "quic key", self._key_bytes))
        self._iv = int.from_bytes(self._expand(secret, "quic iv", 12), "big")

    def stream_parts(self, datagram: bytes, stream: int = 0) -> list[tuple[int, int]]:
        """Offset and end of each piece of the stream in a datagram; none where it is no packet of these keys."""
        opened = self._open(short_header_packet(datagram))
        return [(offset, end) for number, offset, end in stream_frames(opened) if number == stream] if opened else []

    def _open(self, datagram: bytes) -> bytes | None:
        if not datagram:
            return None
        start = 1 + self._id_bytes
        sample = datagram[start + 4 : start + 20]
        if len(sample) < 16:
            return None
        # Header protection (RFC 9001, 5.4.3) is one block of AES by definition, so ECB is what it takes.
        cipher = Cipher(self._header, modes.ECB()).encryptor()  # noqa: S305
        mask = cipher.update(sample)
        first = datagram[0] ^ (mask[0] & 0x1F)
        size = (first & 3) + 1
        number_field = bytes(a ^ b for a, b in zip(datagram[start : start + size], mask[1:], strict=False))
        number = packet_number(int.from_bytes(number_field, "big"), size, self._largest)
        nonce = (self._iv ^ number).to_bytes(12, "big")
        header = bytes([first]) + datagram[1:start] + number_field
        sealed = datagram[start + size :]
        for _ in range(2):
            try:
                opened = self._aead.decrypt(nonce, sealed, header)
            except InvalidTag:
                before = self._secret
                self._use(self._expand(self._secret, "quic ku", len(self._secret)))  # RFC 9001, 6: a key update
                nonce = (self._iv ^ number).to_bytes(12, "big")
            else:
                self._largest = max(self._largest, number)
                return opened
        self._use(before)
        return None


def short_header_packet(datagram: bytes) -> bytes:
    """What follows the long-header packets of a datagram (RFC 9000, 12.2 and 17.2)."""
    while datagram and datagram[0] & 0x80:
        at = 5
        for _ in range(2):
            at += 1 + datagram[at]
        if datagram[0] & 0x30 == 0:  # Initial: a token
            length, at = _varint(datagram, at)
            at += length
        length, at = _varint(datagram, at)
        datagram = datagram[at + length :]
    return datagram


def packet_number(truncated: int, size: int, largest: int) -> int:
    """The whole number of a packet (RFC 9000, A.3)."""
    window = 1 << (8 * size)
    expected = largest + 1
    candidate = (expected & ~(window - 1)) | truncated
    if candidate <= expected - window // 2 and candidate < (1 << 62) - window:
        return candidate + window
    if candidate > expected + window // 2 and candidate >= window:
        return candidate - window
    return candidate


def stream_frames(payload: bytes) -> Iterator[tuple[int, int, int]]:
    """Stream, offset and end of each STREAM frame of a packet's payload."""
    at = 0
    while at < len(payload):
        kind, at = _varint(payload, at)
        if 0x08 <= kind <= 0x0F:
            stream, at = _varint(payload, at)
            offset, at = _varint(payload, at) if kind & 4 else (0, at)
            length, at = _varint(payload, at) if kind & 2 else (len(payload) - at, at)
            yield stream, offset, offset + length
            at += length
        else:
            at = _after(kind, payload, at)


def _after(kind: int, payload: bytes, at: int) -> int:
    """Where the next frame begins."""
    match kind:
        case 0x02 | 0x03:  # ACK: largest, delay, count of ranges, first range, ranges, and perhaps counts of ECN
            ranges, _ = _varint(payload, _skip(payload, at, 2))
            return _skip(payload, at, 4 + 2 * ranges + (3 if kind == 0x03 else 0))
        case 0x06 | 0x07:  # CRYPTO with an offset, NEW_TOKEN
            length, at = _varint(payload, _skip(payload, at, 1 if kind == 0x06 else 0))
            return at + length
        case 0x18:  # NEW_CONNECTION_ID: number, retired, length and id, token
            at = _skip(payload, at, 2)
            return at + 1 + payload[at] + 16
        case 0x1A | 0x1B:  # PATH_CHALLENGE, PATH_RESPONSE
            return at + 8
        case _ if kind in _VARINTS_OF_FRAME:
            return _skip(payload, at, _VARINTS_OF_FRAME[kind])
    return len(payload)  # CONNECTION_CLOSE, or an extension: what comes after it can't be read


def _skip(payload: bytes, at: int, varints: int) -> int:
    for _ in range(varints):
        _, at = _varint(payload, at)
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """RFC 9000, 16."""
    size = 1 << (data[at] >> 6)
    return int.from_bytes(data[at : at + size], "big") & ((1 << (8 * size - 2)) - 1), at + size
