"""Faults of every part in a seeded random order while a campaign runs; ``make chaos`` is the long form.

LASTBYTE_CHAOS_FAULTS is how many (default: each of a few that test_crashes.py does not have, once), LASTBYTE_CHAOS_SEED
the order. The broker stands at the end of a wire, the artifacts lie on a disk of a few megabytes, and the system goes
by a clock that can be set (tests/chaos/surroundings.py says what that covers).
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from netem.rundir import run_dirs
from tests.chaos.surroundings import Clock, FarBroker, SmallDisk
from tests.chaos.test_crashes import descendants, find, kill
from tests.stack import Stack

LONG = int(os.environ.get("LASTBYTE_CHAOS_FAULTS", "0"))
SEED = int(os.environ.get("LASTBYTE_CHAOS_SEED") or random.SystemRandom().randrange(2**32))
ENDPOINTS = ["testbed-caddy-100KB", "testbed-nginx-100KB"]
PROFILES = ["baseline", "loss-1", "delay-50", "delay-100"]
HONEST = {"ok", "path-lost", "client-crash"}
"""What a trial may have come to: nothing else was done to it."""
CUT_S = 30 if LONG else 5
STEPS_S = (-7200, -3600, -30, 30, 3600, 7200)
MORE_WITHIN_S = 600


@dataclass
class System:
    """A running system and what it stands on."""

    stack: Stack
    broker: FarBroker
    disk: SmallDisk
    clock: Clock
    draw: random.Random = field(default_factory=lambda: random.Random(SEED))  # noqa: S311 - an order to repeat
    offset_s: int = 0

    @property
    def pid(self) -> int:
        """The supervisor's process."""
        assert self.stack.process is not None
        return self.stack.process.pid


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    with ExitStack() as context, pytest.MonkeyPatch.context() as patch:
        folder = Path(context.enter_context(tempfile.TemporaryDirectory(prefix="lb-chaos-")))
        broker = context.enter_context(FarBroker(folder / "far"))
        disk, clock = SmallDisk(folder / "artifacts"), Clock(folder)
        patch.setenv("LASTBYTE_CELL_LIMIT_S", "10")  # cells are handed back in mid-measurement too
        patch.setenv("LASTBYTE_BROKER_URL", broker.url)
        patch.setenv("LASTBYTE_ARTIFACTS_DIR", str(disk.folder))
        stack = Stack("--no-demo", prefix=(*disk.prefix, *clock.prefix))
        with stack:
            yield System(stack, broker, disk, clock)


def worker(system: System) -> None:
    kill([p for p in find(system.stack, "-m worker") if "worker.beat" not in " ".join(p.cmdline())])


def measuring_child(system: System) -> None:
    """The process that measures, not its parent, which must make another."""
    parents = {process.pid for process in find(system.stack, "-m worker")}
    kill([p for p in find(system.stack, "-m worker") if p.ppid() in parents and "beat" not in " ".join(p.cmdline())])


def box(system: System) -> None:
    kill(find(system.stack, "linux.uml"))


def running_curl(system: System) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = [process for process in descendants(system.stack) if _name(process) == "curl"]
        if found:
            kill(found)
            return
        time.sleep(0.005)


def beat(system: System) -> None:
    kill(find(system.stack, "-m worker.beat"))


def api(system: System) -> None:
    kill(find(system.stack, "uvicorn"))


def postgres(system: System) -> None:
    kill([min((p for p in descendants(system.stack) if _name(p) == "postgres"), key=lambda p: p.create_time())])


def broker(system: System) -> None:
    system.broker.kill()
    time.sleep(system.draw.uniform(0, 3))
    system.broker.start()


def broker_with_its_data(system: System) -> None:
    """Everything that was queued is gone; PostgreSQL still knows what is left to do."""
    system.broker.kill()
    system.broker.lose_data()
    system.broker.start()


def silent_broker(system: System) -> None:
    """It holds its connections and answers nothing."""
    system.broker.pause(CUT_S)


def wire_cut(system: System) -> None:
    """Nothing crosses between the system and its broker, and neither end is told."""
    system.broker.cut()
    time.sleep(CUT_S)
    system.broker.mend()


def broker_gone_while_cut(system: System) -> None:
    """What the worker believes to be a connection leads nowhere when the wire is whole again."""
    system.broker.cut()
    system.broker.kill()
    system.broker.start()
    system.broker.mend()


def disk_full(system: System) -> None:
    """No byte is left for artifacts, until it is drawn again."""
    if system.disk.is_full(system.pid):
        system.disk.free(system.pid)
    else:
        system.disk.fill(system.pid)


def clock_stepped(system: System) -> None:
    """Seconds or hours, forth or back."""
    system.offset_s = system.draw.choice([step for step in STEPS_S if step != system.offset_s])
    system.clock.set(system.offset_s)


NEW: list[Callable[[System], None]] = [
    *(running_curl, beat, api, measuring_child),
    *(broker_with_its_data, wire_cut, disk_full, clock_stepped),
]
ALL = [*NEW, worker, box, postgres, broker, silent_broker, broker_gone_while_cut]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


