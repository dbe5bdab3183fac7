"""What Chromium is told: one address, one protocol, and the keys of the testbed's own certificates alone."""

from __future__ import annotations

import argparse
import base64
import datetime as dt
import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "a.test"


@pytest.fixture(scope="module")
def fetch() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "chromium_fetch", Path(__file__).parents[2] / "clients/chromium/fetch.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def event(number: int, **more: object) -> dict[str, object]:
    return {"requestId": str(number), **more}


def of_page(fetch: ModuleType) -> ModuleType:
    return sys.modules["page_load"]


class Session:
    """Hands on what a browser would say."""

    def __init__(self) -> None:
        self.told: dict[str, Callable[[dict[str, object]], None]] = {}

    def on(self, name: str, hear: Callable[[dict[str, object]], None]) -> None:
        self.told[name] = hear

    def send(self, name: str, arguments: object = None) -> None:
        pass


def loaded(fetch: ModuleType) -> Any:
    """A page of a document over H3, a picture over H2, one from elsewhere, one after the load event."""
    session = Session()
    watch = of_page(fetch).PageWatch(session)
    urls = ("https://a.test/", "https://img.a.test/1.png", "https://ads.example/x.js", "https://a.test/late.png")
    sent_at = (100.0, 100.2, 100.3, 101.5)
    for number, (url, at) in enumerate(zip(urls, sent_at, strict=True)):
        if number == 3:
            session.told["Page.loadEventFired"]({"timestamp": 101.0})
        session.told["Network.requestWillBeSent"](
            event(number, request={"url": url}, timestamp=at, wallTime=1e9 + at, type="Image")
        )
        if number == 2:
            session.told["Network.loadingFailed"](event(number, errorText="net::ERR_NAME_NOT_RESOLVED", timestamp=at))
            continue
        timing = {"requestTime": at, "connectStart": 10, "connectEnd": 60, "sendStart": 60, "sendEnd": 61}
        timing |= {"receiveHeadersStart": 110, "dnsStart": -1, "dnsEnd": -1, "sslStart": 20, "sslEnd": 60}
        answer = {"protocol": "h2" if number else "h3", "status": 200, "timing": timing, "connectionReused": False}
        session.told["Network.responseReceived"](event(number, response=answer))
        session.told["Network.dataReceived"](event(number, dataLength=1000, encodedDataLength=400))
        session.told["Network.loadingFinished"](event(number, timestamp=at + 0.5, encodedDataLength=450))
    session.told["Network.requestWillBeSent"](
        event(9, request={"url": "data:,"}, timestamp=100.1, wallTime=1e9, type="Image")
    )
    return watch


def test_a_page_is_what_was_asked_for_before_its_load_event_of_its_own_names(fetch: ModuleType) -> None:
    watch = loaded(fetch)
    painted = {"zero": 10.0, "load": 910.0, "fcp": 500.0}
    told = of_page(fetch).figures_of(watch, painted)
    assert told == {
        "load_s": pytest.approx(0.9),
        "fcp_s": pytest.approx(0.49),
        "lcp_s": None,
        "resources": 2,
        "failed_resources": 0,
        "hosts": 2,
        "body_bytes": 2000,
        "transferred_bytes": 900,
        "connections": 2,
        "protocols": {"h2": 1, "h3": 1},
        "blocked_hosts": ["ads.example"],
    }
    assert of_page(fetch).zero_of(watch) == pytest.approx(100.01)


def test_a_har_says_when_each_resource_came(fetch: ModuleType) -> None:
    har = sys.modules["har"].har_of(loaded(fetch), "https://a.test/", {"zero": 10.0, "load": 910.0}, "1.2")["log"]
    assert [entry["request"]["url"] for entry in har["entries"]] == ["https://a.test/", "https://img.a.test/1.png"]
    assert [entry["time"] for entry in har["entries"]] == [pytest.approx(500)] * 2
    timings = har["entries"][1]["timings"]
    assert timings == {
        "blocked": pytest.approx(10),
        "dns": -1,
        "connect": 50,
        "ssl": 40,
        "send": 1,
        "wait": 49,
        "receive": pytest.approx(390),
    }
    assert har["pages"][0]["pageTimings"]["onLoad"] == 900
    assert har["pages"][0]["startedDateTime"] == "2001-09-09T01:48:20.010000Z"


