"""``lastbyte setup``: bring everything that is missing and can be had without installing system packages.

Steps run side by side (origins download while curl compiles), each says what it does and how long it took; one that
fails does not stop the others. With nothing to do it is over in a few milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from lastbyte.adapters.client_descriptions import load_descriptions
from lastbyte.domain.errors import LastbyteError
from lastbyte.provision.clients import install_client, needs_install
from lastbyte.provision.debian import Progress
from lastbyte.provision.origins import install_origins, origin_programs


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to bring."""

    name: str
    needed: Callable[[], bool]
    """Cheap: looks at files only."""
    bring: Callable[[Progress], object]
    """Raises LastbyteError with what is wrong and how to mend it."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step ended."""

    name: str
    done: bool
    """False when there was nothing to do, or it failed."""
    elapsed_s: float
    problem: str = ""
    """Why it failed; empty when it did not."""


def default_steps() -> list[Step]:
    """Every described client that can be installed and is not optional, and the testbed's servers.

    Raises InvalidInput.
    """
    clients = [
        Step(d.program, partial(needs_install, d), partial(install_client, d))
        for d in load_descriptions()
        if d.install is not None and not d.install.optional
    ]
    return [*clients, Step("origins", _origins_missing, install_origins)]


def _origins_missing() -> bool:
    return any(program.state != "ready" for program in origin_programs())


def run_setup(say: Progress, extra: Sequence[Step] = ()) -> list[StepResult]:
    """Run every step that is needed, side by side; ``say`` gets one line at a time (it may be called by any thread).

    Returns a result per step, in order; those with a ``problem`` failed.
    """
    steps = [*default_steps(), *extra]
    needed = [step for step in steps if step.needed()]
    results = {step.name: StepResult(step.name, done=False, elapsed_s=0.0) for step in steps}
    if needed:
        say(f"to bring: {', '.join(step.name for step in needed)}")
        with ThreadPoolExecutor(max_workers=len(needed)) as pool:
            for result in pool.map(lambda step: _run(step, say), needed):
                results[result.name] = result
    return [results[step.name] for step in steps]


def _run(step: Step, say: Progress) -> StepResult:
    started = time.monotonic()
    try:
        step.bring(lambda text: say(f"{step.name}: {text} ({time.monotonic() - started:.0f} s)"))
    except LastbyteError as exc:
        elapsed_s = time.monotonic() - started
        say(f"{step.name}: failed after {elapsed_s:.0f} s: {exc}")
        return StepResult(step.name, done=False, elapsed_s=elapsed_s, problem=str(exc))
    elapsed_s = time.monotonic() - started
    say(f"{step.name}: ready after {elapsed_s:.0f} s")
    return StepResult(step.name, done=True, elapsed_s=elapsed_s)
