"""``lastbyte measure``: one URL, no server and no database, over the real path."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

LASTBYTE = str(Path(sys.executable).with_name("lastbyte"))
URL = "https://testbed-caddy.test/100KB.bin"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {**os.environ, "LASTBYTE_VAR": str(tmp_path_factory.mktemp("var")), "COLUMNS": "80", "NO_COLOR": "1"}


def _is_curl(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("curl")
    except psutil.NoSuchProcess:
        return False


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LASTBYTE, "measure", *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_table_for_people_and_a_file_for_programs(environment: dict[str, str], tmp_path: Path) -> None:
    results = tmp_path / "new" / "results"
    done = run(environment, URL, "-n", "6", "-p", "baseline", "-p", "delay-50", "-d", str(results), "--seed", "7")
    assert done.returncode == 0, done.stderr
    for word in ("curl-quiche-h2", "curl-quiche-h3", "handshake", "TTLB", "95 % interval", "n=6", "RTT", "testbed"):
        assert word in done.stdout
    assert "of 10 Mbit/s, lost 0 of 1000 (0 % requested)" in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "─" in line or "curl-quiche-h2  " in line)
    (file,) = results.iterdir()
    document = json.loads(file.read_text())
    assert document["endpoint"]["base_rtt_ms"] == 10
    assert document["seed"] == 7
    assert [entry["profile"]["name"] for entry in document["profiles"]] == ["baseline", "delay-50"]
    for entry in document["profiles"]:
        assert len(entry["trials"]) == 2 * 7
        assert {arm["n"] for arm in entry["arms"].values()} == {6}
        assert entry["proof"]["rtt"]["requested_ms"] == 10 + entry["profile"]["downlink"]["delay_ms"] * 2
        assert entry["proof"]["link"]["downlink"]["rate_mbit_s"] == pytest.approx(10, rel=0.05)
        assert entry["proof"]["commands"]["curl-quiche-h3"][-1] == URL
    far = document["profiles"][1]["arms"]["curl-quiche-h3"]["against_baseline"]
    assert far["diff_pct"] < -10
    assert far["verdict"] == "h3 faster"


def test_json_on_standard_output_is_the_document_alone(environment: dict[str, str]) -> None:
    done = run(environment, URL, "-n", "1", "-p", "baseline", "-c", "curl-quiche-h3", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"].startswith("lastbyte-measure/")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://example.org/"], ["https"]),
        (["no url"], ["white space"]),
        ([URL, "-p", "nonsense"], ["nonsense", "baseline"]),
        ([URL, "-c", "netscape"], ["netscape", "curl-quiche-h2"]),
        ([URL, "-n", "0"], ["--rounds", "1 to 1000"]),
        ([URL, "--box", "cardboard"], ["cardboard", "uml"]),
        ([URL, "-d", "/proc/nowhere"], ["/proc/nowhere"]),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    environment: dict[str, str], arguments: list[str], words: list[str]
) -> None:
    done = run(environment, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


def test_an_endpoint_that_fails_is_reported_not_raised(environment: dict[str, str]) -> None:
    done = run(environment, "https://no-such-host.invalid/", "-n", "1", "-p", "baseline")
    assert done.returncode == 0
    assert "1 dns" in done.stdout


def test_ctrl_c_reports_what_was_measured_and_leaves_nothing(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [LASTBYTE, "measure", URL, "-n", "1000", "-p", "baseline", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    clients: set[int] = set()
    deadline = time.monotonic() + 120
    while len(clients) < 10:
        assert time.monotonic() < deadline, "no clients were started"
        clients |= {one.pid for one in psutil.Process(process.pid).children(recursive=True) if _is_curl(one)}
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=80)
    document = json.loads(output)
    assert process.returncode == 130
    assert document["interrupted"] is True
    assert len(document["profiles"][0]["trials"]) > 2
    left = subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True, check=False).stdout
    assert left == "", "processes were left behind"
