"""Keys of vantages, with real TLS between what they make (in memory)."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from lastbyte.domain.errors import InvalidInput, Unavailable
from lastbyte.provision import secrets
from lastbyte.provision.vantage_key import Folders, accept, issue, make_gate
from lastbyte.settings import Settings


@pytest.fixture
def main(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "app", tmp_path / "gate", tmp_path / "authority")
    for folder in (found.app, found.gate, found.authority, tmp_path / "pg", tmp_path / "kv"):
        folder.mkdir()
    secrets.ensure(secrets.Folders(found.app, tmp_path / "pg", tmp_path / "kv"), {})
    make_gate(found)
    return found


@pytest.fixture
def vantage(main: Folders, tmp_path: Path) -> Folders:
    there = Folders(tmp_path / "there")
    there.app.mkdir()
    accept(there, issue(main, "tokyo", "main.example.org"))
    return there


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """A whole TLS handshake without a network; raises ssl.SSLError when either side refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    ends[1].write(b"hello")  # TLS 1.3: a server that refused the certificate would have raised before
    assert ends[0].read() == b"hello"


def gate_of(main: Folders) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(main.gate / "server.pem")
    context.load_verify_locations(main.gate / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on
    return context


def client_of(vantage: Folders) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_verify_locations(vantage.app / "ca.pem")
    return context


def test_a_vantage_and_the_gate_prove_themselves_to_each_other(main: Folders, vantage: Folders) -> None:
    client = client_of(vantage)
    client.load_cert_chain(vantage.app / "vantage.pem", vantage.app / "vantage.key")
    handshake(gate_of(main), client)


def test_nobody_comes_in_without_a_certificate(main: Folders, vantage: Folders) -> None:
    with pytest.raises(ssl.SSLError):
        handshake(gate_of(main), client_of(vantage))


def test_a_vantage_can_not_play_the_gate(main: Folders, vantage: Folders) -> None:
    impostor = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    impostor.load_cert_chain(vantage.app / "vantage.pem", vantage.app / "vantage.key")
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        handshake(impostor, client_of(vantage))


def test_a_key_is_the_settings_of_the_vantage(main: Folders, vantage: Folders) -> None:
    found = Settings(_secrets_dir=vantage.app)  # type: ignore[call-arg]
    assert found.vantage == "tokyo"
    database, broker = urlsplit(found.database_url), urlsplit(found.broker_url)
    ours = Settings(_secrets_dir=main.app)  # type: ignore[call-arg]
    assert database.password == urlsplit(ours.database_url).password
    assert broker.password == urlsplit(ours.broker_url).password
    assert (database.hostname, database.port) == ("main.example.org", 15432)
    assert (broker.scheme, broker.hostname, broker.port) == ("rediss", "main.example.org", 16379)
    assert parse_qs(database.query)["sslmode"] == ["verify-ca"]


def test_the_gate_is_made_once(main: Folders) -> None:
    before = (main.gate / "server.pem").read_bytes()
    make_gate(main)
    assert (main.gate / "server.pem").read_bytes() == before


@pytest.mark.parametrize(("name", "host"), [("two words", "h"), ("", "h"), ("x", "h:1"), ("x", "")])
def test_what_is_no_name_or_no_host_is_refused(main: Folders, name: str, host: str) -> None:
    with pytest.raises(InvalidInput):
        issue(main, name, host)


@pytest.mark.parametrize("key", ["", "abc", "eJwDAAAAAAE=", "....", "ü"])
def test_half_a_key_is_refused_with_a_remedy(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidInput, match=r"docs/vantages\.md"):
        accept(Folders(tmp_path), key)


def test_no_key_without_a_gate(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="profile vantages"):
        issue(Folders(tmp_path, tmp_path, tmp_path), "tokyo", "main.example.org")
