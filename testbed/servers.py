"""The server processes of the testbed: how each is started, asked to stop, and found ready."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastbyte.adapters import realtime
from lastbyte.domain.errors import Unavailable
from lastbyte.provision.origins import program
from testbed import configs
from testbed.catalogue import BADCERT, FAULTS, H2ONLY, Provider
from testbed.certificates import Certificates
from testbed.namespace import available_congestion_controls, default_congestion_control
from testbed.places import Place, Places
from testbed.probe import answers_h2, answers_quic

_LOG = logging.getLogger("testbed")
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_READY_TIMEOUT_S = 20.0
_STOP_TIMEOUT_S = 2.0
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server process."""

    name: str
    version: str
    """Package version of its program."""
    command: tuple[str, ...]
    work: Path
    """Its folder: configuration, pid file and log."""
    ready: tuple[tuple[Place, str, bool, Path | None], ...]
    """What must answer: place, host name, whether over QUIC too, and the CA to check (None: QUIC alone)."""
    graceful: signal.Signals = signal.SIGTERM
    """Signal that lets transfers under way finish."""
    environment: Mapping[str, str] = field(default_factory=dict)
    sockets: tuple[int, ...] = ()
    """Descriptors that it inherits."""


def tcp_congestion_control(provider: Provider) -> str:
    """TCP congestion control that ``provider`` really uses here.

    Without CAP_NET_ADMIN only what the host allows (net.ipv4.tcp_allowed_congestion_control) can be had.
    """
    wanted = provider.tcp_congestion_control
    if wanted not in available_congestion_controls():
        return default_congestion_control()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted.encode())
        except OSError:
            return default_congestion_control()
    return wanted


def listening_sockets(provider: Provider, places: Places) -> list[socket.socket]:
    """Listening TCP sockets with the provider's congestion control, which accepted connections inherit.

    None of the servers has a setting for it, and the namespace's default is not free either: outside the first
    namespace only the host's allowed ones may become default. A socket option may name any that is available.
    """
    made = []
    for place in places.of(provider):
        sock = socket.socket(place.family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, tcp_congestion_control(provider).encode())
        sock.bind((place.address, place.port))
        sock.listen(1024)
        made.append(sock)
    return made


def specs(
    layout: configs.Layout, certs: Certificates, sockets: Mapping[str, Sequence[socket.socket]], places: Places
) -> list[ServerSpec]:
    """Write every server's configuration below ``layout`` and say how each is run."""
    programs = {name: program(name) for name in ("caddy", "nginx", "haproxy")}
    descriptors = {name: tuple(sock.fileno() for sock in made) for name, made in sockets.items()}
    texts = {
        "caddy": ("Caddyfile", configs.caddyfile(layout, certs, descriptors["caddy"], places)),
        "nginx": ("nginx.conf", configs.nginx_conf(layout, certs, places)),
        "haproxy": ("haproxy.cfg", configs.haproxy_cfg(certs, descriptors["haproxy"], places)),
        "faults": ("nginx.conf", configs.faults_conf(layout, certs, places)),
    }
    files = {}
    for name, (file_name, text) in texts.items():
        layout.work(name).mkdir(parents=True, exist_ok=True)
        files[name] = layout.work(name) / file_name
        files[name].write_text(text)

    def spec(
        name: str,
        uses: str,
        arguments: Sequence[str],
        graceful: signal.Signals = signal.SIGTERM,
        environment: Mapping[str, str] | None = None,
    ) -> ServerSpec:
        ready: tuple[tuple[Place, str, bool, Path | None], ...]
        if name == "faults":
            ready = (
                (places.of(FAULTS)[0], FAULTS.host, True, certs.ca),
                (places.of(H2ONLY)[0], H2ONLY.host, False, certs.ca),
                (places.of(BADCERT)[0], BADCERT.host, True, None),
            )
        else:
            provider = configs.provider_of(name)
            ready = tuple((place, provider.host, True, certs.ca) for place in places.of(provider))
        found = programs[uses]
        return ServerSpec(
            name,
            found.version,
            (str(found.path), *arguments),
            layout.work(name),
            ready,
            graceful,
            environment or {},
            descriptors.get(name, ()),
        )

    nginx = ["-p", str(layout.work("nginx")), "-e", "stderr", "-c", str(files["nginx"])]
    faults = ["-p", str(layout.work("faults")), "-e", "stderr", "-c", str(files["faults"])]
    home = str(layout.work("caddy"))
    caddy_environment = {
        "HOME": home,
        "XDG_DATA_HOME": home,
        "XDG_CONFIG_HOME": home,
        # Debian builds with Go 1.20's defaults, which leave out the post-quantum group that every browser offers.
        "GODEBUG": "tlsmlkem=1,tls10server=0",
    }
    # nginx takes over listening sockets whose descriptors this variable lists, as after an upgrade of its binary.
    nginx_environment = {"NGINX": "".join(f"{descriptor};" for descriptor in descriptors["nginx"])}
    return [
        spec("nginx", "nginx", nginx, signal.SIGQUIT, nginx_environment),
        spec(
            "caddy",
            "caddy",
            ["run", "--config", str(files["caddy"]), "--adapter", "caddyfile"],
            environment=caddy_environment,
        ),
        spec("haproxy", "haproxy", ["-db", "-f", str(files["haproxy"])], signal.SIGUSR1),
        spec("faults", "nginx", faults, signal.SIGQUIT),
    ]


