"""An own Valkey over one folder, reached by a unix socket only; queued tasks survive a restart."""

from __future__ import annotations

import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from lastbyte.embedded.binaries import Program, find_valkey
from lastbyte.embedded.processes import socket_folder, tied_to_parent, wait_until_left


@dataclass(frozen=True)
class Valkey:
    """One Valkey server: how to start and reach it."""

    program: Program
    data_folder: Path
    socket: Path

    @classmethod
    def under(cls, var: Path) -> Valkey:
        """The server whose state lies in ``var``."""
        return cls(find_valkey(), var.absolute() / "valkey", socket_folder(var / "run") / "kv.sock")

    def prepare(self) -> None:
        """Make the folder it writes to; wait for a server that is still closing, which would remove our socket."""
        self.data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        wait_until_left(self.data_folder, "Valkey")

    def command(self) -> list[str]:
        """The server in the foreground; it saves and ends when its parent dies.

        The append-only file keeps what Celery has queued, at most one second of it lost in a power cut; nothing is
        ever evicted, because a queue that forgets is no queue.
        """
        server = [
            str(self.program.path),
            *("--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"),
            *("--dir", str(self.data_folder), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
            *("--maxmemory-policy", "noeviction", "--daemonize", "no"),
        ]
        return tied_to_parent(server, signal.SIGTERM)

    def url(self) -> str:
        """Broker URL for Celery."""
        return f"redis+socket://{self.socket}"

    def ready(self) -> bool:
        """Whether it answers PING; it does not while it still loads its file."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(1.0)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
