"""``python -m dashboard``: serve the dashboard with gunicorn (see ``dashboard.settings`` for its environment)."""

from __future__ import annotations

from typing import Any

from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from dashboard.app import create_app
from dashboard.settings import Settings


class _Server(BaseApplication):  # type: ignore[misc]
    """gunicorn without a configuration file or command line of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        settings = self._settings
        for key, value in {
            "bind": f"{settings.host}:{settings.port}",
            "worker_class": "gthread",
            "workers": settings.workers,
            "threads": settings.threads,
            "preload_app": True,  # imported once, then forked: quick to start, memory shared
            "keepalive": 75,  # beyond the ticks of open pages, which else meet a connection that is just being closed
            "graceful_timeout": 3,
            "loglevel": "warning",
            "proc_name": "lastbyte-dashboard",
            "control_socket_disable": True,
        }.items():
            self.cfg.set(key, value)

    def load(self) -> Any:
        return create_app(self._settings).server


def main() -> None:
    """Serve until told to stop."""
    _Server(Settings.from_env()).run()


if __name__ == "__main__":
    main()
