"""netem's ``seed`` (tc-netem(8)): which versions know it. A path that is open has asked its box and knows for sure."""

from __future__ import annotations

import re

from lastbyte.domain.errors import PathUnavailable
from netem.namespaces import CommandFailed, run

FIRST_VERSION = (6, 6)
"""Linux 6.6 gave netem a random number generator of its own (TCA_NETEM_PRNG_SEED), iproute2 6.6 the option."""


def known_to(kernel_version: str, tc_version: str) -> bool:
    """Whether both are new enough, by their version strings."""
    return all(_numbers(text) >= FIRST_VERSION for text in (kernel_version, tc_version))


def tc_version(program: str = "tc") -> str:
    """What ``tc -V`` says of itself, such as "tc utility, iproute2-6.1.0, libbpf 1.1.2"; empty without tc."""
    try:
        return run([program, "-V"]).strip()
    except (CommandFailed, PathUnavailable):
        return ""


def _numbers(text: str) -> tuple[int, int]:
    """First "MAJOR.MINOR" of a version string; (0, 0) when there is none."""
    found = re.search(r"(?:iproute2-|^)(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
