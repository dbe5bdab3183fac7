"""Keys of vantages: how a worker on another machine reaches database and broker, over TLS that both sides prove.

``python -m lastbyte.provision.vantage_key gate`` makes an authority of its own and the gate's certificate (once);
``issue NAME HOST`` prints a key for one vantage: a certificate of that authority and both URLs, in one line;
``accept`` unpacks LASTBYTE_VANTAGE_KEY into files that stand for settings (LASTBYTE_SECRETS).

The authority signs nothing else. The gate's certificate is for servers only and a vantage's for clients only, so none
can play the other, and the gate's name does not matter.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import datetime as dt
import json
import os
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lastbyte.domain.errors import InvalidInput, LastbyteError, Unavailable

DATABASE_PORT = 15432
BROKER_PORT = 16379
KEY_VARIABLE = "LASTBYTE_VANTAGE_KEY"

_LIFETIME = dt.timedelta(days=3650)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]")


@dataclass(frozen=True, slots=True)
class Folders:
    """Where files lie in the container that this runs in."""

    app: Path = Path("/run/lastbyte-secrets")
    """Settings of the processes of lastbyte: of the main system for ``issue``, of the vantage for ``accept``."""
    gate: Path = Path("/run/lastbyte-secrets-gate")
    """What the gate reads."""
    authority: Path = Path("/run/lastbyte-secrets-authority")
    """The authority's own key; nothing that runs sees it."""


def make_gate(folders: Folders) -> str:
    """Make the authority and the gate's certificate unless they are there; returns a line for people."""
    if (folders.gate / "server.pem").exists():
        return "the gate has its certificate already"
    key, name = ec.generate_private_key(ec.SECP256R1()), _name("lastbyte vantages")
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    builder = _builder(name, name, key.public_key()).add_extension(constraints, critical=True)
    authority = builder.add_extension(_key_usage(signs=True), critical=True).sign(key, hashes.SHA256())
    _write(folders.authority / "ca.key", _pem_key(key), 0o400)
    _write(folders.authority / "ca.pem", _pem(authority), 0o444)
    server, server_key = _leaf(folders, "lastbyte gate", ExtendedKeyUsageOID.SERVER_AUTH)
    _write(folders.gate / "ca.pem", _pem(authority), 0o444)
    _write(folders.gate / "server.pem", server + server_key, 0o444)  # last: what makes all of it complete
    return "the gate's certificate is made"


def issue(folders: Folders, vantage: str, host: str) -> str:
    """A key for ``vantage``, whose worker reaches the gate at ``host``. Raises InvalidInput or Unavailable."""
    if not _NAME.fullmatch(vantage):
        raise InvalidInput("name", f"{vantage!r} is no name for a vantage.", "Use letters, digits, dots and dashes.")
    if not _HOST.fullmatch(host):
        raise InvalidInput("host", f"{host!r} is no host.", "Give a name or an address, IPv6 in brackets, no port.")
    try:
        database, broker = (_password(folders.app / f"lastbyte_{name}_url") for name in ("database", "broker"))
        authority = (folders.authority / "ca.pem").read_text(encoding="ascii")
    except OSError as exc:
        raise Unavailable(f"The main system has no gate yet ({exc}). Start it with the profile vantages.") from exc
    certificate, key = _leaf(folders, vantage, ExtendedKeyUsageOID.CLIENT_AUTH)
    document = {
        "vantage": vantage,
        "host": host,
        "database": database,
        "broker": broker,
        "ca": authority,
        "certificate": certificate.decode("ascii"),
        "key": key.decode("ascii"),
    }
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(document).encode(), 9)).decode("ascii")


def accept(folders: Folders, key: str) -> str:
    """Unpack a key into settings below ``folders.app``; returns a line for people. Raises InvalidInput."""
    try:
        document = json.loads(zlib.decompress(base64.urlsafe_b64decode(key.strip())))
        vantage, host, database, broker = (str(document[name]) for name in ("vantage", "host", "database", "broker"))
        files = {"ca.pem": document["ca"], "vantage.pem": document["certificate"], "vantage.key": document["key"]}
    except (ValueError, KeyError, TypeError, binascii.Error, zlib.error) as exc:
        remedy = "Make one on the main machine: docs/vantages.md."
        raise InvalidInput(KEY_VARIABLE, "is missing or not whole." if not key else "is not whole.", remedy) from exc
    for name, text in files.items():
        _write(folders.app / name, str(text).encode("ascii"), 0o400 if name.endswith(".key") else 0o444)
    here = folders.app
    # direct: TLS from the first byte, so that the gate need not know PostgreSQL's own way of asking for it
    tls = f"sslmode=verify-ca&sslnegotiation=direct&sslrootcert={here}/ca.pem"
    tls += f"&sslcert={here}/vantage.pem&sslkey={here}/vantage.key"
    url = f"postgresql+psycopg://lastbyte:{database}@{host}:{DATABASE_PORT}/lastbyte?{tls}"
    _write(here / "lastbyte_database_url", url.encode(), 0o444)
    tls = f"ssl_cert_reqs=required&ssl_check_hostname=false&ssl_ca_certs={here}/ca.pem"
    tls += f"&ssl_certfile={here}/vantage.pem&ssl_keyfile={here}/vantage.key"
    _write(here / "lastbyte_broker_url", f"rediss://:{broker}@{host}:{BROKER_PORT}/0?{tls}".encode(), 0o444)
    _write(here / "lastbyte_vantage", vantage.encode(), 0o444)
    return f"this is the vantage {vantage}, measuring for {host}"


def _password(file: Path) -> str:
    """The password of a URL, quoted as it stands there."""
    return urlsplit(file.read_text(encoding="utf-8")).password or ""


def _leaf(folders: Folders, common_name: str, usage: x509.ObjectIdentifier) -> tuple[bytes, bytes]:
    """Certificate and key, signed by the authority."""
    authority = x509.load_pem_x509_certificate((folders.authority / "ca.pem").read_bytes())
    signer = serialization.load_pem_private_key((folders.authority / "ca.key").read_bytes(), password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise Unavailable("The authority's key is not the one that was made here.")
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(_name(common_name), authority.subject, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=True)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    certificate = builder.add_extension(identifier, critical=False).sign(signer, hashes.SHA256())
    return _pem(certificate), _pem_key(key)


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    """What strict verification wants to read (RFC 5280, 4.2.1.3): an authority signs certificates, others sign data."""
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(file: Path, data: bytes, mode: int) -> None:
    partial = file.with_name(f".{file.name}.part")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as target:
        target.write(data)
    partial.replace(file)


def main(arguments: list[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lastbyte.provision.vantage_key")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("gate", help="make the authority and the gate's certificate unless they are there")
    issuing = commands.add_parser("issue", help="print a key for one vantage")
    issuing.add_argument("name", help="of the vantage, as it stands in campaigns and results")
    issuing.add_argument("host", help="name or address by which the vantage reaches this machine")
    commands.add_parser("accept", help=f"unpack {KEY_VARIABLE}")
    options = parser.parse_args(arguments)
    folders, env = Folders(), environment if environment is not None else os.environ
    try:
        if options.command == "gate":
            said = make_gate(folders)
        elif options.command == "issue":
            said = issue(folders, options.name, options.host)
        else:
            said = accept(folders, env.get(KEY_VARIABLE, ""))
    except (LastbyteError, OSError) as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    sys.stdout.write(said + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
