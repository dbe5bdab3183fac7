"""A program under the supervisor's care in tests: real children, but tiny ones. ``python small_system.py DIR CASE``."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from lastbyte.domain.errors import LastbyteError
from lastbyte.embedded.child import Child
from lastbyte.embedded.postgres import Postgres
from lastbyte.embedded.preflight import only_one
from lastbyte.embedded.processes import tied_to_parent
from lastbyte.embedded.supervisor import Supervisor
from lastbyte.embedded.valkey import Valkey

folder, case = Path(sys.argv[1]), sys.argv[2]
postgres, valkey = Postgres.under(folder), Valkey.under(folder)


def shell(script: str, death: signal.Signals = signal.SIGKILL) -> list[str]:
    return tied_to_parent(["sh", "-c", script], death)


children = [
    Child(
        "postgres",
        postgres.command,
        prepare=postgres.prepare,
        ready=postgres.ready,
        settle=postgres.ensure_database,
        stop_signal=signal.SIGINT,
    ),
    Child("valkey", valkey.command, prepare=valkey.prepare, ready=valkey.ready),
    Child("migrations", lambda: shell("echo migrated"), needs=("postgres", "valkey"), once=True, stage=1),
    # a service with a helper process of its own, which no PDEATHSIG reaches
    Child("service", lambda: shell("sleep 1000 & wait"), needs=("migrations",), stage=1),
]
if case == "optional-fails":
    children.append(Child("extra", lambda: shell("echo no TUN device; exit 3"), ready=lambda: False, essential=False))
if case == "essential-fails":
    children.append(Child("api", lambda: shell("echo cannot import api; exit 3"), ready=lambda: False, stage=1))
if case == "migration-fails":
    children.append(Child("second", lambda: shell("echo bad revision; exit 1"), once=True, stage=1))
if case == "stubborn":
    children.append(
        Child("stubborn", lambda: shell("trap '' TERM; sleep 1000 & wait; wait"), stage=1, stop_timeout_s=30)
    )


def note() -> None:
    (folder / "processes.json").write_text(json.dumps(supervisor.processes()))


try:
    with only_one(folder):
        supervisor = Supervisor(children, folder / "log", lambda line: print(line, flush=True))
        supervisor.run(lambda: print("UP", flush=True), note)
except LastbyteError as error:
    print(f"failed: {error}", flush=True)
    sys.exit(1)
