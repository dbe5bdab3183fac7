"""Where the dashboard finds the API and where it listens; all from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Settings:
    """Settings of one dashboard process."""

    api_url: str = "http://127.0.0.1:8000"
    """Root of the API, without ``/api/v1``."""
    api_key: str = field(default="", repr=False)
    """Shown to the API where it asks for keys; LASTBYTE_API_KEY, or a file lastbyte_api_key in LASTBYTE_SECRETS."""
    host: str = "127.0.0.1"
    port: int = 8050
    workers: int = 2
    """Processes; figures are built in Python, so one per core is enough."""
    threads: int = 8
    """Threads per process; they wait for the API most of the time."""
    poll_ms: int = 2000
    """Interval in milliseconds at which a page asks for news while something is running."""

    @classmethod
    def from_env(cls) -> Self:
        """Read LASTBYTE_API_URL, LASTBYTE_API_KEY, LASTBYTE_DASHBOARD_HOST, _PORT, _WORKERS and _THREADS."""
        env = os.environ
        return cls(
            api_url=env.get("LASTBYTE_API_URL", cls.api_url).rstrip("/"),
            api_key=env.get("LASTBYTE_API_KEY") or _secret("lastbyte_api_key"),
            host=env.get("LASTBYTE_DASHBOARD_HOST", cls.host),
            port=int(env.get("LASTBYTE_DASHBOARD_PORT", cls.port)),
            workers=int(env.get("LASTBYTE_DASHBOARD_WORKERS", cls.workers)),
            threads=int(env.get("LASTBYTE_DASHBOARD_THREADS", cls.threads)),
        )


def _secret(name: str) -> str:
    folder = os.environ.get("LASTBYTE_SECRETS")
    file = Path(folder) / name if folder else None
    return file.read_text(encoding="utf-8").strip() if file is not None and file.is_file() else ""
