"""The fetched guest kernel: its program made to start, and found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastbyte.domain.errors import PathUnavailable
from netem import guest_kernel, uml_box, uml_guest


def test_the_loaders_name_is_replaced_in_its_place() -> None:
    image = b"\x7fELF..." + guest_kernel.LOADER + b"\0rest"
    changed = guest_kernel.with_loader_by_descriptor(image)
    assert len(changed) == len(image)
    assert changed.startswith(b"\x7fELF.../proc/self/fd/199\0")
    assert changed.endswith(b"\0rest")


@pytest.mark.parametrize("image", [b"", b"\x7fELF", (guest_kernel.LOADER + b"\0") * 2])
def test_a_program_that_is_not_as_expected_is_left_alone(image: bytes) -> None:
    with pytest.raises(PathUnavailable, match="not built as expected"):
        guest_kernel.with_loader_by_descriptor(image)


def test_it_is_used_once_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTBYTE_CACHE", str(tmp_path))
    monkeypatch.delenv("LASTBYTE_UML", raising=False)
    assert guest_kernel.fetched() is None
    folder = tmp_path / "guest-kernel"
    modules = folder / "lib/uml/modules/6.12.1"
    modules.mkdir(parents=True)
    (modules / "modules.dep").write_text("")
    (folder / "bin").mkdir()
    program = folder / "bin/linux.uml"
    program.write_text("#!/bin/sh\necho 6.12.1\n")
    program.chmod(0o755)
    assert uml_box.find_kernel() == (str(program), modules)
    assert uml_box.tc_of(str(program)) == "tc"
    (folder / "bin/tc").write_text("")
    assert uml_box.tc_of(str(program)) == str(folder / "bin/tc")


def test_the_guest_runs_the_tc_it_is_given() -> None:
    script = uml_guest.init_script([], "/usr/bin/python3", Path("/x.py"), "/cache folder/tc")
    assert script.endswith("exec '/cache folder/tc' -j -s -force -batch - 2>&1\n")
