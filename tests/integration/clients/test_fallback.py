"""A server that speaks HTTP/1.1 alone: curl falls back and calls it a success; a trial must not."""

from __future__ import annotations

import datetime as dt
import http.server
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.trial import FailureKind
from lastbyte.ports import Target
from testbed.state import TestbedState


@dataclass(frozen=True)
class Old:
    port: int
    certificate: Path


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def old_server(tmp_path: Path) -> Iterator[Old]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "old.test")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("old.test"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "old.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file = tmp_path / "old.key"
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key_file)
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield Old(server.server_address[1], file)
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("host", ["old.test", "127.0.0.1"])
def test_a_fallback_is_a_failure(
    testbed: TestbedState, runner: ProgramClientRunner, shipped: dict[str, Client], old_server: Old, host: str
) -> None:
    endpoint = Endpoint("e", "p", f"https://{host}:{old_server.port}/x", "100KB")
    target = Target(endpoint, "127.0.0.1", 0.0, old_server.certificate)
    seen = runner.run(shipped["curl-quiche-h2"], target, (), 5.0)
    assert seen.failure is not None
    assert seen.failure.kind is FailureKind.PROTOCOL
    assert (seen.http_status, seen.http_version, seen.body_bytes) == (200, "1.1", 5)
    over_quic = runner.run(shipped["curl-quiche-h3"], target, (), 5.0)
    assert over_quic.failure is not None
    assert over_quic.failure.kind is FailureKind.PROTOCOL
