"""Small servers of our own for what no real server does on request: breaking off, stalling, never answering."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from testbed.catalogue import FAULT_BODY_BYTES, SILENT
from testbed.configs import FAULTS_PORT
from testbed.places import Places

_HEAD = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {FAULT_BODY_BYTES}\r\n"
    "Connection: close\r\n\r\n"
).encode()


async def _serve_broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send headers and half of the body; then close for /short.bin, or wait for the peer to go for /stall.bin."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        request = await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD + bytes(FAULT_BODY_BYTES // 2))
        await writer.drain()
        if b"/stall.bin" in request.split(b"\r\n", 1)[0]:
            await reader.read()
    writer.close()


async def _serve_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept and keep silent until the peer gives up."""
    with contextlib.suppress(OSError):
        while await reader.read(65536):
            pass
    writer.close()


@contextlib.asynccontextmanager
async def fault_servers(places: Places) -> AsyncIterator[None]:
    """Run both servers inside the current namespace."""
    async with contextlib.AsyncExitStack() as stack:
        servers = [await asyncio.start_server(_serve_broken, "127.0.0.1", FAULTS_PORT, reuse_address=True)]
        for place in places.of(SILENT):
            servers.append(await asyncio.start_server(_serve_nothing, place.address, place.port, reuse_address=True))
            # Bound and never read: datagrams vanish without an ICMP message that would say "refused".
            udp = socket.socket(place.family, socket.SOCK_DGRAM)
            stack.callback(udp.close)
            udp.bind((place.address, place.port))
        for server in servers:
            stack.callback(server.close)
        yield
