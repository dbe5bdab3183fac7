from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.client_output import Report
from lastbyte.adapters.outcome import CURL_EXIT_KINDS, Ended, judge
from lastbyte.domain.client import Client, Parser, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.trial import FailureKind

H2 = Client("c-h2", "c", Protocol.H2, "c", ("{url}",), Parser.CURL_JSON.value)
H3 = replace(H2, id="c-h3", protocol=Protocol.H3)
GENERIC = replace(H3, parser=Parser.REGEX.value)
GOOD = Report(0.001, 0.101, 0.152, 0.302, 200, "2", 100, 100, "192.0.2.1")
EARLY = Report(ttlb_s=0.1)
ANSWERED = Report(0.001, 0.101, 0.152, 0.302, 200, "2", 50, 100)


def ended(code: int = 0, stderr: str = "", **more: object) -> Ended:
    return Ended(code, stderr, killed=False, **more) if "killed" not in more else Ended(code, stderr, **more)  # type: ignore[arg-type]


def stated(size: int | None = None, sha256: str | None = None) -> Endpoint:
    return Endpoint("e", "p", "https://example.org/", "", expected_bytes=size, expected_sha256=sha256)


def kind(client: Client, report: Report | None, end: Ended, size: int | None = None) -> FailureKind | None:
    timings, failure = judge(client, report, end, stated(size))
    assert (timings is None) != (failure is None)
    return failure.kind if failure else None


def test_times_count_from_the_start_of_the_connection() -> None:
    timings, failure = judge(H2, GOOD, ended(), stated(100))
    assert failure is None
    assert timings is not None
    assert timings.handshake_s == pytest.approx(0.1)
    assert timings.ttfb_s == pytest.approx(0.151)
    assert timings.ttlb_s == pytest.approx(0.301)


@pytest.mark.parametrize(
    ("client", "report", "end", "size", "expected"),
    [
        (H3, GOOD, ended(), None, FailureKind.PROTOCOL),
        (H2, replace(GOOD, http_version="1.1"), ended(), None, FailureKind.PROTOCOL),
        (H2, replace(GOOD, status=404), ended(), None, FailureKind.HTTP_STATUS),
        (H2, replace(GOOD, status=301), ended(), None, FailureKind.HTTP_STATUS),
        (H2, GOOD, ended(), 101, FailureKind.SHORT_BODY),
        (H2, replace(GOOD, body_bytes=99), ended(), None, FailureKind.SHORT_BODY),
        (H2, None, ended(), None, FailureKind.UNKNOWN),
        (H2, replace(GOOD, ttlb_s=None), ended(), None, FailureKind.UNKNOWN),
        (H2, replace(GOOD, ttlb_s=0.05), ended(), None, FailureKind.UNKNOWN),
        (H2, EARLY, ended(6), None, FailureKind.DNS),
        (H2, EARLY, ended(7, "Could not connect to server"), None, FailureKind.REFUSED),
        (H2, EARLY, ended(7, "Connection timed out"), None, FailureKind.CONNECT_TIMEOUT),
        (H2, EARLY, ended(28), None, FailureKind.CONNECT_TIMEOUT),
        (H2, ANSWERED, ended(28), None, FailureKind.TIMEOUT),
        (H2, ANSWERED, ended(18), None, FailureKind.SHORT_BODY),
        (H3, ANSWERED, ended(18, "HTTP/3 stream 0 reset by server"), None, FailureKind.RESET),
        (H2, ANSWERED, ended(92), None, FailureKind.RESET),
        (H2, EARLY, ended(35, "handshake failure"), None, FailureKind.TLS),
        (H2, EARLY, ended(35, "Recv failure: Connection reset by peer"), None, FailureKind.RESET),
        (H2, EARLY, ended(60), None, FailureKind.TLS),
        (H3, EARLY, ended(96, "certificate verify failed"), None, FailureKind.TLS),
        (H3, ANSWERED, ended(95), None, FailureKind.RESET),
        (H3, EARLY, ended(2, "the installed libcurl version does not support this"), None, FailureKind.PROTOCOL),
        (H2, EARLY, ended(23), None, FailureKind.UNKNOWN),
        (H2, None, ended(-11), None, FailureKind.CLIENT_CRASH),
        (H2, None, ended(-9, killed=True), None, FailureKind.TIMEOUT),
        (H2, None, ended(-9, interrupted=True), None, FailureKind.UNKNOWN),
        (H2, None, ended(1, "nsenter: cannot open /proc/1/ns", launchers=("nsenter",)), None, FailureKind.PATH_LOST),
        (
            H2,
            None,
            ended(127, "nsenter: failed to execute x", launchers=("nsenter",)),
            None,
            FailureKind.CLIENT_CRASH,
        ),
        (GENERIC, None, ended(3, "dial udp: connection refused"), None, FailureKind.REFUSED),
        (GENERIC, None, ended(3, "x509: certificate signed by unknown authority"), None, FailureKind.TLS),
        (GENERIC, None, ended(3, "strange"), None, FailureKind.UNKNOWN),
        (GENERIC, Report(status=503), ended(22), None, FailureKind.HTTP_STATUS),
    ],
)
def test_kinds(client: Client, report: Report | None, end: Ended, size: int | None, expected: FailureKind) -> None:
    assert kind(client, report, end, size) is expected


