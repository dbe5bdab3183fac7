"""What TLS agreed on, from the server's hello in a capture of QUIC.

It is in an Initial packet, whose keys follow from the connection id of the client's first one (RFC 9001, 5.2), so
anybody who has the packets can read it. Over TCP clients say these things themselves.
"""

from __future__ import annotations

from aioquic.buffer import Buffer, BufferReadError

from lastbyte.adapters.traces.packets import packets
from lastbyte.adapters.traces.quic_packets import server_hello
from lastbyte.domain.acks import TraceUnreadable
from lastbyte.domain.tls import GroupSource, TlsDetails

_CIPHERS = {0x1301: "TLS_AES_128_GCM_SHA256", 0x1302: "TLS_AES_256_GCM_SHA384", 0x1303: "TLS_CHACHA20_POLY1305_SHA256"}
"""RFC 8446, B.4."""
_GROUPS = {0x0017: "P-256", 0x0018: "P-384", 0x0019: "P-521", 0x001D: "X25519", 0x11EC: "X25519MLKEM768"}
"""TLS Supported Groups of IANA."""
_KEY_SHARE = 51
_RANDOM_END = 38
"""Type, length, version and random (RFC 8446, 4.1.3)."""
_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""In place of the random of a HelloRetryRequest, which agrees on nothing yet; the hello follows (RFC 8446, 4.1.3)."""


def agreed_over_quic(pcap: bytes) -> TlsDetails | None:
    """Cipher and group of the first QUIC connection in a capture file; None where it can't be read."""
    try:
        return _agreed(server_hello(packets(pcap)))
    except (TraceUnreadable, BufferReadError, ValueError):
        return None


def _agreed(hello: bytes) -> TlsDetails | None:
    """Of a ServerHello with its header. Raises BufferReadError when it is cut."""
    while hello[6:_RANDOM_END] == _RETRY:
        hello = hello[4 + int.from_bytes(hello[1:4]) :]
    if hello[:1] != b"\x02":
        return None
    buffer = Buffer(data=hello)
    buffer.pull_bytes(_RANDOM_END)
    buffer.pull_bytes(buffer.pull_uint8())  # the echoed session id
    cipher = buffer.pull_uint16()
    buffer.pull_uint8()  # no compression
    end = buffer.pull_uint16() + buffer.tell()
    while buffer.tell() < end:
        kind, size = buffer.pull_uint16(), buffer.pull_uint16()
        if kind == _KEY_SHARE:
            group = buffer.pull_uint16()
            named = _GROUPS.get(group, f"0x{group:04x}")
            return TlsDetails("TLSv1.3", _CIPHERS.get(cipher, f"0x{cipher:04x}"), named, GroupSource.SERVER_HELLO)
        buffer.pull_bytes(size)
    return TlsDetails("TLSv1.3", _CIPHERS.get(cipher, f"0x{cipher:04x}"))
