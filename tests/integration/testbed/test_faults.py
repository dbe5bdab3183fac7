"""Each host that fails on purpose fails as it says, on a real socket."""

import pytest

from testbed.catalogue import BADCERT, FAULT_BODY_BYTES, FAULTS, H2ONLY, REFUSED, SILENT
from tests.integration.testbed.conftest import Fetch

each_protocol = pytest.mark.parametrize("protocol", ["h2", "h3"])

COULD_NOT_CONNECT, PARTIAL_FILE, TIMED_OUT, UNTRUSTED, H2_STREAM = 7, 18, 28, 60, 92
"""Exit codes of curl (libcurl-errors(3))."""


@each_protocol
def test_a_short_body_breaks_off_half_way(fetch: Fetch, protocol: str) -> None:
    got = fetch(f"https://{FAULTS.host}/short.bin", protocol)
    assert got.exit_code == {"h2": H2_STREAM, "h3": PARTIAL_FILE}[protocol]
    assert (got.status, len(got.body)) == (200, FAULT_BODY_BYTES // 2)


@each_protocol
def test_a_stalled_body_never_ends(fetch: Fetch, protocol: str) -> None:
    got = fetch(f"https://{FAULTS.host}/stall.bin", protocol, timeout_s=1.0)
    assert (got.exit_code, got.status, len(got.body)) == (TIMED_OUT, 200, FAULT_BODY_BYTES // 2)


@each_protocol
def test_not_found(fetch: Fetch, protocol: str) -> None:
    got = fetch(f"https://{FAULTS.host}/nothing", protocol)
    assert (got.exit_code, got.status) == (0, 404)


def test_h2_alone(fetch: Fetch) -> None:
    assert fetch(f"https://{H2ONLY.host}/100KB.bin", "h2").status == 200
    assert fetch(f"https://{H2ONLY.host}/100KB.bin", "h3").exit_code == COULD_NOT_CONNECT


@each_protocol
def test_an_untrusted_certificate(fetch: Fetch, protocol: str) -> None:
    assert fetch(f"https://{BADCERT.host}/100KB.bin", protocol).exit_code == UNTRUSTED
    assert fetch(f"https://{BADCERT.host}/100KB.bin", protocol, options=("--insecure",)).status == 200


@each_protocol
def test_a_refused_connection(fetch: Fetch, protocol: str) -> None:
    assert fetch(f"https://{REFUSED.host}/", protocol).exit_code == COULD_NOT_CONNECT


@each_protocol
def test_a_silent_host(fetch: Fetch, protocol: str) -> None:
    got = fetch(f"https://{SILENT.host}/", protocol, timeout_s=1.0)
    assert (got.exit_code, got.status) == (TIMED_OUT, 0)
