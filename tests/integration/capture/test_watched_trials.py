"""Watched trials over the real box with the real clients: files, what they say, and that they are not counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LASTBYTE = str(Path(sys.executable).with_name("lastbyte"))
BODY_BYTES = 1_000_000
CLIENTS = ("curl-quiche-h2", "curl-quiche-h3", "curl-ngtcp2-h3")


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "LASTBYTE_VAR": str(folder / "var"), "NO_COLOR": "1"}
    done = subprocess.run(
        [LASTBYTE, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    url = "https://testbed-nginx.test/1MB.bin"
    clients = ("-c", "curl-quiche", "-c", "curl-ngtcp2")
    run(
        folder,
        "measure",
        url,
        "-n",
        "1",
        "-p",
        "baseline",
        *clients,
        "--capture",
        "last-three-rounds",
        "-d",
        str(folder),
    )
    return folder


@pytest.fixture(scope="module")
def acks(results: Path) -> dict[str, list[dict[str, Any]]]:
    """What each client acknowledged in each of its three watched trials."""
    files = sorted(str(file) for file in (results / "captures").iterdir())
    picture = results / "acks.html"
    trials = json.loads(run(results, "acks", *files, "--json", "--html", str(picture)))[0]["trials"]
    assert "plotly" in picture.read_text()
    return {name: [trial for trial in trials if name in trial["client"]] for name in CLIENTS}


def test_each_client_leaves_what_it_can_and_is_not_counted(results: Path) -> None:
    left = sorted(file.name.partition("_capture")[2] for file in (results / "captures").iterdir())
    kinds = ["keys.txt"] * 3 + ["pcap"] * 3 + ["sqlog"] * 2
    assert left == [f"{number}.{kind}" for number in (1, 2, 3) for kind in kinds]
    (file,) = results.glob("*.json")
    (profile,) = json.loads(file.read_text())["profiles"]
    assert sorted(trial["round_index"] for trial in profile["trials"]) == [
        number for number in (-3, -2, -1, 0, 1) for _ in CLIENTS
    ]
    assert {arm["n"] for arm in profile["arms"].values()} <= {0, 1}
    for trial in profile["trials"]:
        assert bool(trial["artifacts"]) == (trial["round_index"] < 0)
        assert not any(artifact["dropped_reason"] for artifact in trial["artifacts"])
        tls = trial["observation"]["tls"]
        if trial["round_index"] < 0:  # curl-quiche does not say them over QUIC: they are from the packets
            assert (tls["version"], tls["group"]) == ("TLSv1.3", "X25519MLKEM768")
            assert tls["cipher"].startswith("TLS_")


def test_all_of_the_body_and_little_more_is_acknowledged(acks: dict[str, list[dict[str, Any]]]) -> None:
    for trial in acks["curl-quiche-h2"]:
        # certificate, then 22 bytes of TLS and 9 of HTTP/2 per frame
        assert BODY_BYTES * 1.002 < trial["figures"]["acked_bytes"] < BODY_BYTES * 1.02
    for trial in (*acks["curl-quiche-h3"], *acks["curl-ngtcp2-h3"]):
        trace, figures = trial["trace"], trial["figures"]
        assert BODY_BYTES < trace["received_bytes"] < BODY_BYTES + 1000
        # what came last may go unacknowledged: the client says goodbye at once
        assert 0 <= trace["received_bytes"] - figures["acked_bytes"] < 5000


@pytest.mark.parametrize("client", CLIENTS)
def test_the_slope_with_headers_is_the_rate_of_the_link(acks: dict[str, list[dict[str, Any]]], client: str) -> None:
    found = [trial["figures"] for trial in acks[client]]
    # a busy machine can make a client fall behind in one of the three, but none can be faster than the link
    assert max(item["wire_slope_mbit_s"] for item in found) == pytest.approx(10, rel=0.05)
    assert all(item["slope_mbit_s"] < item["wire_slope_mbit_s"] for item in found)
    assert min(trial["trace"]["rtt_ms"] for trial in acks[client]) == pytest.approx(20, abs=8)
