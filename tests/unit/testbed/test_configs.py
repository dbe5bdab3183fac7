from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.errors import InvalidInput
from testbed import configs
from testbed.certificates import certificates_in
from testbed.places import Places
from testbed.probe import is_version_negotiation, version_probe

LAYOUT = configs.Layout(Path("/v/testbed"))
CERTS = certificates_in(LAYOUT.certificates)


def test_nginx_listens_on_both_transports_and_families() -> None:
    text = configs.nginx_conf(LAYOUT, CERTS, Places())
    for line in (
        "listen 10.200.2.1:443 ssl;",
        "listen 10.200.2.1:443 quic reuseport;",
        "listen [fd4c:4254:200:2::1]:443 ssl;",
        "listen [fd4c:4254:200:2::1]:443 quic reuseport;",
        "access_log off;",
        "root /v/testbed/objects;",
    ):
        assert line in text
    assert "%{" not in text
    assert "gzip" not in text
    assert "fd4c" not in configs.nginx_conf(LAYOUT, CERTS, Places(with_ipv6=False))


def test_caddy_keeps_its_hands_off_the_system() -> None:
    text = configs.caddyfile(LAYOUT, CERTS, [7, 9], Places())
    for line in (
        "admin off",
        "auto_https off",
        "skip_install_trust",
        "bind fd/7 fd/9 {",
        "https://testbed-caddy.test, https://*.testbed-caddy.test {",
    ):
        assert line in text
    assert "bind 10.200.1.1 fd4c:4254:200:1::1 {" in text
    assert "encode" not in text


def test_haproxy_takes_tcp_by_descriptor_and_quic_by_address() -> None:
    text = configs.haproxy_cfg(CERTS, [5], Places(with_ipv6=False))
    assert "bind fd@5 ssl crt /v/testbed/certificates/leaf-with-key.pem alpn h2,http/1.1" in text
    assert "bind quic4@10.200.3.1:443 ssl crt" in text
    assert "quic-cc-algo cubic" in text
    assert "quic6@" not in text


def test_faults_speak_no_quic_where_only_h2_is_wanted() -> None:
    text = configs.faults_conf(LAYOUT, CERTS, Places())
    assert "listen 10.200.8.1:443 quic" in text
    assert "listen 10.200.9.1:443 ssl" in text
    assert "listen 10.200.9.1:443 quic" not in text


def test_a_folder_that_a_configuration_cannot_hold_is_refused() -> None:
    layout = configs.Layout(Path("/my files/testbed"))
    with pytest.raises(InvalidInput, match="LASTBYTE_VAR"):
        configs.nginx_conf(layout, certificates_in(layout.certificates), Places())


def test_version_probe_has_the_form_that_servers_answer() -> None:
    datagram = version_probe(b"12345678")
    assert len(datagram) == 1200
    assert datagram[0] & 0x80
    assert not is_version_negotiation(datagram)
    assert is_version_negotiation(b"\x80\x00\x00\x00\x00\x08") is False
    assert is_version_negotiation(b"\xc0\x00\x00\x00\x00\x00\x08abcdefgh\x00\x00\x00\x01")


@given(st.binary(max_size=64))
def test_any_datagram_is_looked_at_without_harm(data: bytes) -> None:
    assert is_version_negotiation(data) in (True, False)