def _before_it_starts() -> None:
    """In the child: ask the kernel to kill it when the supervisor dies, however it dies (PR_SET_PDEATHSIG, prctl(2)).

    And take real-time priority, which all its threads then have.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    realtime.promote_self(realtime.ORIGIN_PRIORITY)


class Server:
    """One server kept running until it is told to stop."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.starts = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def _start(self) -> asyncio.subprocess.Process:
        self.starts += 1
        mode = "wb" if self.starts == 1 else "ab"
        with (self.spec.work / "log").open(mode) as log:
            return await asyncio.create_subprocess_exec(
                *self.spec.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.spec.environment},
                pass_fds=self.spec.sockets,
                preexec_fn=_before_it_starts,
                process_group=0,  # Ctrl-C reaches the supervisor alone, which then lets transfers finish
            )

    async def keep_running(self) -> None:
        """Run the server, and run it again when it dies, with growing pauses; stop it when cancelled."""
        pause_s = 0.1
        loop = asyncio.get_running_loop()
        while True:
            self._process = await self._start()
            began = loop.time()
            try:
                code = await self._process.wait()
            except asyncio.CancelledError:
                await self._stop(self._process)
                raise
            if loop.time() - began > 10:
                pause_s = 0.1
            _LOG.warning("%s ended with %s and is started again: %s", self.spec.name, code, self.last_words())
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(self.spec.graceful)
            try:
                await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def wait_ready(self) -> None:
        """Return when every address answers; raises Unavailable with the log's end when that takes too long."""
        deadline = asyncio.get_running_loop().time() + _READY_TIMEOUT_S
        for place, host, quic, ca_file in self.spec.ready:
            while not await _answers(place, host, ca_file, quic=quic):
                if asyncio.get_running_loop().time() > deadline:
                    raise Unavailable(f"{self.spec.name} does not answer on {place}: {self.last_words()}")
                await asyncio.sleep(0.03)

    def last_words(self) -> str:
        """The end of the server's log, for a message."""
        try:
            text = (self.spec.work / "log").read_text(errors="replace").strip()
        except OSError:
            text = ""
        return text[-500:] or "its log is empty."


async def _answers(place: Place, host: str, ca_file: Path | None, *, quic: bool) -> bool:
    if ca_file is not None and not await answers_h2(place.reached_at, host, ca_file, port=place.port):
        return False
    return not quic or await answers_quic(place.reached_at, port=place.port)
