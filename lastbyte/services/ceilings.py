"""How fast each client is on this machine when the link does not hold it back.

A cell whose rate comes near that says more of the client than of the protocol. The ceiling is measured through the
very path of the trials, without shaping and without distance, on a large object of the testbed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import median

from lastbyte.domain.ceiling import Ceiling
from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.profile import Profile
from lastbyte.domain.trial import Trial
from lastbyte.services.measure_cell import Bench
from lastbyte.services.one_shot import OneShot, measure

DEFAULT_ROUNDS = 5
UNSHAPED = Profile("unshaped", "No shaping at all")


def measure_ceilings(
    endpoint: Endpoint,
    clients: Sequence[Client],
    rounds: int,
    bench: Bench,
    on_trial: Callable[[Profile, Trial], None] = lambda _profile, _trial: None,
) -> list[Ceiling]:
    """The ceilings of these clients on a large object near by; a client without a success has none.

    Trials that lost datagrams in the client's own buffer count as well: that is a limit of the client.
    """
    near = replace(endpoint, base_rtt_ms=0.0)
    job = OneShot(near, (UNSHAPED,), tuple(clients), rounds, seed=0)
    (result,) = measure(job, bench, on_trial)
    found = []
    for client in clients:
        build = result.proof.builds.get(client.id)
        seen = [trial.observation for trial in result.counted(client.id) if trial.observation.ok]
        rates = [
            observation.body_bytes * 8e-6 / observation.timings.ttlb_s
            for observation in seen
            if observation.timings and observation.body_bytes
        ]
        if build and rates:
            size = max(observation.body_bytes or 0 for observation in seen)
            found.append(
                Ceiling(
                    client.id,
                    build.sha256,
                    median(rates),
                    len(rates),
                    size,
                    result.proof.box_kind,
                    datetime.now(UTC),
                )
            )
    return found
