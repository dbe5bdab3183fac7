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
from pathlib import Path
from types import ModuleType

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
    asked = argparse.Namespace(url=f"https://{HOST}/x", address="2001:db8::7", protocol=protocol, ca_file=None)
    made = fetch.options(asked)
    assert flag in made
    assert f"--host-resolver-rules=MAP {HOST} [2001:db8::7], MAP * ~NOTFOUND" in made
    assert not any("ignore-certificate" in option for option in made)
