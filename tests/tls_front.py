"""TLS in front of a plain TCP server, as stunnel does: ``python -m tests.tls_front CERT KEY LISTEN TARGET [ALPN]``."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys

_CHUNK = 65536


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, ssl.SSLError, RuntimeError):
        writer.close()


async def _serve(cert: str, key: str, listen: str, target: str, alpn: list[str]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if alpn:
        context.set_alpn_protocols(alpn)
    target_host, target_port = target.rsplit(":", 1)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(target_host, int(target_port))
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))

    host, port = listen.rsplit(":", 1)
    server = await asyncio.start_server(carry, host, int(port), ssl=context)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:5], sys.argv[5:]))
