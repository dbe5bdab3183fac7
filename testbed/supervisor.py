"""The testbed as one foreground process: it holds the namespace, runs the servers, and takes all along when it goes.

Nothing survives it: servers are killed by the kernel when their parent dies, and the namespace with every interface in
it goes with the last process.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from lastbyte.adapters import realtime
from lastbyte.domain.errors import Unavailable
from testbed import configs, namespace
from testbed import state as states
from testbed.catalogue import FAULT_HOSTS, OBJECTS, PROVIDERS
from testbed.certificates import Certificates, ensure_certificates
from testbed.faults import fault_servers
from testbed.objects import write_objects
from testbed.places import Places, own_address, own_address6, published_ports
from testbed.servers import Server, listening_sockets, specs, tcp_congestion_control

_LOG = logging.getLogger("testbed")

SERVER_TITLES = {"caddy": "Caddy", "nginx": "nginx", "haproxy": "HAProxy"}
"""Program names as their makers write them."""


class AlreadyRunning(Unavailable):
    """Another testbed runs for the same state folder."""


def run(
    var_dir: Path, announce: Callable[[states.TestbedState], None] | None = None, *, published: bool = False
) -> None:
    """Run the testbed for ``var_dir`` until SIGTERM or SIGINT; raises Unavailable when it can't start.

    ``announce`` is told the state once every server answers. Moves the calling process into the testbed's network
    namespace, for good: call it in a process of its own. ``published``: stay in the network this process is in and
    serve on ports of its address, which takes no rights; for a container.
    """
    var_dir = var_dir.absolute()
    layout = configs.Layout(var_dir / "testbed")
    layout.folder.mkdir(parents=True, exist_ok=True)
    with _only_one(layout.folder / "lock", var_dir):
        certs = ensure_certificates(layout.certificates)
        digests = write_objects(layout.objects)
        if published:
            address6 = own_address6()
            places = Places(with_ipv6=bool(address6), published=True, own_address6=address6)
        else:
            namespace.enter_new_namespace()
            places = Places(with_ipv6=namespace.has_ipv6())
            namespace.configure(with_ipv6=places.with_ipv6)
        try:
            asyncio.run(_serve(var_dir, layout, certs, digests, announce, places))
        finally:
            states.remove(var_dir, os.getpid())


@contextlib.contextmanager
def _only_one(lock_file: Path, var_dir: Path) -> Iterator[None]:
    with lock_file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise AlreadyRunning(f"A testbed runs already for {var_dir}. Stop it, or set LASTBYTE_VAR.") from exc
        yield


async def _serve(
    var_dir: Path,
    layout: configs.Layout,
    certs: Certificates,
    digests: Mapping[str, str],
    announce: Callable[[states.TestbedState], None] | None,
    places: Places,
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as stack:
        sockets = {p.server: listening_sockets(p, places) for p in PROVIDERS}
        for sock in chain.from_iterable(sockets.values()):
            stack.callback(sock.close)
        await stack.enter_async_context(fault_servers(places))
        servers = [Server(spec) for spec in specs(layout, certs, sockets, places)]
        tasks = [asyncio.create_task(server.keep_running(), name=server.spec.name) for server in servers]
        stack.push_async_callback(_end, tasks)
        stopped = asyncio.create_task(stop.wait())
        ready = asyncio.create_task(_all_ready(servers))
        await asyncio.wait([ready, stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        _raise_first(tasks)
        if stop.is_set():
            ready.cancel()
            return
        ready.result()
        versions = {server.spec.name: server.spec.version for server in servers}
        promoted = all(server.pid is not None and realtime.is_promoted(server.pid) for server in servers)
        state = _state(certs, digests, versions, places, promoted=promoted)
        states.save(var_dir, state)
        if announce:
            announce(state)
        if places.published:
            tasks.append(asyncio.create_task(_show_life(var_dir), name="sign of life"))
        await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        states.remove(var_dir, os.getpid())  # nobody new, while transfers under way finish
        _raise_first(tasks)


async def _show_life(var_dir: Path) -> None:
    """Touch the state file: across containers nobody can look for this process itself."""
    while True:
        await asyncio.sleep(states.SIGN_OF_LIFE_S / 4)
        os.utime(var_dir / states.FILE_NAME)


async def _all_ready(servers: list[Server]) -> None:
    await asyncio.gather(*(server.wait_ready() for server in servers))


def _raise_first(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done() and (problem := task.exception()):
            raise Unavailable(f"{task.get_name()} can't be run: {problem}.") from problem


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _state(
    certs: Certificates, digests: Mapping[str, str], versions: dict[str, str], places: Places, *, promoted: bool
) -> states.TestbedState:
    pid = os.getpid()
    start_time = states.process_start_time(pid)
    if start_time is None:
        raise Unavailable("/proc is not readable; the testbed can't say which process it is.")
    return states.TestbedState(
        pid=pid,
        start_time=start_time,
        netns=Path(f"/proc/{pid}/ns/net"),
        ca_file=certs.ca,
        providers=tuple(
            states.ProviderState(
                name=provider.name,
                host=provider.host,
                address=provider.address,
                address6=provider.address6 if places.with_ipv6 else None,
                server=f"{SERVER_TITLES[provider.server]} {versions[provider.server]}",
                base_rtt_ms=provider.base_rtt_ms,
                tcp_congestion_control=tcp_congestion_control(provider),
                quic_congestion_control=provider.quic_congestion_control,
            )
            for provider in PROVIDERS
        ),
        objects=dict(OBJECTS),
        digests=digests,
        faults=tuple(
            states.FaultState(
                name=host.name,
                host=host.host,
                address=host.address,
                address6=host.address6 if places.with_ipv6 else None,
                behaviour=host.behaviour,
            )
            for host in FAULT_HOSTS
        ),
        sysctls=namespace.stated_sysctls(),
        realtime=promoted,
        published=states.Published(str(own_address()), published_ports(with_ipv6=places.with_ipv6), places.own_address6)
        if places.published
        else None,
    )