def test_what_a_client_does_not_report_is_not_asserted() -> None:
    timings, failure = judge(GENERIC, Report(ttlb_s=0.3), ended(), stated(100))
    assert failure is None
    assert timings is not None
    assert (timings.handshake_s, timings.ttfb_s, timings.transfer_s) == (None, None, None)


def test_the_raw_text_is_kept() -> None:
    _, failure = judge(H2, EARLY, ended(99, "curl: (99) something new"), stated())
    assert failure is not None
    assert "exit code 99" in failure.detail
    assert "something new" in failure.detail


def test_no_code_in_the_table_means_success() -> None:
    assert 0 not in CURL_EXIT_KINDS


maybe_time = st.none() | st.floats(0, 100)


@given(
    st.builds(
        Report,
        start_s=st.floats(0, 1),
        handshake_s=maybe_time,
        ttfb_s=maybe_time,
        ttlb_s=maybe_time,
        status=st.none() | st.integers(100, 599),
        http_version=st.none() | st.sampled_from(["1.1", "2", "3"]),
        body_bytes=st.none() | st.integers(0, 200),
        announced_bytes=st.none() | st.integers(0, 200),
        error=st.text(max_size=20),
    ),
    st.builds(Ended, st.integers(-64, 255), st.text(max_size=50), st.booleans(), st.booleans()),
    st.sampled_from([H2, H3, GENERIC]),
    st.none() | st.integers(0, 200),
)
def test_always_exactly_one_of_timings_and_failure(
    report: Report, end: Ended, client: Client, size: int | None
) -> None:
    timings, failure = judge(client, report, end, stated(size))
    assert (timings is None) != (failure is None)
    if timings is not None:
        assert end.exit_code == 0
        assert not end.killed
        phases = [t for t in (timings.handshake_s, timings.ttfb_s, timings.ttlb_s) if t is not None]
        assert phases == sorted(phases)
        assert timings.ttlb_s > 0
    else:
        assert failure is not None
        assert failure.detail


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("chromium: browser crashed: Target page, context or browser has been closed", FailureKind.CLIENT_CRASH),
        ("chromium: protocol mismatch: 3 of 18 resources (17%) came over h3", FailureKind.PROTOCOL),
        (
            "chromium: timed out: no load event within 60 s; first of 2 still under way: https://a.test/",
            FailureKind.TIMEOUT,
        ),
    ],
)
def test_a_page_that_failed_has_its_kind(said: str, expected: FailureKind) -> None:
    client = replace(GENERIC, parser=Parser.JSON.value)
    assert kind(client, Report(status=200, http_version="2"), ended(1, said)) is expected
