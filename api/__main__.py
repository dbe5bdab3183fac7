"""``python -m api``: serve the API where ``LASTBYTE_API_HOST`` and ``LASTBYTE_API_PORT`` say."""

from __future__ import annotations

import sys

import uvicorn

from api.app import create_app
from lastbyte.adapters import logs
from lastbyte.domain.errors import LastbyteError
from lastbyte.settings import settings

DRAIN_S = 3
"""How long requests may go on once it is to stop; a follower of events would stay for ever."""


def main() -> None:
    """Serve until told to stop; refuses to start where others would reach it and no key is asked for."""
    config = settings()
    try:
        app = create_app(config)
    except LastbyteError as exc:
        sys.exit(f"The API does not start: {exc}")
    logs.configure("api", config.log_format)
    uvicorn.run(
        app,
        log_config=None,
        host=config.api_host,
        port=config.api_port,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_S,
    )


if __name__ == "__main__":
    main()
