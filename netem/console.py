"""A conversation with one long-lived ``tc -force -batch -`` (tc(8)), the same for both boxes.

Starting a tc per command costs 17 ms inside a User-Mode Linux guest; a tc that is already there answers in 0.2 ms,
little enough to read the counters before and after every trial.

Frames: after the commands comes a line that tc can't know, and tc reports each failed line by its number
("Command failed -:7"). The report of that last line ends the frame; a report of an earlier line is a real failure.
"""

from __future__ import annotations

import json
import os
import re
import select
import threading
import time
from collections.abc import Callable, Sequence

from lastbyte.domain.errors import PathLost
from netem.readback import QdiscState, parse_qdiscs

TIMEOUT_S = 3.0
MAX_LINE_BYTES = 4000
"""A console line is cut by the terminal's line discipline at 4095 bytes (termios(3), canonical mode)."""

TC_ARGUMENTS = ("tc", "-j", "-s", "-force", "-batch", "-")
_FAILED = re.compile(rb"Command failed -:(\d+)\r?\n")


class TcFailed(OSError):
    """tc refused a command; says which and why."""


class TcConsole:
    """tc behind a pair of descriptors, which this object owns. Safe to use from several threads."""

    def __init__(self, write_fd: int, read_fd: int, is_alive: Callable[[], bool]) -> None:
        self._write_fd = write_fd
        self._read_fd = read_fd
        self._is_alive = is_alive
        self._lines_sent = 0
        self._buffer = b""
        self._lock = threading.Lock()
        self.lost = False
        """True once the conversation broke off; it is never taken up again."""
        os.set_blocking(read_fd, False)

    def qdiscs(self) -> dict[str, QdiscState]:
        """Every root qdisc with its counters, in one round trip; raises PathLost."""
        return self.configure([])

    def configure(self, commands: Sequence[Sequence[str]]) -> dict[str, QdiscState]:
        """Run commands (arguments after ``tc``) and read all qdiscs back, in one round trip.

        Raises TcFailed when a command is refused, PathLost when the box is gone or silent.
        """
        lines = [" ".join(command) for command in commands] + ["qdisc show"]
        output = self._exchange(lines)
        rows = [line for line in output.splitlines() if line.startswith("[")]
        if not rows:
            raise PathLost(f"The box answered without a list of qdiscs: {output[:200]!r}")
        try:
            return parse_qdiscs(rows[-1])
        except (json.JSONDecodeError, ValueError) as exc:
            raise PathLost(f"The box answered with something unreadable: {rows[-1][:200]!r}") from exc

    def run(self, commands: Sequence[Sequence[str]]) -> None:
        """Run commands without reading anything back; raises as ``configure`` does."""
        self._exchange([" ".join(command) for command in commands])

    def read_until(self, marker: bytes, timeout_s: float) -> bytes:
        """All output up to and with ``marker``; raises PathLost with what came instead."""
        deadline = time.monotonic() + timeout_s
        while marker not in self._buffer:
            self._read_more(deadline)
        end = self._buffer.index(marker) + len(marker)
        taken, self._buffer = self._buffer[:end], self._buffer[end:]
        return taken

    def wait_end(self, timeout_s: float) -> None:
        """Read on until the other side has closed its end, which no process of a dead box can hold."""
        deadline = time.monotonic() + timeout_s
        while self._read_fd >= 0 and (left := deadline - time.monotonic()) > 0:
            if select.select([self._read_fd], [], [], left)[0]:
                try:
                    if not os.read(self._read_fd, 65536):
                        return
                except OSError:
                    return

    def close(self) -> None:
        """Close both descriptors; tc ends at the end of its input. May be called twice."""
        with self._lock:
            for fd in (self._write_fd, self._read_fd):
                if fd >= 0:
                    os.close(fd)
            self._write_fd = self._read_fd = -1

    def _exchange(self, lines: Sequence[str]) -> str:
        too_long = [line for line in lines if len(line) > MAX_LINE_BYTES or "\n" in line]
        if too_long:
            raise ValueError(f"not a console line: {too_long[0][:80]!r}")
        with self._lock:
            if self._write_fd < 0:
                raise PathLost("The path is closed.")
            first = self._lines_sent + 1
            marker_line = self._lines_sent + len(lines) + 1
            text = "".join(f"{line}\n" for line in [*lines, f"end-of-{marker_line}"])
            if self.lost:
                raise PathLost("The box is gone.")
            self._lines_sent = marker_line
            try:
                os.write(self._write_fd, text.encode())
                output = self.read_until(f"Command failed -:{marker_line}\n".encode(), TIMEOUT_S)
            except OSError as exc:
                self.lost = True
                raise PathLost(f"The box is gone ({exc.strerror}).") from exc
            except PathLost:
                self.lost = True
                raise
        failed = [int(match) for match in _FAILED.findall(output) if int(match) != marker_line]
        if failed:
            said = " ".join(_FAILED.sub(b"", output).decode(errors="replace").split("end-of-")[0].split())
            raise TcFailed(f"tc {lines[failed[0] - first]}: {said}")
        return output.decode(errors="replace")

    def _read_more(self, deadline: float) -> None:
        # Short waits: a box that died without closing its console is noticed at once.
        ready, _, _ = select.select([self._read_fd], [], [], min(0.1, max(0.0, deadline - time.monotonic())))
        if ready:
            try:
                chunk = os.read(self._read_fd, 65536)
            except OSError as exc:  # a pseudo terminal says EIO when the other side is closed
                raise PathLost(f"The box is gone ({exc.strerror}).{self._said()}") from exc
            if not chunk:
                raise PathLost(f"The box is gone (end of its console).{self._said()}")
            self._buffer += chunk.replace(b"\r\n", b"\n")
        elif not self._is_alive():
            raise PathLost(f"The box is gone (its process ended).{self._said()}")
        elif time.monotonic() >= deadline:
            raise PathLost(f"The box does not answer.{self._said()}")

    def _said(self) -> str:
        last = self._buffer.decode(errors="replace").strip().splitlines()[-6:]
        return f" Its last words: {' / '.join(last)}" if last else ""
