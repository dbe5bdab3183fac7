"""Choosing a box and an uplink, and opening paths; ``lastbyte.ports.PathFactory``."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

from lastbyte.domain.errors import InvalidInput, PathUnavailable
from lastbyte.settings import testbed_dir
from netem import kernel_box, uml_box
from netem.box import Box, BoxStatus
from netem.kernel_box import KernelBox
from netem.namespaces import Namespace
from netem.nat import NatUplink, host_egress
from netem.path import ShapedPath
from netem.published import PublishedTestbed
from netem.uml_box import UmlBox
from netem.uplinks import AwaitedTestbed, TestbedState, TestbedUplink, Uplink

BOX_KINDS = ("kernel", "uml")
"""In order of preference."""
UPLINK_KINDS = ("auto", "none", "testbed", "nat")

UplinkKind = Literal["auto", "none", "testbed", "nat"]

TESTBED_RETURN_S = 10.0
"""How long a testbed that died without a word (its file is still there) is waited for: somebody may restart it."""

_STATUS = {"kernel": kernel_box.status, "uml": uml_box.status}


def available_boxes() -> list[BoxStatus]:
    """Every kind of box with whether it can be had here, and why not."""
    return [_STATUS[kind]() for kind in BOX_KINDS]


def choose_box(kind: str) -> str:
    """``auto`` resolved: ``kernel`` where this kernel has netem, else ``uml``.

    Raises InvalidInput for a kind there is not, PathUnavailable with what is missing and how to get it.
    """
    if kind != "auto" and kind not in BOX_KINDS:
        raise InvalidInput("box", f"there is no box {kind!r}.", f"Known: auto, {', '.join(BOX_KINDS)}.")
    reasons: list[str] = []
    for candidate in BOX_KINDS if kind == "auto" else (kind,):
        status = _STATUS[candidate]()
        if status.usable:
            return candidate
        reasons.append(f"{candidate}: {status.reason}")
    raise PathUnavailable("No box can be made here. " + " ".join(reasons))


def testbed_file() -> Path:
    """Where a running testbed describes itself."""
    return testbed_dir() / "testbed.json"


testbed_file.__test__ = False  # type: ignore[attr-defined] # not a test, whatever its name starts with


class ShapedPathFactory:
    """Opens shaped paths.

    ``box``: ``auto``, ``kernel`` or ``uml``; when left out, LASTBYTE_BOX, else ``auto``.
    ``uplink``: ``none`` (the far end only answers echo requests), ``testbed``, ``nat``, or ``auto``: the testbed if one
    runs and the Internet if the host has a default route, both at once on the same path.
    """

    def __init__(self, box: str | None = None, uplink: UplinkKind = "auto", testbed_state: Path | None = None) -> None:
        self._box = box or os.environ.get("LASTBYTE_BOX") or "auto"
        self._uplink = uplink
        self._testbed_state = testbed_state
        if uplink not in UPLINK_KINDS:
            raise InvalidInput("uplink", f"there is no uplink {uplink!r}.", f"Known: {', '.join(UPLINK_KINDS)}.")

    def open(self) -> ShapedPath:
        """A fresh path; raises PathUnavailable saying what is missing."""
        self._box = choose_box(self._box)
        return ShapedPath(self._make_box, self._uplinks())

    def _make_box(self, client: Namespace, uplink: Namespace, run_dir: str) -> Box:
        return KernelBox(client, uplink) if self._box == "kernel" else UmlBox(client, uplink, Path(run_dir))

    def _uplinks(self) -> list[Uplink]:
        state_file = self._testbed_state or testbed_file()
        uplinks: list[Uplink] = []
        if self._uplink == "testbed" or (self._uplink == "auto" and _testbed_runs(state_file)):
            state = TestbedState.read(state_file)
            uplinks.append(PublishedTestbed(state_file) if state and state.published else TestbedUplink(state_file))
        elif self._uplink == "auto":
            uplinks.append(AwaitedTestbed(state_file))
        by_nat = any(isinstance(uplink, PublishedTestbed) for uplink in uplinks)
        if by_nat or self._uplink == "nat" or (self._uplink == "auto" and (host_egress(4) or host_egress(6))):
            uplinks.append(NatUplink())
        return uplinks


def _testbed_runs(state_file: Path) -> bool:
    deadline = time.monotonic() + TESTBED_RETURN_S
    while TestbedState.read(state_file) is None:
        if not state_file.exists() or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
