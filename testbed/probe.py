"""Asking a server whether it answers: TLS over TCP with ALPN h2, and QUIC over UDP."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from pathlib import Path

_GREASE_VERSION = bytes.fromhex("1a2a3a4a")
"""A version that no server speaks; RFC 9000, 15 reserves the pattern to make servers negotiate."""
_MINIMUM_DATAGRAM = 1200
"""Servers must not answer a first datagram that is smaller (RFC 9000, 14.1)."""


async def answers_h2(address: str, host: str, ca_file: Path, timeout_s: float = 1.0, port: int = 443) -> bool:
    """Whether ``host`` at ``address`` completes TLS with a certificate of ``ca_file`` and chooses h2."""
    context = ssl.create_default_context(cafile=str(ca_file))
    context.set_alpn_protocols(["h2"])
    try:
        opened = asyncio.open_connection(address, port, ssl=context, server_hostname=host)
        _reader, writer = await asyncio.wait_for(opened, timeout_s)
    except (OSError, TimeoutError):
        return False
    tls = writer.get_extra_info("ssl_object")
    chosen: str | None = tls.selected_alpn_protocol()
    writer.transport.abort()
    return chosen == "h2"


def version_probe(connection_id: bytes) -> bytes:
    """A QUIC long-header datagram of an unknown version, which asks for a Version Negotiation packet (RFC 8999)."""
    head = b"\xc0" + _GREASE_VERSION + bytes([len(connection_id)]) + connection_id + b"\x00"
    return head.ljust(_MINIMUM_DATAGRAM, b"\x00")


def is_version_negotiation(datagram: bytes) -> bool:
    """Whether a datagram is a Version Negotiation packet: long header, version 0 (RFC 8999, 6)."""
    return len(datagram) > 6 and bool(datagram[0] & 0x80) and datagram[1:5] == b"\x00\x00\x00\x00"


async def answers_quic(address: str, timeout_s: float = 0.5, port: int = 443) -> bool:
    """Whether a QUIC server listens on a UDP port of ``address``."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)  # noqa: FBT003 - the socket module takes it by position only
        try:
            await loop.sock_connect(sock, (address, port))
            await loop.sock_sendall(sock, version_probe(os.urandom(8)))
            return is_version_negotiation(await asyncio.wait_for(loop.sock_recv(sock, 2048), timeout_s))
        except (OSError, TimeoutError):
            return False
