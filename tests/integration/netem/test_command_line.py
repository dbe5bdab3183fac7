"""``lastbyte path`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.integration.netem.helpers import descendants, eventually, survivors


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "netem.cli", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_probe_prints_requested_beside_achieved(box_kind: str) -> None:
    done = cli("probe", "--profile", "delay-50", "--box", box_kind, "--base-rtt-ms", "10", "--json")
    values = json.loads(done.stdout)
    assert (values["profile"], values["box"]) == ("delay-50", box_kind)
    assert done.returncode == (0 if values["within_tolerance"] else 3)
    assert values["rtt_ms"]["requested"] == 60
    assert 60 <= values["rtt_ms"]["achieved"] <= 63
    assert values["rate_mbit_s"]["requested"] == 10
    assert values["loss_pct"]["requested"] == 0
    assert values["warnings"] == []
    assert isinstance(values["seed_supported"], bool)


def test_probe_says_what_may_mislead(box_kind: str) -> None:
    done = cli("probe", "--profile", "burst-0.3-25", "--box", box_kind, "--base-rtt-ms", "10", "--json")
    assert "loss_gemodel" in json.loads(done.stdout)["warnings"][0]


def test_exec_passes_output_and_exit_code_on(box_kind: str, run_root: Path) -> None:
    command = ("--profile", "baseline", "--box", box_kind, "--uplink", "none", "--", "sh", "-c")
    done = cli("exec", *command, "ip -br link show path0; exit 7")
    assert done.returncode == 7
    assert done.stdout.startswith("path0")
    assert list((run_root / "paths").iterdir()) == []


def test_exec_ended_by_a_signal_cleans_up(box_kind: str, run_root: Path) -> None:
    argv = [sys.executable, "-m", "netem.cli", "exec", "--profile", "baseline", "--box", box_kind, "--uplink", "none"]
    with subprocess.Popen([*argv, "--", "sh", "-c", "echo up; exec sleep 60"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        children = descendants(process.pid)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert eventually(lambda: not survivors(children))
    assert list((run_root / "paths").iterdir()) == []


def test_bad_input_is_one_sentence_and_exit_code_2() -> None:
    done = cli("probe", "--profile", "snail")
    assert done.returncode == 2
    assert "no profile 'snail'" in done.stderr
    assert "baseline" in done.stderr
    assert "Traceback" not in done.stderr
    done = cli("probe", "--profile", "baseline", "--box", "docker")
    assert (done.returncode, "no box 'docker'" in done.stderr) == (2, True)
    done = cli("exec", "--profile", "baseline", "--uplink", "moon", "--", "true")
    assert (done.returncode, "no uplink 'moon'" in done.stderr) == (2, True)


def test_what_is_missing_is_named_with_its_remedy() -> None:
    environment = {**os.environ, "LASTBYTE_UML": "/nonexistent/linux.uml"}
    argv = [sys.executable, "-m", "netem.cli", "probe", "--profile", "baseline", "--box", "uml"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "apt-get install user-mode-linux" in done.stderr


def test_boxes_and_sweep() -> None:
    done = cli("boxes", "--json")
    assert [row["kind"] for row in json.loads(done.stdout)] == ["kernel", "uml"]
    assert all(row["reason"] for row in json.loads(done.stdout))
    assert all(isinstance(row["seed"], bool) for row in json.loads(done.stdout))
    assert cli("boxes").stdout.count("kernel") >= 1
    assert cli("sweep").stdout == "nothing to remove\n"
