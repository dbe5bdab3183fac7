"""What curl says with --verbose, as two builds said it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lastbyte.adapters.verbose_output import spoken, tls_of
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.tls import GroupSource, TlsDetails, check_groups, group_name

H2 = Client("c-h2", "c", Protocol.H2, "c", ("{url}",), "curl-json")
H3 = replace(H2, id="c-h3", protocol=Protocol.H3)
BORINGSSL_H2 = """\
*   Trying 10.200.1.1:443...
* TLSv1.2 (OUT), TLS handshake, Client hello (1):
} [1494 bytes data]
{ [5 bytes data]
* TLSv1.2 (IN), TLS handshake, Server hello (2):
{ [1210 bytes data]
* SSL connection using TLSv1.3 / TLS_AES_128_GCM_SHA256 / [blank] / UNDEF
* Established connection to testbed-caddy.test (10.200.1.1 port 443) from 10.200.1.1 port 52788
> GET /100KB.bin HTTP/2
>
< HTTP/2 200
{ [5 bytes data]
curl: (18) transfer closed
{"url_effective":"https://x/"}
"""
OPENSSL_H3 = """\
* SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384 / x25519 / id-ecPublicKey
* Established connection to x (10.200.1.1 port 443) from 10.200.1.1 port 60746
"""
SILENT_H3 = "* Established connection to x (10.200.1.1 port 443) from 10.200.1.1 port 48954\n* using HTTP/3\n"


def test_the_group_is_told_by_the_length_of_the_key_share() -> None:
    expected = TlsDetails("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", GroupSource.SERVER_HELLO)
    assert tls_of(H2, BORINGSSL_H2) == expected
    for size, group in ((122, "X25519"), (155, "P-256"), (187, "P-384"), (223, "P-521"), (300, None)):
        found = tls_of(H2, BORINGSSL_H2.replace("[1210 bytes", f"[{size} bytes"))
        assert found is not None
        assert found.group == group


def test_after_a_retry_the_second_hello_counts() -> None:
    retry = "* TLSv1.3 (IN), TLS handshake, Server hello (2):\n{ [88 bytes data]\n"
    found = tls_of(H2, retry + BORINGSSL_H2)
    assert found is not None
    assert found.group == "X25519MLKEM768"


def test_a_length_of_tls_1_2_tells_nothing() -> None:
    found = tls_of(
        H2, BORINGSSL_H2.replace("TLSv1.3 / TLS_AES_128_GCM_SHA256", "TLSv1.2 / ECDHE-RSA-AES128-GCM-SHA256")
    )
    assert found == TlsDetails("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256")


def test_what_the_client_names_is_taken() -> None:
    expected = TlsDetails("TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", GroupSource.CLIENT)
    assert tls_of(replace(H3, tls_groups=("P-256",)), OPENSSL_H3) == expected


def test_where_nothing_is_said_nothing_is_known_but_what_was_pinned() -> None:
    assert tls_of(H3, SILENT_H3) == TlsDetails("TLSv1.3")
    assert tls_of(replace(H3, tls_groups=("P-256",)), SILENT_H3) == TlsDetails(
        "TLSv1.3", None, "P-256", GroupSource.PINNED
    )
    assert tls_of(replace(H3, tls_groups=("P-256", "X25519")), SILENT_H3) == TlsDetails("TLSv1.3")
    assert tls_of(H3, SILENT_H3, "secp256r1") == TlsDetails("TLSv1.3", None, "P-256", GroupSource.SERVER)
    assert tls_of(H3, "*   Trying 10.200.1.1:443...\n") is None


def test_remarks_are_told_from_what_the_client_says_itself() -> None:
    assert spoken(BORINGSSL_H2) == 'curl: (18) transfer closed\n{"url_effective":"https://x/"}'


def test_groups_have_one_name() -> None:
    assert [group_name(said) for said in ("x25519", "prime256v1", "X25519MLKEM768", "ffdhe2048")] == [
        "X25519",
        "P-256",
        "X25519MLKEM768",
        "ffdhe2048",
    ]


@pytest.mark.parametrize(("groups", "field"), [(["X25519", "X448"], "tls_groups.1"), (["X25519"] * 2, "tls_groups")])
def test_only_groups_that_every_client_knows_can_be_pinned(groups: list[str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_groups(groups)
    assert caught.value.field == field
