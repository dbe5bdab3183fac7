"""A third client is added by a description alone and runs: no Python is touched."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.domain.trial import FailureKind
from testbed.catalogue import DIGESTS
from tests.integration.clients.conftest import Run

SYSTEM_CURL = """
program = "system-curl"
title = "Debian's curl"
executable = ["{program}"]
argv = [
  "--disable", "--silent", "--show-error", "--fail", "{{protocol_argv}}",
  "--resolve", "{{bracketed_host}}:{{port}}:{{bracketed_address}}",
  "--max-time", "{{timeout_s}}", "{{ca_argv}}", "--output", "/dev/null",
  "--write-out", {write_out},
  "{{url}}",
]
ca_argv = ["--cacert", "{{ca_file}}"]

[protocols.h2]
argv = ["--http2"]
"""

REGEX = """
[timings]
parser = "regex"
patterns = [
  'took (?P<start>[0-9.]+) (?P<handshake>[0-9.]+) (?P<ttfb>[0-9.]+) (?P<ttlb>[0-9.]+)',
  'got (?P<status>[0-9]+) (?P<http_version>[0-9.]+) (?P<body_bytes>[0-9]+) (?P<remote_address>.*)',
]
"""
REGEX_OUT = (
    "'took %{time_namelookup} %{time_appconnect} %{time_starttransfer} %{time_total}\\n"
    "got %{response_code} %{http_version} %{size_download} %{remote_ip}\\n'"
)
JSON = """
[timings]
parser = "json"
[timings.fields]
start = "time_namelookup"
handshake = "time_appconnect"
ttlb = "time_total"
http_version = "http_version"
"""
WALL = """
[timings]
parser = "wall"
"""


@pytest.mark.parametrize(
    ("timings", "write_out", "phases"),
    [
        (REGEX, REGEX_OUT.replace("'", '"'), (True, True)),
        (JSON, '"%{json}"', (True, False)),
        (WALL, '""', (False, False)),
    ],
    ids=["regex", "json", "wall"],
)
def test_a_description_is_enough(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    timings: str,
    write_out: str,
    phases: tuple[bool, bool],
) -> None:
    program = shutil.which("curl")
    assert program, "the system's curl is one of the packages that setting up brings"
    (tmp_path / "system-curl.toml").write_text(SYSTEM_CURL.format(program=program, write_out=write_out) + timings)
    monkeypatch.setenv("LASTBYTE_CLIENTS_DIR", str(tmp_path))
    client = next(client for client in load_clients() if client.id == "system-curl-h2")

    seen = run(client, "testbed-nginx.test", size=100_000)
    assert seen.failure is None
    assert seen.timings is not None
    assert 0 < seen.timings.ttlb_s < 1
    assert (seen.timings.handshake_s is not None, seen.timings.ttfb_s is not None) == phases
    if "regex" in timings:
        assert (seen.http_status, seen.http_version, seen.body_bytes) == (200, "2", 100_000)
        assert seen.remote_address

    missing = run(client, "testbed-nginx.test", "/nothing")
    assert missing.failure is not None
    assert missing.failure.kind in {FailureKind.HTTP_STATUS, FailureKind.UNKNOWN}
    assert "404" in missing.failure.detail


def test_the_worked_example_of_the_documents_runs_as_it_stands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (Path(__file__).parents[3] / "docs/clients.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "my-curl.toml").write_text(example)
    monkeypatch.setenv("LASTBYTE_CLIENTS_DIR", str(tmp_path))
    client = next(client for client in load_clients() if client.id == "my-curl-h2")

    seen = run(client, "testbed-nginx.test", size=100_000, sha256=DIGESTS["100KB"])
    assert seen.failure is None
    assert seen.timings is not None
    assert seen.timings.handshake_s is not None
    assert (seen.http_status, seen.http_version, seen.body_bytes) == (200, "2", 100_000)
    missing = run(client, "testbed-nginx.test", "/nothing")
    assert missing.failure is not None
    assert missing.failure.kind is FailureKind.HTTP_STATUS
