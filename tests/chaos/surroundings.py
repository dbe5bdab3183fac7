"""What a system stands on, so that a test can take it away: a wire to its broker, a disk for artifacts, a clock."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from lastbyte.embedded.valkey import Valkey

NET = f"10.78.{os.getpid() % 250}"
"""Two runs on one machine do not meet."""


class FarBroker:
    """A Valkey as on another machine: in a network namespace of its own, at the end of a wire that can be cut."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._valkey = Valkey.under(folder)
        self._outside = f"lbk{os.getpid() % 100000}"
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"redis://{NET}.2:6379/0"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"])
        self._enter = ["nsenter", f"--target={self._holder.pid}", "--net"]
        deadline = time.monotonic() + 30
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
            assert time.monotonic() < deadline, "no network namespace"
            time.sleep(0.01)
        wire = ["ip", "link", "add", self._outside, "type", "veth", "peer", "name", "wire", "netns"]
        _run([*wire, str(self._holder.pid)])
        _run(["ip", "address", "add", f"{NET}.1/30", "dev", self._outside])
        _run(["ip", "link", "set", self._outside, "up"])
        for words in ("address add {net}.2/30 dev wire", "link set wire up", "link set lo up"):
            _run([*self._enter, "ip", *words.format(net=NET).split()])
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._holder.kill()
        self._holder.wait()  # the wire goes with the namespace

    def start(self) -> None:
        """Start the server, over what data there is."""
        self._valkey.prepare()
        listening = ["--port", "6379", "--bind", f"{NET}.2", "--protected-mode", "no"]
        with (self._folder / "valkey.log").open("ab") as log:
            command = [*self._enter, *self._valkey.command(), *listening]
            self._server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self._valkey.ready():
            assert time.monotonic() < deadline, "the broker did not start"
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill -9."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()

    def lose_data(self) -> None:
        """Everything that was queued is gone; to be called while it is dead."""
        shutil.rmtree(self._folder / "valkey")

    def pause(self, seconds: float) -> None:
        """Connected, and silent."""
        assert self._server is not None
        subprocess.run(["kill", "-STOP", str(self._server.pid)], check=True)
        time.sleep(seconds)
        subprocess.run(["kill", "-CONT", str(self._server.pid)], check=True)

    def cut(self) -> None:
        """Nothing crosses the wire any more, and nobody is told."""
        _run([*self._enter, "ip", "link", "set", "wire", "down"])

    def mend(self) -> None:
        """The wire carries again."""
        _run([*self._enter, "ip", "link", "set", "wire", "up"])


class SmallDisk:
    """A file system of a few megabytes that only the system under test sees, for its artifacts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.prefix = (
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount -t tmpfs -o size=8m none "$0" && exec "$@"',
            str(folder),
        )
        """Put before a command so that it runs with that disk."""

    def fill(self, pid: int) -> None:
        """Leave not a byte free, seen from a process of the system."""
        with self._filler(pid).open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free(self, pid: int) -> None:
        """Give it back."""
        self._filler(pid).unlink(missing_ok=True)

    def is_full(self, pid: int) -> bool:
        """Whether it was filled."""
        return self._filler(pid).exists()

    def _filler(self, pid: int) -> Path:
        return Path(f"/proc/{pid}/root{self.folder}/filler")


class Clock:
    """The time of day as the system's processes see it, and nobody else's; a step applies at once.

    Covers what asks the C library: PostgreSQL, Valkey, API, beat, worker, dashboard and testbed (Caddy excepted, which
    asks the kernel). Not the clients, which get a clean environment, nor the guest kernel inside a box. The monotonic
    clock goes on, as when a machine's clock is set.
    """

    def __init__(self, folder: Path) -> None:
        self._file, self._library = folder / "clock", folder / "stepped_clock.so"
        self._file.write_bytes(bytes(8))
        source = Path(__file__).with_name("stepped_clock.c")
        _run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(self._library), str(source)])
        for shared in (folder, self._file, self._library):
            shared.chmod(0o755)  # PostgreSQL runs as a user without rights

    @property
    def prefix(self) -> tuple[str, ...]:
        """Put before a command so that it, and what it starts, goes by this clock."""
        return ("env", f"LD_PRELOAD={self._library}", f"STEPPED_CLOCK={self._file}")

    def set(self, offset_s: int) -> None:
        """So many seconds before or after the real time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", offset_s))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
