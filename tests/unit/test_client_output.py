from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.client_output import read_report
from lastbyte.domain.client import Client, Parser, Protocol

FIGURES = {
    "time_namelookup": 0.001,
    "time_connect": 0.0005,
    "time_appconnect": 0.101,
    "time_starttransfer": 0.152,
    "time_total": 0.302,
    "response_code": 200,
    "http_version": "2",
    "size_download": 100000,
    "remote_ip": "192.0.2.1",
    "errormsg": None,
}


def client(parser: Parser, **more: object) -> Client:
    return Client("x-h2", "x", Protocol.H2, "x", ("{url}",), parser.value, **more)  # type: ignore[arg-type]


def curl(figures: object, headers: object) -> str:
    return f"{json.dumps(figures)}\n{json.dumps(headers)}"


def test_curl_figures_and_edge_headers_are_read() -> None:
    headers = {"Content-Length": ["100000"], "cf-ray": ["8f-FRA"], "via": ["1.1 a", "2 b"], "set-cookie": ["secret"]}
    report = read_report(client(Parser.CURL_JSON), curl(FIGURES, headers), "", 1.0)
    assert report is not None
    assert (report.start_s, report.handshake_s, report.ttfb_s, report.ttlb_s) == (0.001, 0.101, 0.152, 0.302)
    assert (report.status, report.http_version, report.body_bytes) == (200, "2", 100000)
    assert report.announced_bytes == 100000
    assert report.headers == {"cf-ray": "8f-FRA", "via": "1.1 a, 2 b"}


def test_a_fetch_that_never_connected_leaves_figures_out() -> None:
    nothing = {**FIGURES, "time_appconnect": 0, "time_starttransfer": 0, "response_code": 0, "http_version": "0"}
    report = read_report(
        client(Parser.CURL_JSON), curl({**nothing, "errormsg": "refused", "remote_ip": ""}, {}), "", 1.0
    )
    assert report is not None
    assert (report.handshake_s, report.ttfb_s, report.status, report.http_version) == (None, None, None, None)
    assert report.remote_address is None
    assert report.error == "refused"


def test_broken_header_json_does_not_cost_the_figures() -> None:
    report = read_report(client(Parser.CURL_JSON), json.dumps(FIGURES) + '\n{"server": ["\x01', "", 1.0)
    assert report is not None
    assert report.ttlb_s == 0.302
    assert report.headers == {}


@pytest.mark.parametrize("text", ["", "no json", "{", '{"time_total": '])
def test_unreadable_curl_output_is_none(text: str) -> None:
    assert read_report(client(Parser.CURL_JSON), text, "", 1.0) is None


def test_regex_reads_named_groups_with_their_unit() -> None:
    way = client(
        Parser.REGEX,
        patterns=(r"handshake (?P<handshake>[\d.]+)", r"done in (?P<ttlb>[\d.]+) ms, (?P<body_bytes>\d+) bytes"),
        unit="ms",
        stream="stderr",
    )
    report = read_report(
        way, "done in 1 ms, 1 bytes", "handshake 50.5\ndone in 1 ms, 7 bytes\ndone in 250 ms, 9 bytes", 1
    )
    assert report is not None
    assert report.handshake_s == pytest.approx(0.0505)
    assert report.ttlb_s == pytest.approx(0.25)
    assert report.body_bytes == 9
    assert report.ttfb_s is None


def test_json_reads_paths_of_the_last_line() -> None:
    way = client(
        Parser.JSON, timing_map={"ttlb": "runs.0.total", "start": "runs.0.begin", "http_version": "proto"}, unit="us"
    )
    text = 'starting\n{"proto": "HTTP/2.0", "runs": [{"total": 2500, "begin": 500}]}'
    report = read_report(way, text, "", 1.0)
    assert report is not None
    assert (report.start_s, report.ttlb_s, report.http_version) == (pytest.approx(0.0005), pytest.approx(0.0025), "2")


def test_a_path_that_leads_nowhere_gives_no_report() -> None:
    way = client(Parser.JSON, timing_map={"ttlb": "a.9.b"})
    assert read_report(way, '{"a": []}', "", 1.0) is None


def test_wall_takes_the_time_of_the_process() -> None:
    report = read_report(client(Parser.WALL), "anything", "", 1.25)
    assert report is not None
    assert report.ttlb_s == 1.25


@given(st.text(), st.text(), st.sampled_from(list(Parser)))
def test_no_output_makes_the_parsers_raise(stdout: str, stderr: str, parser: Parser) -> None:
    way = client(parser, patterns=(r"(?P<ttlb>\S+)",), timing_map={"ttlb": "a.0"}, stream="both")
    read_report(way, stdout, stderr, 1.0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(list(FIGURES)), JSON), JSON)
def test_no_json_makes_the_curl_parser_raise(figures: dict[str, object], headers: object) -> None:
    read_report(client(Parser.CURL_JSON), curl(figures, headers), "", 1.0)


PAGE = {"resources": 18, "body_bytes": 396608, "transferred_bytes": 400779, "connections": 1, "protocols": {"h3": 18}}


def test_a_page_is_read_with_what_it_says_and_left_out_when_it_makes_no_sense() -> None:
    described = client(Parser.JSON, timing_map={"ttlb": "ttlb_s", "page": "page"})
    good = read_report(described, json.dumps({"ttlb_s": 1.5, "page": {**PAGE, "load_s": 1.7, "fcp_s": None}}), "", 1.0)
    assert good is not None
    assert good.page is not None
    assert (good.ttlb_s, good.page.load_s, good.page.fcp_s) == (1.5, 1.7, None)
    assert good.page.share("h3") == 1
    odd = read_report(described, json.dumps({"ttlb_s": 1.5, "page": {**PAGE, "resources": "many"}}), "", 1.0)
    assert odd is not None
    assert (odd.ttlb_s, odd.page) == (1.5, None)
