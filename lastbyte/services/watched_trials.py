"""Trials that are watched: packets, TLS secrets and qlog, kept beside the trial. They are never counted.

Whatever goes wrong with the files is a reason in their place, never a failed trial.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from lastbyte.domain.capture import Artifact, ArtifactKind, dropped
from lastbyte.domain.client import Client, watched
from lastbyte.domain.trial import LinkProof, Observation
from lastbyte.ports import ArtifactSink, Tap
from lastbyte.services.link import Link

logger = logging.getLogger(__name__)

MAX_PCAP_BYTES = 64_000_000
"""Packets kept of one trial, in bytes: a fetch of 50 MB."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.@-]+")

Observed = tuple[Observation, LinkProof | None]
Observe = Callable[[Client], Observed]


def file_name(*parts: str) -> str:
    """The parts as one name that every file system takes."""
    return "_".join(_NOT_IN_NAMES.sub("-", part).strip("-") for part in parts)[:180]


def watch(
    client: Client, name: str, link: Link, sink: ArtifactSink, observe: Observe
) -> tuple[Observed, tuple[Artifact, ...]]:
    """``observe`` the client while its packets are taken; ``name`` begins the names of the files.

    Raises what ``observe`` raises.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(sink.workspace())
            (folder / "qlog").mkdir()
        except OSError as exc:
            reason = f"There is no folder for it: {exc.strerror or exc}."
            logger.warning("nothing captured of %s: %s", name, reason)
            return observe(client), (dropped(ArtifactKind.PCAP, f"{name}.pcap", reason),)
        return _watch(client, name, link, sink, observe, folder)


def _watch(
    client: Client, name: str, link: Link, sink: ArtifactSink, observe: Observe, folder: Path
) -> tuple[Observed, tuple[Artifact, ...]]:
    keylog, qlogs = folder / "keys.log", folder / "qlog"
    told = watched(client, str(keylog), str(qlogs))
    with link.tap(MAX_PCAP_BYTES) as tap:
        observed = observe(told)
    artifacts = [_packets(tap, f"{name}.pcap", folder / "packets.pcap", sink)]
    if keylog.is_file():
        artifacts.append(sink.keep(ArtifactKind.KEYLOG, f"{name}.keys.txt", keylog))
    for number, file in enumerate(sorted(qlogs.iterdir())):
        suffix = f"-{number + 1}" if number else ""
        artifacts.append(sink.keep(ArtifactKind.QLOG, f"{name}{suffix}.sqlog", file))
    for artifact in artifacts:
        if artifact.dropped_reason:
            logger.warning("%s was not kept: %s", artifact.file_name, artifact.dropped_reason)
    return observed, tuple(artifacts)


def _packets(tap: Tap | None, file_name: str, file: Path, sink: ArtifactSink) -> Artifact:
    if tap is None:
        return dropped(ArtifactKind.PCAP, file_name, "Packets can't be seen on this path.")
    if tap.cut_off:
        reason = f"{tap.cut_off} packets came after the limit of {MAX_PCAP_BYTES // 1_000_000} MB."
        return dropped(ArtifactKind.PCAP, file_name, reason)
    if tap.lost:
        reason = f"The kernel dropped {tap.lost} packets before they were read: what is left would mislead."
        return dropped(ArtifactKind.PCAP, file_name, reason)
    try:
        tap.write_pcap(file)
    except OSError as exc:
        return dropped(ArtifactKind.PCAP, file_name, f"It can't be written: {exc.strerror or exc}.")
    return sink.keep(ArtifactKind.PCAP, file_name, file)
