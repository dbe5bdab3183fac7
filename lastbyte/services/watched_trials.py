"""Trials that are watched: packets, TLS secrets and qlog, kept beside the trial. They are never counted.

Whatever goes wrong with the files is a reason in their place, never a failed trial.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from lastbyte.domain.capture import Artifact, ArtifactKind, dropped
from lastbyte.domain.client import Client, watched
from lastbyte.domain.tls import TlsDetails
from lastbyte.domain.trial import LinkProof, Observation
from lastbyte.ports import ArtifactSink, Tap
from lastbyte.services.link import Link

logger = logging.getLogger(__name__)

MAX_PCAP_BYTES = 64_000_000
"""Packets kept of one trial, in bytes: a fetch of 50 MB."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.@-]+")

Observed = tuple[Observation, LinkProof | None]
Observe = Callable[[Client], Observed]
TlsOfPcap = Callable[[bytes], TlsDetails | None]


def file_name(*parts: str) -> str:
    """The parts as one name that every file system takes."""
    return "_".join(_NOT_IN_NAMES.sub("-", part).strip("-") for part in parts)[:180]


def watch(
    client: Client, name: str, link: Link, sink: ArtifactSink, observe: Observe, tls_of_pcap: TlsOfPcap
) -> tuple[Observed, tuple[Artifact, ...]]:
    """``observe`` the client while its packets are taken; ``name`` begins the names of the files.

    Where the client did not say what TLS agreed on, ``tls_of_pcap`` tells it from the packets. Raises what ``observe``
    raises.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(sink.workspace())
            (folder / "qlog").mkdir()
        except OSError as exc:
            reason = f"There is no folder for it: {exc.strerror or exc}."
            logger.warning("nothing captured of %s: %s", name, reason)
            return observe(client), (dropped(ArtifactKind.PCAP, f"{name}.pcap", reason),)
        return _watch(client, name, link, sink, observe, tls_of_pcap, folder)


def _watch(
    client: Client,
    name: str,
    link: Link,
    sink: ArtifactSink,
    observe: Observe,
    tls_of_pcap: TlsOfPcap,
    folder: Path,
) -> tuple[Observed, tuple[Artifact, ...]]:
    keylog, qlogs, har = folder / "keys.log", folder / "qlog", folder / "page.har"
    told = watched(client, str(keylog), str(qlogs), str(har))
    with link.tap(MAX_PCAP_BYTES) as tap:
        observed = observe(told)
    pcap = folder / "packets.pcap"
    if why_not := _write_packets(tap, pcap):
        artifacts = [dropped(ArtifactKind.PCAP, f"{name}.pcap", why_not)]
    else:
        observed = (_with_tls(observed[0], tls_of_pcap, pcap), observed[1])
        artifacts = [sink.keep(ArtifactKind.PCAP, f"{name}.pcap", pcap)]
    if keylog.is_file():
        artifacts.append(sink.keep(ArtifactKind.KEYLOG, f"{name}.keys.txt", keylog))
    if har.is_file():
        artifacts.append(sink.keep(ArtifactKind.HAR, f"{name}.har", har))
    for number, file in enumerate(sorted(qlogs.iterdir())):
        suffix = f"-{number + 1}" if number else ""
        artifacts.append(sink.keep(ArtifactKind.QLOG, f"{name}{suffix}.sqlog", file))
    for artifact in artifacts:
        if artifact.dropped_reason:
            logger.warning("%s was not kept: %s", artifact.file_name, artifact.dropped_reason)
    return observed, tuple(artifacts)


def _with_tls(observation: Observation, tls_of_pcap: TlsOfPcap, pcap: Path) -> Observation:
    """The observation with what the hellos say, where its client named neither cipher nor group of its connection."""
    told = observation.tls
    if observation.failure or told is None or (told.cipher and told.group):
        return observation
    try:
        seen = tls_of_pcap(pcap.read_bytes())
    except OSError:
        return observation
    return observation if seen is None else replace(observation, tls=seen)


def _write_packets(tap: Tap | None, file: Path) -> str:
    """Put the packets into ``file``; why that was not possible, empty when it was."""
    if tap is None:
        return "Packets can't be seen on this path."
    if tap.cut_off:
        return f"{tap.cut_off} packets came after the limit of {MAX_PCAP_BYTES // 1_000_000} MB."
    if tap.lost:
        return f"The kernel dropped {tap.lost} packets before they were read: what is left would mislead."
    try:
        tap.write_pcap(file)
    except OSError as exc:
        return f"It can't be written: {exc.strerror or exc}."
    return ""