@pytest.mark.parametrize(
    ("protocols", "why"),
    [
        ({"h3": 9, "h2": 1}, ""),
        ({"h3": 17, "h2": 2}, "protocol mismatch: 17 of 19 resources (89%) came over h3, at least 90% must"),
        ({"h2": 18}, "protocol mismatch: 0 of 18 resources (0%) came over h3, at least 90% must"),
    ],
)
def test_a_page_counts_by_its_share(fetch: ModuleType, protocols: dict[str, int], why: str) -> None:
    assert of_page(fetch).mismatch(protocols, "h3", 0.9) == why


def test_for_a_page_names_below_its_own_lead_to_the_same_address(fetch: ModuleType) -> None:
    asked = argparse.Namespace(
        url=f"https://{HOST}/x", address="192.0.2.7", protocol="h3", ca_file=None, kind="page", speak=None
    )
    made = fetch.options(asked)
    assert f"--host-resolver-rules=MAP {HOST} 192.0.2.7, MAP *.{HOST} 192.0.2.7, MAP * ~NOTFOUND" in made
    assert "--origin-to-force-quic-on=*" in made
    assert "--disable-web-security" not in made


@pytest.fixture
def keeper(fetch: ModuleType) -> ModuleType:
    return sys.modules["keeper"]


def test_work_has_a_folder_that_goes_with_it_and_its_status_is_kept(
    keeper: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert keeper.run_kept(lambda folder: len(list(Path(folder).parent.glob("lb-chromium-*"))) + 6) == 7
    assert not list(tmp_path.iterdir())


def test_what_work_has_started_and_left_is_ended(keeper: ModuleType, tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def work(folder: str) -> int:
        left = subprocess.Popen(["sleep", "600"], start_new_session=True)
        told.write_text(str(left.pid))
        return 0

    assert keeper.run_kept(work) == 0
    assert not Path(f"/proc/{told.read_text()}").exists()


def certificate(
    file: Path, host: str, signer: ec.EllipticCurvePrivateKey, issuer: str
) -> tuple[ec.EllipticCurvePrivateKey, str]:
    """Write a certificate; its key, and the digest of its public key as Chromium takes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key, base64.b64encode(hashlib.sha256(public).digest()).decode()


def authority(file: Path, name: str) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return key


def test_only_keys_that_the_authority_vouches_for_are_accepted(fetch: ModuleType, tmp_path: Path) -> None:
    ours = authority(tmp_path / "ca.pem", "ours")
    _, good = certificate(tmp_path / "leaf.pem", HOST, ours, "ours")
    certificate(tmp_path / "elsewhere.pem", "b.test", ours, "ours")
    theirs = ec.generate_private_key(ec.SECP256R1())
    certificate(tmp_path / "forged.pem", HOST, theirs, "ours")
    certificate(tmp_path / "bad.pem", HOST, theirs, "theirs")
    (tmp_path / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    assert fetch.keys_of_server(str(tmp_path / "ca.pem"), HOST) == [good]


@pytest.mark.parametrize(
    ("protocol", "flag"), [("h2", "--disable-quic"), ("h3", f"--origin-to-force-quic-on={HOST}:443")]
)
def test_it_is_forced_to_protocol_and_address(fetch: ModuleType, protocol: str, flag: str) -> None:
    asked = argparse.Namespace(
        url=f"https://{HOST}/x", address="2001:db8::7", protocol=protocol, ca_file=None, kind="object", speak=None
    )
    made = fetch.options(asked)
    assert flag in made
    assert f"--host-resolver-rules=MAP {HOST} [2001:db8::7], MAP * ~NOTFOUND" in made
    assert not any("ignore-certificate" in option for option in made)
