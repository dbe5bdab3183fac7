"""Running pytest inside a User-Mode Linux guest, whose kernel has netem where this machine's may not."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.guest import run_in_guest
from lastbyte.provision import debian

# Debian builds this kernel without nftables' IP families, so packets are masqueraded by iptables in it.
MODULES = (
    *("iptable_nat", "ip6table_nat", "iptable_filter", "ip6table_filter"),
    *("xt_MASQUERADE", "xt_conntrack", "xt_comment"),
)


@dataclass(frozen=True, slots=True)
class GuestTests:
    exit_code: int | None
    """pytest's; None when the guest ended without one."""
    passed: int
    skipped: int
    output: str
    elapsed_s: float


def run_pytest(folder: Path, arguments: Sequence[str], timeout_s: float, show: Callable[[str], None]) -> GuestTests:
    """Boot a guest, run pytest in it, hand on each line of output, end the guest."""
    iptables = debian.unpacked("trixie", ["iptables"], "guest-iptables")
    environment = {
        # Reading every plugin's code through hostfs takes seconds.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/sbin:/usr/bin:/sbin:/bin", str(iptables.bin)]),
        "XTABLES_LIBDIR": str(next(iptables.root.glob("usr/lib/*-linux-gnu/xtables"))),
    }
    command = [sys.executable, "-m", "pytest", "-p", "pytest_timeout", "-p", "no:cacheprovider", "--color=no"]
    command += ["-p", "pytest_rerunfailures", "--reruns", "1", "--reruns-delay", "1"]
    result = run_in_guest(folder, [*command, *arguments], timeout_s, show, modules=MODULES, environment=environment)
    summary = next((line for line in reversed(result.lines) if re.search(r"\d+ (passed|failed|error)", line)), "")
    return GuestTests(
        result.exit_code,
        _count(summary, "passed"),
        _count(summary, "skipped"),
        "\n".join(result.lines),
        result.elapsed_s,
    )


def _count(summary: str, word: str) -> int:
    found = re.search(rf"(\d+) {word}", summary)
    return int(found[1]) if found else 0
