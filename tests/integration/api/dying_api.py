"""An API that dies by SIGKILL as it stores the answer to a create: ``python -m ... FD before|after``, see the test."""

from __future__ import annotations

import os
import signal
import sys

import uvicorn

from api.app import create_app
from lastbyte.adapters.postgres.engine import SharedTransaction
from tests.integration.api.conftest import wire_samples


class _Dying(SharedTransaction):
    """All that is stored has been said to PostgreSQL when the commit is called."""

    def commit(self) -> None:
        if sys.argv[2] == "after":
            super().commit()
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    import lastbyte.adapters.postgres.idempotency as seam

    seam.SharedTransaction = _Dying  # type: ignore[misc]
    uvicorn.run(create_app(wiring=wire_samples), fd=int(sys.argv[1]), log_level="warning", ws="none")