@pytest.mark.timeout(900 + 120 * LONG)
def test_whatever_breaks_in_whatever_order_the_campaign_ends_and_is_whole(system: System) -> None:
    stack, draw = system.stack, system.draw
    faults = _order(draw)
    print(f"\nLASTBYTE_CHAOS_SEED={SEED}: {', '.join(fault.__name__ for fault in faults)}", flush=True)
    profiles, rounds = (PROFILES, min(200, len(faults) + 12)) if LONG else (PROFILES[:2], 14)
    ident = stack.post(
        name="random order",
        endpoints=ENDPOINTS,
        profiles=profiles,
        clients=["curl-quiche"],
        rounds=rounds,
        capture="last-round",
    )["id"]
    done = 0
    for number, fault in enumerate(faults, 1):
        before = _done(stack, ident)
        stack.until(partial(_reached, stack, ident, before + draw.randrange(2, 9)), "more trials", MORE_WITHIN_S)
        if _is_over(stack, ident):
            break
        if LONG:
            print(
                f"{time.strftime('%T')} {number:3} after {_done(stack, ident):5} trials: {fault.__name__}", flush=True
            )
        fault(system)
        done = number
        time.sleep(draw.uniform(0, 2))
    system.disk.free(system.pid)
    ended = stack.wait_done(ident, 600 + 30 * len(faults))
    assert done == len(faults), f"seed {SEED}: the campaign was over after {done} faults"
    assert_whole(stack, ident, ended, len(ENDPOINTS) * len(profiles) * 2 * (rounds + 1))
    assert_nothing_left(stack)


def _order(draw: random.Random) -> list[Callable[[System], None]]:
    """Long: each kind at least a few times, the rest drawn. Short: the first ones once."""
    if not LONG:
        return draw.sample(NEW, len(NEW))
    faults = [ALL[number % len(ALL)] for number in range(LONG // 2)] + [
        draw.choice(ALL) for _ in range(LONG - LONG // 2)
    ]
    draw.shuffle(faults)
    return faults


def assert_whole(stack: Stack, ident: str, ended: dict[str, Any], counted: int) -> None:
    """Every planned trial is stored once, nothing was invented, and what was captured is there or says why not."""
    trials = stack.trials(ident)
    times = Counter((trial["cell_id"], trial["round"], trial["client"]) for trial in trials)
    assert ended["state"] == "done", f"seed {SEED}"
    assert ended["cells_given_up"] == 0, f"seed {SEED}"
    assert {key: n for key, n in times.items() if n > 1} == {}, f"seed {SEED}: stored twice"
    assert sum(trial["round"] >= 0 for trial in trials) == counted, f"seed {SEED}: a counted trial is missing"
    # capture rounds are left out, and said to be, where a busy machine's link was out of tolerance
    assert len(trials) == ended["trials_done"] == ended["trials_planned"] - ended["trials_saved"], f"seed {SEED}"
    outcomes = Counter(trial["outcome"] for trial in trials)
    print(f"outcomes: {dict(outcomes)}", flush=True)
    assert set(outcomes) <= HONEST, f"seed {SEED}: an invented result"
    kept = Counter(_artifact_state(stack, artifact) for artifact in stack.artifacts(ident))
    print(f"artifacts: {dict(kept)}", flush=True)
    assert kept["broken"] == 0, f"seed {SEED}: an artifact's row leads to no file, or to another"


def _artifact_state(stack: Stack, artifact: dict[str, Any]) -> str:
    if artifact["dropped_reason"]:
        return "dropped"
    answer = stack.http.get(f"/artifacts/{artifact['id']}", params={"compressed": "true"})
    digest = hashlib.sha256(answer.content).hexdigest()
    return "whole" if answer.status_code == 200 and digest == artifact["sha256"] else "broken"


def assert_nothing_left(stack: Stack) -> None:
    """No process, socket or namespace of the system outlives it, so no link or qdisc does: they live in namespaces."""
    left = descendants(stack)
    spaces = _namespaces(left) - _namespaces([psutil.Process()])
    assert spaces, "the path has namespaces of its own"
    assert sum(_name(process) == "curl" for process in left) == 0
    assert stack.stop() == 0
    psutil.wait_procs(left, timeout=60)
    alive = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert alive == [], f"seed {SEED}: processes outlived the system"
    assert [p for p in (stack.var / "run").glob("*.sock") if p.exists()] == [], "a socket was left"
    still = [p for p in psutil.process_iter() if _namespaces([p]) & spaces]
    assert still == [], f"seed {SEED}: processes hold namespaces of the system"
    owners = {str(process.pid) for process in left}
    assert [folder for folder, owner in run_dirs() if str(owner.pid) in owners] == [], "a path's folder was left"


def _namespaces(processes: Iterable[psutil.Process]) -> set[str]:
    found = set()
    for process in processes:
        with suppress(OSError):
            found.add(str(Path(f"/proc/{process.pid}/ns/net").readlink()))
    return found


def _reached(stack: Stack, ident: str, trials: int) -> bool:
    return _done(stack, ident) >= trials or _is_over(stack, ident)


def _done(stack: Stack, ident: str) -> int:
    return int(_ask(stack, ident, "trials_done", 0))


def _is_over(stack: Stack, ident: str) -> bool:
    return _ask(stack, ident, "state", "") in ("done", "cancelled")


def _ask(stack: Stack, ident: str, what: str, meanwhile: Any) -> Any:
    try:
        return stack.campaign(ident)[what]
    except httpx.HTTPError:  # API or database may be away on purpose
        return meanwhile
