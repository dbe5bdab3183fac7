"""Fetch one URL over HTTP/3 by aioquic, from one pinned address.

The body goes to standard output as it comes; the last line on standard error is a JSON document with what was
measured. Times are in seconds from just before the socket is made. SSLKEYLOGFILE and QLOGDIR are honoured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent, StreamReset
from aioquic.quic.logger import QuicFileLogger


class Fetch(QuicConnectionProtocol):
    """One connection with one request."""

    def __init__(self, connection: QuicConnection, url: str) -> None:
        super().__init__(connection)
        self._http = H3Connection(connection)
        self._url = urlsplit(url)
        self._started = time.monotonic()
        self._stream = -1
        self.connected = asyncio.Event()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.said: dict[str, Any] = {"http_version": "3", "body_bytes": 0, "connections": 1}

    def started(self, at: float) -> None:
        """Count times from ``at``."""
        self._started = at

    def _now(self) -> float:
        return time.monotonic() - self._started

    def request(self) -> None:
        """Send the request."""
        self._stream = self._quic.get_next_available_stream_id()
        path = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        headers = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", self._url.netloc.encode()),
            (b":path", path.encode()),
            (b"user-agent", b"lastbyte-aioquic"),
            (b"accept", b"*/*"),
        ]
        self._http.send_headers(self._stream, headers, end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Note what came, and when."""
        if isinstance(event, HandshakeCompleted):
            self.said["handshake_s"] = self._now()
            self.said["resumed"] = event.session_resumed
            self.said["early_data"] = event.early_data_accepted
            self.said["tls_version"] = "TLSv1.3"
            schedule = self._quic.tls.key_schedule
            if schedule is not None:
                self.said["tls_cipher"] = f"TLS_{schedule.cipher_suite.name}"
            self.connected.set()
        elif isinstance(event, ConnectionTerminated):
            self._fail(event.reason_phrase or f"the connection was closed, error {event.error_code:#x}")
        elif isinstance(event, StreamReset) and event.stream_id == self._stream:
            self._fail(f"the stream was reset, error {event.error_code:#x}")
        for http_event in self._http.handle_event(event):
            self._http_event(http_event)

    def _http_event(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived) and event.stream_id == self._stream and "headers" not in self.said:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
            self.said["ttfb_s"] = self._now()
            self.said["status"] = int(headers.pop(":status", "0"))
            self.said["headers"] = headers
            if "content-length" in headers:
                self.said["announced_bytes"] = int(headers["content-length"])
        if isinstance(event, DataReceived) and event.stream_id == self._stream and event.data:
            self.said["ttlb_s"] = self._now()
            self.said["body_bytes"] += len(event.data)
            sys.stdout.buffer.write(event.data)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_id == self._stream and event.stream_ended:
            self.said.setdefault("ttlb_s", self._now())
            if not self.done.done():
                self.done.set_result(None)

    def error_received(self, exc: Exception) -> None:
        """The socket is connected, so that a refusal (ICMP) is told."""
        self._fail(str(exc))

    def _fail(self, why: str) -> None:
        self.connected.set()
        if not self.done.done():
            self.done.set_exception(ConnectionError(why))


async def fetch(asked: argparse.Namespace) -> dict[str, Any]:
    """Fetch, and say what was measured; with ``error`` when it failed."""
    url = urlsplit(asked.url)
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, server_name=url.hostname, cafile=asked.ca_file)
    keys = os.environ.get("SSLKEYLOGFILE")
    if keys:
        configuration.secrets_log_file = Path(keys).open("a")  # noqa: ASYNC230, SIM115 - before the clock runs
    folder = os.environ.get("QLOGDIR")
    if folder:
        configuration.quic_logger = QuicFileLogger(folder)
    loop = asyncio.get_running_loop()
    peer = (asked.address, url.port or 443)
    started = time.monotonic()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: Fetch(QuicConnection(configuration=configuration), asked.url), remote_addr=peer
    )
    protocol.started(started)
    protocol.said["remote_address"] = asked.address
    error = ""
    try:
        protocol.connect(transport.get_extra_info("peername"))
        limit_s = min(asked.connect_timeout, asked.timeout)
        try:
            await asyncio.wait_for(protocol.connected.wait(), limit_s)
        except TimeoutError:
            error = "connect timed out"
        else:
            if not protocol.done.done():
                protocol.request()
            await asyncio.wait_for(protocol.done, asked.timeout - (time.monotonic() - started))
    except TimeoutError:
        error = "the fetch timed out"
    except ConnectionError as exc:
        error = str(exc)
    finally:
        protocol.close()
        if folder:  # written once the connection has drained
            await asyncio.wait_for(protocol.wait_closed(), 5)
        transport.close()
    if error:
        protocol.said["error"] = error
        protocol.said.pop("ttlb_s", None)
    return protocol.said


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="version", version=f"aioquic {version('aioquic')}")
    parser.add_argument("--address", required=True)
    parser.add_argument("--ca-file")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--connect-timeout", type=float, default=20.0)
    parser.add_argument("url")
    said = asyncio.run(fetch(parser.parse_args()))
    sys.stdout.flush()
    error = said.get("error", "")
    if not error and said.get("status") != 200:
        error = f"status {said.get('status')}"
    if error:
        sys.stderr.write(f"aioquic: {error}\n")
    sys.stderr.write(json.dumps(said) + "\n")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
