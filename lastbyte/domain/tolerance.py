"""How far a link and its machine may be from what was asked before a number is no longer believed. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Limits of a cell (probed before its trials) and of each trial (counted while it ran)."""

    rtt_ms: float = 1.0
    """The probe's median may miss the requested RTT by this many ms ..."""
    rtt_share: float = 0.02
    """... or by this share of it, whichever is more."""
    rtt_spreads: float = 4.0
    """On a link that varies by design the median may miss it by so many standard errors more."""
    probes_lost: int = 2
    """Probes that may stay away beyond those that the requested loss explains: one or two of twenty can miss their
    time-out on a machine that was busy for a moment."""
    probe_rate_share: float = 0.05
    """The rate that the probe found may differ from the requested one by this share of it."""
    probe_loss_probability: float = 1e-5
    """The probe may lose as many or as few datagrams as a link of the requested loss does more often than this, in
    each direction; a thousand datagrams can't say more, and the drops of each trial are judged too."""
    probe_datagrams_lost: int = 2
    """Datagrams of the probe that may be lost beyond that, to a machine that was busy for a moment."""
    probe_repeats: int = 2
    """How often the probe of rate and loss is repeated while it is out of tolerance: a link that is wrong stays so."""
    gate_mean_ms: float = 3.0
    """The cell waits while the probe's mean is this many ms above what was requested ..."""
    gate_mean_share: float = 0.05
    """... or this share of it, whichever is more. The mean notices spikes that the median hides."""
    gate_deviation_ms: float = 5.0
    """The cell waits while the probe's standard deviation is above this, in ms, and above what the profile asks for."""
    gate_waits_s: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0)
    """Pauses before the probe is repeated. After the last one the cell begins all the same; it is ``unproven`` only
    when the median missed the RTT, and says in its proof that it was not calm."""
    steal_share: float = 0.05
    """CPU time that the hypervisor gave to others, as a share of all CPUs' time while the trial ran."""
    steal_least_s: float = 0.03
    """Less stolen time than this, in seconds over all CPUs, is no matter: the kernel counts in ticks of 10 ms."""
    rcvbuf_errors_share: float = 0.001
    """Datagrams that the client's full socket buffer lost, as a share of the packets that came down. They are losses
    that the link was not asked for; the smallest loss that profiles ask for is 0.1 %."""
    loss_probability: float = 1e-6
    """A trial with fewer drops than a link of the requested loss would show once in this many trials was not on such a
    link. More drops can't be judged so: netem counts a full queue and random loss alike, and a queue may be full."""
    box_cpu_share: float = 0.95
    """CPU time of the box's own processes per second. A box that never rests can't keep a rate; asked of trials that
    are rate-limited only, since an unlimited link is as fast as its box."""
    box_least_s: float = 0.2
    """Trials shorter than this, in seconds, say nothing of how busy the box was."""


DEFAULT = Tolerances()
