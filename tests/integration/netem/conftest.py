"""Paths over every kind of box that can be had here.

The same tests run for ``kernel`` inside a User-Mode Linux guest (test_kernel_in_guest.py), so each must hold there too:
LASTBYTE_BOX then names the only kind to test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lastbyte.domain.profile import Profile
from netem.factory import BOX_KINDS, ShapedPathFactory, available_boxes
from netem.path import ShapedPath
from netem.profiles import load_profiles


def usable_kinds() -> list[str]:
    chosen = os.environ.get("LASTBYTE_BOX", "auto")
    return [status.kind for status in available_boxes() if status.usable and chosen in ("auto", status.kind)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "box_kind" in metafunc.fixturenames:
        kinds = usable_kinds()
        absent = [
            pytest.param(kind, marks=pytest.mark.skip(reason=f"no {kind} box here")) for kind in BOX_KINDS if not kinds
        ]
        metafunc.parametrize("box_kind", kinds or absent, scope="module")


@pytest.fixture(scope="module", autouse=True)
def run_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run folder of the test's own, so that nothing is mixed up with what else runs on this machine.

    Slots are then its own too; so nothing here plugs into the namespace of the machine itself.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("run")
        patch.setenv("LASTBYTE_RUN", str(folder))
        yield folder


@pytest.fixture(scope="session")
def profiles() -> dict[str, Profile]:
    return load_profiles()


@pytest.fixture(scope="module")
def path(box_kind: str, run_root: Path) -> Iterator[ShapedPath]:
    """One path for all tests of a module that leave it usable."""
    with ShapedPathFactory(box_kind, uplink="none").open() as opened:
        yield opened
