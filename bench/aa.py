"""How far a client seems to differ from itself: each client twice in every round, as A/A arms of a campaign."""

from __future__ import annotations

import statistics
import threading
from typing import Any

from lastbyte import wiring
from lastbyte.domain.client import again, expand_clients
from lastbyte.services.one_shot import OneShot, measure

ROUNDS = 20
GOAL_PCT = 0.5


def run() -> dict[str, Any]:
    """1 MB at 10 Mbit/s from testbed-nginx, baseline."""
    clients = expand_clients(["curl-quiche", "curl-ngtcp2"], wiring.clients())
    arms = tuple(arm for client in clients for arm in (client, again(client)))
    endpoint = wiring.endpoint_of("https://testbed-nginx.test/1MB.bin")
    goals, rows = [], []
    print("| client | median | median again | difference of medians | paired difference, 95 % interval | n |")
    print("|---|---|---|---|---|---|")
    with wiring.testbed_for(endpoint), wiring.bench(threading.Event(), "auto") as bench:
        job = OneShot(endpoint, (wiring.profiles()["baseline"],), arms, ROUNDS, seed=1)
        result = measure(job, bench, lambda _profile, _trial: None)[0]
        for client in clients:
            one, other = (statistics.median(result.ttlb_s(arm).values()) for arm in (client.id, again(client).id))
            floor = result.floor(client.id)
            assert floor is not None
            off_pct = abs(other / one - 1) * 100
            paired = result.against(client.id, again(client).id)
            assert paired.ci_low_pct is not None
            assert paired.ci_high_pct is not None
            shown = f"{off_pct:.2f} %{' (missed)' if off_pct > GOAL_PCT else ''}"
            print(
                f"| {client.id} | {one * 1000:.1f} ms | {other * 1000:.1f} ms | {shown} | "
                f"{paired.diff_pct:+.2f} % ({paired.ci_low_pct:+.2f} to {paired.ci_high_pct:+.2f}) | {paired.n} |"
            )
            rows.append({"client": client.id, "median_s": one, "again_s": other, "n": paired.n})
            goals.append({"what": f"A/A difference of medians {client.id}, %", "value": off_pct, "at_most": GOAL_PCT})
    return {"goals": goals, "rows": rows}
