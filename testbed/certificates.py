"""A local certificate authority and the testbed's certificates, made anew before they expire."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from testbed.catalogue import BADCERT, FAULT_HOSTS, PROVIDERS

_LIFETIME = dt.timedelta(days=365)
_RENEW_BEFORE = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files that the servers read and the clients trust."""

    ca: Path
    """What clients trust; one certificate, so that no client spends time on a whole bundle."""
    chain: Path
    key: Path
    combined: Path
    """Certificate and key in one file, as HAProxy wants them."""
    bad_chain: Path
    """A certificate for the bad host by an authority outside ``ca``."""
    bad_key: Path


def certificates_in(folder: Path) -> Certificates:
    """The files' places below ``folder``; they may not exist yet."""
    return Certificates(
        ca=folder / "ca.pem",
        chain=folder / "leaf.pem",
        key=folder / "leaf.key",
        combined=folder / "leaf-with-key.pem",
        bad_chain=folder / "bad.pem",
        bad_key=folder / "bad.key",
    )


def ensure_certificates(folder: Path, now: dt.datetime | None = None) -> Certificates:
    """Return certificates that are valid for 30 more days at least, making all of them where they are not."""
    moment = now or dt.datetime.now(dt.UTC)
    files = certificates_in(folder)
    if not _all_valid(files, moment):
        folder.mkdir(parents=True, exist_ok=True)
        _make_all(files, folder, moment)
    return files


def _all_valid(files: Certificates, now: dt.datetime) -> bool:
    wanted = set(_hosts())
    if not (files.key.is_file() and files.combined.is_file() and files.bad_key.is_file()):
        return False
    try:
        loaded = [
            x509.load_pem_x509_certificate(path.read_bytes()) for path in (files.ca, files.chain, files.bad_chain)
        ]
        names = loaded[1].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        issued_by_ours = loaded[1].issuer == loaded[0].subject
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    fresh = all(cert.not_valid_before_utc <= now <= cert.not_valid_after_utc - _RENEW_BEFORE for cert in loaded)
    return fresh and issued_by_ours and wanted <= set(names.get_values_for_type(x509.DNSName))


def _hosts() -> list[str]:
    return [*(name for provider in PROVIDERS for name in provider.names), *(host.host for host in FAULT_HOSTS)]


def _make_all(files: Certificates, folder: Path, now: dt.datetime) -> None:
    ca_key, ca = _authority("lastbyte testbed CA", now)
    key, leaf = _leaf(_hosts(), ca_key, ca, now)
    other_key, other = _authority("lastbyte testbed untrusted CA", now)
    bad_key, bad = _leaf([BADCERT.host], other_key, other, now)
    _write(folder / "ca.key", _pem_key(ca_key), private=True)
    _write(files.key, _pem_key(key), private=True)
    _write(files.combined, _pem(leaf) + _pem_key(key), private=True)
    _write(files.bad_key, _pem_key(bad_key), private=True)
    _write(files.bad_chain, _pem(bad))
    _write(files.chain, _pem(leaf))
    _write(files.ca, _pem(ca))  # last: it is what a reader waits for


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _authority(common_name: str, now: dt.datetime) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    builder = _builder(common_name, _name(common_name), key, now)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return key, builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())


def _leaf(
    hosts: Sequence[str], ca_key: ec.EllipticCurvePrivateKey, ca: x509.Certificate, now: dt.datetime
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in hosts]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    builder = _builder(hosts[0], ca.subject, key, now)
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return key, builder.add_extension(authority, critical=False).sign(ca_key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(path: Path, data: bytes, *, private: bool = False) -> None:
    partial = path.with_name(path.name + ".part")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    partial.replace(path)
