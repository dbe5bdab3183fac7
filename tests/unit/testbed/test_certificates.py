import datetime as dt
from pathlib import Path

from cryptography import x509

from testbed.catalogue import BADCERT, PROVIDERS
from testbed.certificates import ensure_certificates


def test_leaf_names_every_host_and_is_issued_by_the_ca(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path)
    leaf = x509.load_pem_x509_certificate(files.chain.read_bytes())
    ca = x509.load_pem_x509_certificate(files.ca.read_bytes())
    bad = x509.load_pem_x509_certificate(files.bad_chain.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {name for p in PROVIDERS for name in (p.host, f"*.{p.host}")} <= set(names.get_values_for_type(x509.DNSName))
    leaf.verify_directly_issued_by(ca)
    assert bad.issuer != ca.subject
    assert BADCERT.host in bad.subject.rfc4514_string()


def test_private_keys_are_the_owners_alone(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path)
    for path in (tmp_path / "ca.key", files.key, files.combined, files.bad_key):
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_kept_while_valid_and_renewed_before_they_expire(tmp_path: Path) -> None:
    start = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
    first = ensure_certificates(tmp_path, start).chain.read_bytes()
    assert ensure_certificates(tmp_path, start + dt.timedelta(days=334)).chain.read_bytes() == first
    assert ensure_certificates(tmp_path, start + dt.timedelta(days=336)).chain.read_bytes() != first


def test_a_damaged_or_missing_file_makes_all_anew(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path)
    files.ca.write_text("no certificate")
    ensure_certificates(tmp_path)
    assert x509.load_pem_x509_certificate(files.ca.read_bytes())
    files.combined.unlink()
    ensure_certificates(tmp_path)
    assert files.combined.is_file()
