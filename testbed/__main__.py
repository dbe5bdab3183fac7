"""``python -m testbed``: run the testbed in the foreground until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from lastbyte.domain.errors import LastbyteError, Unavailable
from lastbyte.provision.origins import install_origins
from lastbyte.settings import testbed_dir
from testbed.run import EXIT_ALREADY_RUNNING, EXIT_UNAVAILABLE
from testbed.state import TestbedState
from testbed.supervisor import AlreadyRunning, run


def _announce(state: TestbedState) -> None:
    where = f"published at {state.published.address}" if state.published else f"namespace {state.netns}"
    lines = [f"testbed ready: process {state.pid}, {where}, CA {state.ca_file}"]
    lines += [f"  https://{p.host}/  {p.address}  {p.server}" for p in state.providers]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    parser.add_argument(
        "--var", type=Path, default=None, help="state folder (default: LASTBYTE_TESTBED, else LASTBYTE_VAR, else ./var)"
    )
    parser.add_argument("--install", action="store_true", help="fetch the servers first where they are missing")
    parser.add_argument(
        "--published", action="store_true", help="serve on ports of this machine's address; for a container"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    try:
        if options.install:
            install_origins(_say)
        run(options.var or testbed_dir(), _announce, published=options.published)
    except AlreadyRunning as exc:
        sys.stderr.write(f"{exc}\n")
        return EXIT_ALREADY_RUNNING
    except Unavailable as exc:
        sys.stderr.write(f"{exc}\n")
        return EXIT_UNAVAILABLE
    except LastbyteError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
