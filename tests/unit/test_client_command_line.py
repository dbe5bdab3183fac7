from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.adapters.command_line import CURL_WRITE_OUT, WARM_UP_END, command_line, fill, names_in, seconds
from lastbyte.domain.client import Client, pinned, watched
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import InvalidInput
from lastbyte.ports import Target


def shipped(client_id: str) -> Client:
    return next(client for client in load_clients() if client.id == client_id)


def target(url: str = "https://a.test/x?y=1", address: str = "192.0.2.1", ca: Path | None = Path("/ca.pem")) -> Target:
    return Target(Endpoint("e", "p", url, "100KB"), address, 0.0, ca)


def pairs(argv: list[str]) -> set[tuple[str, str]]:
    return set(itertools.pairwise(argv))


def measured(argv: list[str]) -> list[str]:
    """The last fetch of a command line."""
    return argv[len(argv) - argv[::-1].index("--next") :] if "--next" in argv else argv


def test_curl_is_pinned_forced_and_told_its_limits() -> None:
    argv = command_line(shipped("curl-quiche-h3"), target(), 60.0, 20.0)
    assert argv[0] == "--disable"
    assert argv[-1] == "https://a.test/x?y=1"
    assert "--http3-only" in argv
    assert {
        ("--resolve", "a.test:443:192.0.2.1"),
        ("--connect-timeout", "20"),
        ("--max-time", "60"),
        ("--cacert", "/ca.pem"),
        ("--write-out", f"%{{stderr}}{CURL_WRITE_OUT}"),
        ("--proto", "=https"),
        ("--noproxy", "*"),
    } <= pairs(argv)
    assert not {"--compressed", "--location", "--insecure", "--retry", "--curves", "--output"} & set(measured(argv))


@pytest.mark.parametrize(
    "client_id", ["curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3", "curl-openssl-h3", "curl-quiche-h2@reuse"]
)
def test_curl_is_warm_before_it_fetches(client_id: str) -> None:
    argv = command_line(shipped(client_id), target(), 60.0, 20.0)
    warm_up = argv[: argv.index("--next")]
    assert [word for word in warm_up if word.startswith("https:")] == ["https://127.0.0.1:9/"] * 2
    assert {("--cacert", "/ca.pem"), ("--write-out", f"%{{stderr}}{WARM_UP_END}\n")} <= pairs(warm_up)
    assert "--http3-only" in warm_up
    watched_argv = command_line(watched(shipped(client_id), "keys", "qlog", "har"), target(), 60.0, 20.0)
    assert "https://127.0.0.1:9/" not in watched_argv


def test_pinned_groups_stand_in_the_command() -> None:
    for client_id in ("curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3"):
        argv = command_line(pinned(shipped(client_id), ["X25519MLKEM768", "P-256"]), target(), 60.0, 20.0)
        assert ("--curves", "X25519MLKEM768:P-256") in pairs(argv)


def test_a_client_without_a_way_to_pin_groups_is_refused() -> None:
    plain = replace(shipped("curl-quiche-h2"), tls_groups_argv=())
    assert pinned(plain, []) == plain
    with pytest.raises(InvalidInput, match="curl-quiche-h2 has no way to pin"):
        pinned(plain, ["X25519"])


def test_h2_and_h3_of_a_program_differ_in_the_protocol_alone() -> None:
    h2, h3 = (command_line(shipped(f"curl-quiche-{p}"), target(), 60.0, 20.0) for p in ("h2", "h3"))
    assert [(a, b) for a, b in zip(h2, h3, strict=True) if a != b] == [("--http2", "--http3-only")]


def test_ipv6_is_bracketed_where_a_colon_would_end_it() -> None:
    argv = command_line(shipped("curl-quiche-h2"), target(address="2001:db8::1"), 60.0, 20.0)
    assert ("--resolve", "a.test:443:[2001:db8::1]") in pairs(argv)
    literal = command_line(shipped("curl-quiche-h2"), target("https://[::1]:8443/x", "::1"), 60.0, 20.0)
    assert ("--resolve", "[::1]:8443:[::1]") in pairs(literal)


def test_without_a_ca_file_there_is_no_ca_argument() -> None:
    argv = command_line(shipped("curl-quiche-h2"), target(ca=None), 60.0, 20.0)
    assert "--cacert" not in argv
    assert "{ca_argv}" not in argv


def test_the_connect_limit_is_never_above_the_trial_limit() -> None:
    argv = command_line(shipped("curl-quiche-h2"), target(), 5.0, 20.0)
    assert ("--connect-timeout", "5") in pairs(argv)


def test_every_placeholder_is_filled() -> None:
    everything = (
        "{url}",
        "{host}",
        "{bracketed_host}",
        "{port}",
        "{path}",
        "{address}",
        "{bracketed_address}",
        "{ca_file}",
        "{timeout_s}",
        "{connect_timeout_s}",
        "{curl_write_out}",
    )
    client = replace(shipped("curl-quiche-h2"), argv=everything)
    assert command_line(client, target("https://A.test:8443/x?y=1", "2001:db8::1"), 60.0, 20.0) == [
        "https://A.test:8443/x?y=1",
        "a.test",
        "a.test",
        "8443",
        "/x?y=1",
        "2001:db8::1",
        "[2001:db8::1]",
        "/ca.pem",
        "60",
        "20",
        CURL_WRITE_OUT,
    ]


def test_a_host_beyond_ascii_goes_by_its_dns_name() -> None:
    argv = command_line(shipped("curl-quiche-h2"), target("https://Bücher.test:8443/ä?q#f"), 60.0, 20.0)
    assert ("--resolve", "xn--bcher-kva.test:8443:192.0.2.1") in pairs(argv)
    assert argv[-1] == "https://xn--bcher-kva.test:8443/ä?q#f"


def test_write_out_variables_of_curl_are_no_placeholders() -> None:
    assert fill("%{url} {url}", {"url": "X"}) == "%{url} X"
    assert names_in("%{time_total} {port} %{json}") == ["port"]


@given(st.text())
def test_what_a_url_holds_is_never_filled_again(tail: str) -> None:
    url = f"https://a.test/{{host}}{tail}"
    assert fill("{url}", {"url": url, "host": "wrong"}) == url


@pytest.mark.parametrize(
    ("value", "text"), [(60.0, "60"), (0.25, "0.25"), (0.0, "0.001"), (1.0005, "1"), (100.0, "100")]
)
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text
