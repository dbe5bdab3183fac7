"""The runner of client programs: one fresh process per trial, in the client's namespace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lastbyte.adapters.child_process import DEATH_SIGNAL_LAUNCHER, ChildRunner
from lastbyte.adapters.client_output import Report, read_report
from lastbyte.adapters.command_line import WARM_UP_END, command_line
from lastbyte.adapters.executables import Executables, base_environment
from lastbyte.adapters.outcome import Ended, judge
from lastbyte.adapters.verbose_output import reported_tls, spoken, tls_of
from lastbyte.domain.client import Client, ClientBuild, Parser, Protocol
from lastbyte.domain.errors import ClientUnavailable
from lastbyte.domain.trial import Failure, FailureKind, Observation
from lastbyte.ports import Target

CONNECT_TIMEOUT_S = 20.0
"""Limit of the handshake, in seconds: time for TCP's fourth SYN (RFC 6298: after 1, 3, 7 and 15 s) to be answered."""
GRACE_S = 2.0
"""A client is told the limit of a trial; one that is still running so much later is killed."""
_TCP_PROBE_LIMIT_S = 5.0
_TCP_PROBE = "import socket,sys;socket.create_connection((sys.argv[1],int(sys.argv[2])),3).close()"


class ProgramClientRunner:
    """Runs clients that are programs (implements ``lastbyte.ports.ClientRunner``); one trial at a time."""

    def __init__(self, connect_timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._executables = Executables()
        self._children = ChildRunner()

    def build_of(self, client: Client) -> ClientBuild:
        """The installed build, remembered until its files change; raises ClientUnavailable."""
        return self._executables.build_of(client)

    def command_for(self, client: Client, target: Target, timeout_s: float) -> list[str]:
        """The exact argument list, without the namespace prefix; it starts with the bare name of a missing program."""
        try:
            command: Sequence[str] = self._executables.launch_of(client).command
        except ClientUnavailable:
            command = (client.program,)
        return [*command, *command_line(client, target, timeout_s, self._connect_timeout_s)]

    def run(self, client: Client, target: Target, prefix: Sequence[str], timeout_s: float) -> Observation:
        """Fetch once. A failed fetch is an Observation with a failure; raises ClientUnavailable only."""
        command = [*prefix, *self._executables.launch_of(client).command]
        command += command_line(client, target, timeout_s, self._connect_timeout_s)
        env = {**base_environment(), **client.env}
        started_at = datetime.now(UTC)
        try:
            done = self._children.run(command, env, timeout_s + GRACE_S, digest=bool(client.body))
        except OSError as exc:
            failure = Failure(FailureKind.CLIENT_CRASH, f"{command[0]} can't be started: {exc.strerror}")
            return Observation(started_at=started_at, timings=None, failure=failure, exit_code=-1)
        said_on_stderr = done.stderr.rpartition(WARM_UP_END)[2] if client.warm_up_argv else done.stderr
        report = read_report(client, done.stdout, said_on_stderr, done.elapsed_s)
        server_group = report.headers.get("x-tls-group", "") if report else ""
        launchers = (DEATH_SIGNAL_LAUNCHER, *(Path(word).name for word in prefix[:1]))
        says_curl = client.parser == Parser.CURL_JSON
        fetches_alone = says_curl and client.memory is None and not client.warm_up_argv
        stderr = spoken(said_on_stderr) if says_curl else _without_figures(client, said_on_stderr)
        ended = Ended(done.returncode, stderr, done.killed, done.interrupted, launchers, done.stdout_sha256)
        timings, failed = judge(client, report, ended, target.endpoint)
        said = report or Report()
        return Observation(
            started_at=started_at,
            timings=timings,
            failure=self._explained(client, target, prefix, failed) if failed else None,
            exit_code=done.returncode,
            http_status=said.status,
            http_version=said.http_version,
            body_bytes=said.body_bytes,
            remote_address=said.remote_address,
            # The limit that a time-out is censored at; what came before the fetch is no part of it: a warm-up,
            # a request, a browser's start.
            elapsed_s=done.elapsed_s if fetches_alone else min(done.elapsed_s, timeout_s),
            body_sha256=done.stdout_sha256,
            tls=tls_of(client, said_on_stderr, server_group)
            if says_curl
            else reported_tls(client, said.tls, server_group),
            headers=said.headers,
            page=said.page,
        )

    def terminate_current(self) -> None:
        """End the trial under way at once, from any thread or a signal handler; ``run`` then returns a failure."""
        self._children.terminate()

    def _explained(self, client: Client, target: Target, prefix: Sequence[str], failure: Failure) -> Failure:
        """Tell "no HTTP/3 there" from "nothing there": after a QUIC failure, see whether TCP answers.

        Refused while TCP answers means that no HTTP/3 is spoken. Silence stays a time-out, since loss looks the same,
        but what TCP did is noted.
        """
        if client.protocol is not Protocol.H3 or failure.kind not in (FailureKind.REFUSED, FailureKind.CONNECT_TIMEOUT):
            return failure
        probe = [*prefix, sys.executable, "-I", "-S", "-c", _TCP_PROBE, target.address, str(target.endpoint.port)]
        try:
            done = self._children.run(probe, base_environment(), _TCP_PROBE_LIMIT_S)
        except OSError:
            return failure
        if done.returncode != 0:
            return failure
        if failure.kind is FailureKind.REFUSED:
            return Failure(FailureKind.PROTOCOL, f"no HTTP/3 there: QUIC is refused, TCP answers; {failure.detail}")
        return replace(failure, detail=f"{failure.detail}; TCP answers there: no HTTP/3, UDP filtered, or heavy loss")


def _without_figures(client: Client, said: str) -> str:
    """What a program said for people, without the line of JSON that is read by ``client_output``."""
    if client.parser != Parser.JSON or client.stream != "stderr":
        return said
    return "\n".join(line for line in said.splitlines() if not line.startswith("{"))
