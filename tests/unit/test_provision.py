from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from lastbyte.adapters.launch import Launch, launch_file, read_launch, write_launch
from lastbyte.domain.errors import Unavailable
from lastbyte.provision import doctor, setup
from lastbyte.provision.debian import Progress
from lastbyte.provision.doctor import DoctorRow


@dataclass(frozen=True)
class Box:
    kind: str
    usable: bool
    version: str = "6.1"
    reason: str = "no sch_netem"


def test_one_usable_box_is_enough() -> None:
    rows = doctor.box_rows([Box("kernel", usable=False), Box("uml", usable=True)])
    assert [row.state for row in rows] == ["unusable", "ok"]
    assert doctor.healthy(rows)
    assert not doctor.healthy(doctor.box_rows([Box("kernel", usable=False), Box("uml", usable=False)]))


def test_a_missing_server_carries_its_remedy() -> None:
    def find() -> doctor.ProgramLike:
        raise Unavailable("No Valkey found. Install Debian's valkey-server.")

    row = doctor.server_row("valkey", find)
    assert row.state == "missing"
    assert "Install" in row.remedy


def test_rights_are_read_from_the_capabilities() -> None:
    assert doctor._rights_row("CapEff:\t000001ffffffffff\n").state == "ok"
    lacking = doctor._rights_row("CapEff:\t0000000000000000\n")
    assert lacking.state == "unusable"
    assert "CAP_NET_ADMIN" in lacking.detail
    assert "root" in lacking.remedy


def test_the_table_holds_what_the_document_holds() -> None:
    rows = [DoctorRow("client", "x-h3", "curl 8.22.0 (x) quiche/0.30.0", "missing", "not [installed]", "Run: it")]
    console = Console(width=120, record=True, file=Path("/dev/null").open("w"))  # noqa: SIM115 - closed below
    console.print(doctor.table(rows))
    console.file.close()
    text = console.export_text()
    assert "curl 8.22.0 quiche/0.30.0" in text
    assert "not [installed]" in text
    assert "Run: it" in text
    assert json.loads(json.dumps(doctor.document(rows)))["ok"] is False


def test_a_provider_that_fails_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for own in ("client_rows", "origin_rows", "system_rows"):
        monkeypatch.setattr(doctor, own, list)

    def broken_rows() -> list[DoctorRow]:
        raise Unavailable("nothing works")

    rows = doctor.examine([broken_rows])
    assert DoctorRow("system", "broken", "", "unusable", "nothing works") in rows


def test_setup_runs_what_is_needed_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=5)
    said: list[str] = []

    def meet(progress: Progress) -> None:
        both.wait()
        progress("met")

    def fail(progress: Progress) -> None:
        both.wait()
        raise Unavailable("no network. Check it.")

    def never(progress: Progress) -> None:
        raise AssertionError("not needed")

    steps = [
        setup.Step("a", lambda: True, meet),
        setup.Step("b", lambda: True, fail),
        setup.Step("c", lambda: False, never),
    ]
    monkeypatch.setattr(setup, "default_steps", lambda: steps)
    results = setup.run_setup(said.append)
    assert [(r.name, r.done, r.problem) for r in results] == [
        ("a", True, ""),
        ("b", False, "no network. Check it."),
        ("c", False, ""),
    ]
    assert said[0] == "to bring: a, b"
    assert any(line.startswith("b: failed") for line in said)


def test_a_launch_file_is_read_back_and_refused_when_its_files_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path))
    program = tmp_path / "curl"
    program.write_text("x")
    launch = Launch((str(program), "--flag"), (str(program),), "package 1.2")
    write_launch(launch_file("x"), launch)
    assert read_launch(launch_file("x")) == launch
    program.unlink()
    assert read_launch(launch_file("x")) is None
    launch_file("x").write_text("[]")
    assert read_launch(launch_file("x")) is None
