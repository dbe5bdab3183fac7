"""Trials: one fetch by one client, its timings or its failure, and the proof of the link it ran on."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lastbyte.domain.capture import Artifact
from lastbyte.domain.page import PageLoad
from lastbyte.domain.timeline import Played
from lastbyte.domain.tls import TlsDetails


class FailureKind(enum.StrEnum):
    """Closed vocabulary of failures; ``unknown`` keeps the raw text in ``Failure.detail``."""

    DNS = "dns"
    """The host name has no address."""
    NOT_ALLOWED = "not-allowed"
    """The host's address is one that workers don't connect to (``lastbyte.domain.addresses``); nothing was sent."""
    REFUSED = "refused"
    """The connection was refused (TCP RST, ICMP unreachable)."""
    CONNECT_TIMEOUT = "connect-timeout"
    """No connection within the limit: a censored observation."""
    TIMEOUT = "timeout"
    """Connected, but the last byte did not come within the limit: a censored observation."""
    TLS = "tls"
    """Certificate or TLS handshake failure."""
    PROTOCOL = "protocol"
    """The protocol that was asked for was not spoken (no H3 there, or a fallback)."""
    HTTP_STATUS = "http-status"
    """Answered, but not with 200."""
    SHORT_BODY = "short-body"
    """Fewer bytes than announced or expected: the transfer broke off."""
    WRONG_BODY = "wrong-body"
    """All bytes came, but they are not those that the endpoint states (SHA-256)."""
    RESET = "reset"
    """The peer closed or reset the connection or the stream midway."""
    PATH_LOST = "path-lost"
    """The link under the trial died; says nothing about the endpoint."""
    CLIENT_CRASH = "client-crash"
    """The client program died by a signal or could not be started."""
    UNKNOWN = "unknown"
    """Anything else; the raw text is kept."""


CENSORED: frozenset[FailureKind] = frozenset({FailureKind.CONNECT_TIMEOUT, FailureKind.TIMEOUT})
"""Kinds that say "TTLB is at least the limit" rather than "no observation"."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a trial gave no TTLB."""

    kind: FailureKind
    detail: str
    """What the client said, raw."""


@dataclass(frozen=True, slots=True)
class Timings:
    """Phases of one fetch, in seconds from the start of the connection (name resolution excluded).

    TTLB is from the start of the connection to the last body byte at the client; for curl
    ``time_total - time_namelookup`` (curl(1), --write-out).
    """

    handshake_s: float | None
    """Start to TLS (or QUIC) handshake done: curl's time_appconnect. None: the client does not report it."""
    ttfb_s: float | None
    """Start to first response byte: curl's time_starttransfer. None: the client does not report it."""
    ttlb_s: float
    """Start to last body byte."""

    @property
    def wait_s(self) -> float | None:
        """Handshake done to first byte."""
        return None if self.ttfb_s is None or self.handshake_s is None else self.ttfb_s - self.handshake_s

    @property
    def transfer_s(self) -> float | None:
        """First byte to last byte."""
        return None if self.ttfb_s is None else self.ttlb_s - self.ttfb_s


@dataclass(frozen=True, slots=True)
class DirectionCounters:
    """What a direction's qdisc did while one trial ran (differences of its counters)."""

    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    """Random loss and queue overflow together, as netem counts them."""
    backlog_packets: int
    """Packets still queued when the trial ended."""
    overflow_packets: int = 0
    """Drops beyond what the requested random loss explains: at least so many were for want of room in the queue. Exact
    where no random loss was requested; else those above the 99.9 % quantile of the binomial distribution, because
    netem's counters tell the two apart nowhere (sch_netem.c: both count as ``drops``). 0 where loss comes in bursts
    or the profile has a timeline: then drops can't be put down to one or the other at all."""

    @property
    def offered_packets(self) -> int:
        """Packets that were sent into the direction: those that came out and those that were dropped."""
        return self.sent_packets + self.dropped_packets


@dataclass(frozen=True, slots=True)
class HostUse:
    """What the machine did while one trial ran."""

    elapsed_s: float
    """Wall time between the two readings, in seconds; a little more than the trial."""
    busy_share: float
    """Share of all CPUs' time that was not idle (/proc/stat)."""
    steal_share: float
    """Share of all CPUs' time that the hypervisor gave to others."""
    steal_s: float
    """The same in seconds, over all CPUs."""
    load1: float
    """Load average of the last minute when the trial ended."""
    pressure_share: float | None = None
    """Share of the time in which some task waited for a CPU (/proc/pressure/cpu); None where the kernel has none."""
    box_cpu_share: float | None = None
    """CPU seconds of the box's own processes per second; None where the box is part of this kernel."""


@dataclass(frozen=True, slots=True)
class LinkProof:
    """What the link did during one trial."""

    downlink: DirectionCounters
    uplink: DirectionCounters
    udp_rcvbuf_errors: int = 0
    """Increase of UdpRcvbufErrors in the client's namespace (/proc/net/snmp)."""
    host: HostUse | None = None
    """None for trials that were stored before this was measured."""
    netem_seed: int | None = None
    """Seed of netem's random numbers, the same for all arms of the round; None where this box's netem has none or
    the profile leaves nothing to chance."""
    played: Played | None = None
    """What was played of the profile's timeline; None without one."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run of a client gave, before it is tied to a campaign."""

    started_at: datetime
    """UTC."""
    timings: Timings | None
    """None exactly when ``failure`` is set."""
    failure: Failure | None
    exit_code: int
    http_status: int | None = None
    http_version: str | None = None
    """``2`` or ``3``, as the client reports it."""
    body_bytes: int | None = None
    remote_address: str | None = None
    elapsed_s: float = 0.0
    """Wall time of the client process, in seconds; the censoring limit for time-outs."""
    body_sha256: str | None = None
    """Digest of a whole body, taken after the client ended; None: it failed, or its program keeps it."""
    tls: TlsDetails | None = None
    """What the handshake agreed on; None: no connection stood, or its program does not say."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Response headers that tell the edge: age, via, server, cf-ray, x-cache, alt-svc."""
    page: PageLoad | None = None
    """For a whole page, where the client can load one; None: a single object, or a page's document alone."""

    @property
    def ok(self) -> bool:
        """True when the trial has a TTLB."""
        return self.failure is None


@dataclass(frozen=True, slots=True)
class Trial:
    """One observation in its place in a cell."""

    round_index: int
    """0 is the warm-up round, below 0 are the capture rounds: both are stored, not counted."""
    client_id: str
    position: int
    """Place of the arm within its round, from 0."""
    observation: Observation
    proof: LinkProof | None = None
    unproven_reason: str = ""
    """Why link or machine were out of tolerance during this trial, which keeps it out of comparisons; empty when they
    were in tolerance."""
    artifacts: tuple[Artifact, ...] = ()
    """What it left, for a trial that was watched; not read back with the trial."""

    @property
    def is_counted(self) -> bool:
        """True for trials that comparisons are made of: from round 1 on."""
        return self.round_index >= 1

    @property
    def is_capture(self) -> bool:
        """True for a trial that was watched, which perturbs it."""
        return self.round_index < 0

    @property
    def is_warmup(self) -> bool:
        """True for round 0."""
        return self.round_index == 0
