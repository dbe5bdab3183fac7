"""An own PostgreSQL over one folder: no TCP port, no system user, no package scripts.

The cluster is made once by ``initdb`` and then only ever opened. Durability is PostgreSQL's own: fsync, full page
writes and synchronous commit stay on, so after kill -9 or a power cut it recovers from its log by itself.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lastbyte.domain.errors import Unavailable
from lastbyte.embedded.binaries import Program, find_postgres
from lastbyte.embedded.processes import alive, socket_folder, tied_to_parent, wait_until_left
from lastbyte.embedded.unprivileged import unprivileged

DATABASE = "lastbyte"
SUPERUSER = "postgres"

_READY_LINE = 7
"""Index of the status line in postmaster.pid (PostgreSQL's miscadmin.h, LOCK_FILE_LINE_PM_STATUS - 1)."""
_INITDB_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Postgres:
    """One PostgreSQL server: how to prepare, start and reach it. It starts no process that outlives a call."""

    program: Program
    data_folder: Path
    socket_folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """More server settings, ``name: value``."""

    @classmethod
    def under(cls, var: Path, settings: Mapping[str, str] | None = None) -> Postgres:
        """The server whose state lies in ``var``; it takes the major version that made the data folder."""
        data = var.absolute() / "postgres"
        program = find_postgres(_major_of(data))
        return cls(program, data, socket_folder(var / "run"), dict(settings or {}))

    def prepare(self) -> bool:
        """Make the cluster when there is none (True then) and clear what a killed server left behind."""
        if (self.data_folder / "PG_VERSION").exists():
            self._clear_leftovers()
            unprivileged().own(self.data_folder)
            return False
        self._initdb()
        return True

    def command(self) -> list[str]:
        """The server in the foreground; it shuts down cleanly when its parent dies (SIGINT: fast shutdown)."""
        fixed = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket_folder),
            "unix_socket_permissions": "0700",
            "fsync": "on",
            "full_page_writes": "on",
            "logging_collector": "off",
            "log_line_prefix": "%m [%p] ",
            "jit": "off",  # compiling a query costs more than any of ours runs
            **self.settings,
        }
        options = [part for name, value in fixed.items() for part in ("-c", f"{name}={value}")]
        server = [str(self.program.path), "-D", str(self.data_folder), *options]
        return [*unprivileged().prefix, *tied_to_parent(server, signal.SIGINT)]

    def url(self, database: str = DATABASE) -> str:
        """SQLAlchemy URL of a database on this server."""
        return f"postgresql+psycopg://{SUPERUSER}@/{database}?host={self.socket_folder}"

    def ready(self) -> bool:
        """Whether the server says that it takes connections (what ``pg_ctl`` waits for, without a process)."""
        try:
            lines = (self.data_folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        except OSError:
            return False
        return len(lines) > _READY_LINE and lines[_READY_LINE].strip() == "ready" and alive(int(lines[0]))

    def ensure_database(self, database: str = DATABASE) -> None:
        """Create ``database`` unless it is there."""
        import psycopg  # noqa: PLC0415 - 0.1 s that the start of the server hides
        from psycopg import sql  # noqa: PLC0415

        try:
            with psycopg.connect(
                host=str(self.socket_folder), user=SUPERUSER, dbname="postgres", autocommit=True, connect_timeout=10
            ) as connection:
                there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).fetchone()
                if there is None:
                    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        except psycopg.Error as error:
            raise Unavailable(f"PostgreSQL can't make the database {database}: {error}") from error

    def _initdb(self) -> None:
        """Make the cluster in a folder beside, then move it into place: an aborted start leaves none half made."""
        draft = self.data_folder.with_name(self.data_folder.name + ".new")
        shutil.rmtree(draft, ignore_errors=True)
        self.data_folder.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir(mode=0o700)
        unprivileged().own(draft)
        done = subprocess.run(
            [
                *unprivileged().prefix,
                str(self.program.path.with_name("initdb")),
                *("--pgdata", str(draft), "--username", SUPERUSER, "--auth", "trust"),
                *("--encoding", "UTF8", "--locale", "C", "--no-instructions"),
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=_INITDB_TIMEOUT_S,
        )
        if done.returncode != 0:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
            raise Unavailable(f"initdb of PostgreSQL {self.program.version} failed: {' '.join(last)}")
        if self.data_folder.exists():
            self.data_folder.rmdir()
        draft.rename(self.data_folder)

    def _clear_leftovers(self) -> None:
        """Wait for a server that is still closing; drop a lock file whose process id now belongs to someone else.

        PostgreSQL takes care of a stale postmaster.pid itself, unless the id in it has been given to another
        process of the same user. That file is removed only when no process at all works in the data folder.
        """
        wait_until_left(self.data_folder, "PostgreSQL")
        lock = self.data_folder / "postmaster.pid"
        if lock.exists() and alive(int(lock.read_text(encoding="utf-8").split(maxsplit=1)[0])):
            lock.unlink()


def _major_of(data_folder: Path) -> int | None:
    try:
        return int((data_folder / "PG_VERSION").read_text(encoding="ascii").strip())
    except OSError:
        return None
