"""Behind the box: the testbed, and the Internet by masquerading, each played by a namespace of the test's own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lastbyte.domain.profile import Profile
from netem.factory import ShapedPathFactory
from netem.namespaces import Namespace
from netem.rundir import Owner as Identity
from tests.integration.netem.helpers import Owner, eventually, firewall_rules, links, owned_rules

PROVIDERS = (("10.200.1.1", "fd00:200::1"), ("10.200.1.2", "fd00:200::2"))


@contextmanager
def answering(namespace: Namespace, address: str) -> Iterator[int]:
    """A server that tells every caller the caller's address; yields its port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = namespace.call(lambda: socket.create_server((address, 0), family=family))

    def serve() -> None:
        while True:
            try:
                peer, caller = listener.accept()
            except OSError:
                return
            with peer:
                peer.sendall(str(caller[0]).encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def ask(namespace: Namespace, address: str, port: int, timeout_s: float = 5) -> str:
    with namespace.call(lambda: socket.create_connection((address, port), timeout=timeout_s)) as connection:
        return connection.recv(100).decode()


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[tuple[Namespace, Path]]:
    namespace = Namespace.create()
    namespace.sysctl({"ipv6/conf/all/accept_dad": "0", "ipv6/conf/default/accept_dad": "0"})
    for address, address6 in PROVIDERS:
        namespace.ip(f"addr add {address}/32 dev lo", f"addr add {address6}/128 dev lo")
    owner = Identity.current()
    file = tmp_path / "testbed.json"
    providers = [{"name": f"testbed-{a}", "address": a, "address6": b} for a, b in PROVIDERS]
    document = {"pid": owner.pid, "start_time": owner.start_time, "netns": namespace.path, "providers": providers}
    file.write_text(json.dumps(document))
    yield namespace, file
    namespace.close()


def test_two_paths_reach_the_testbed_shaped_and_leave_it_clean(
    box_kind: str, testbed: tuple[Namespace, Path], profiles: dict[str, Profile]
) -> None:
    namespace, file = testbed
    before = links(namespace.prefix)
    factory = ShapedPathFactory(box_kind, uplink="testbed", testbed_state=file)
    with ExitStack() as stack:
        paths = [stack.enter_context(factory.open()) for _ in range(2)]
        for path in paths:
            path.configure(profiles["delay-50"])
            assert path.is_alive()
        for address in [text for pair in PROVIDERS for text in pair]:
            with answering(namespace, address) as port:
                for path in paths:
                    access = path.addresses.access
                    sent = path.counters().uplink.sent_packets
                    # The servers see each path's client as itself: nothing is translated on the way.
                    assert ask(path.client, address, port) == str(access.near6 if ":" in address else access.near)
                    assert path.counters().uplink.sent_packets > sent
        assert len(links(namespace.prefix)) == len(before) + 2
        file.write_text(json.dumps({**json.loads(file.read_text()), "start_time": 1}))
        assert not paths[0].is_alive()  # a testbed that went, or was replaced, is a path lost
    assert eventually(lambda: links(namespace.prefix) == before)


def test_auto_takes_the_testbed_when_there_is_one(
    box_kind: str, testbed: tuple[Namespace, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace, file = testbed
    monkeypatch.setenv("LASTBYTE_VAR", str(file.parent))
    monkeypatch.setattr("netem.factory.host_egress", lambda _family: [])  # no Internet: the host stays untouched
    with ShapedPathFactory(box_kind).open() as path, answering(namespace, PROVIDERS[0][0]) as port:
        assert ask(path.client, PROVIDERS[0][0], port) == str(path.addresses.access.near)


@pytest.fixture
def internet() -> Iterator[tuple[Namespace, Namespace]]:
    """A namespace that plays the host, whose default routes lead to one that plays the Internet."""
    host, far = Namespace.create(), Namespace.create()
    try:
        host.ip(f"link add eth0 type veth peer name eth0 netns {far.path}", "link set eth0 up")
        far.ip("link set eth0 up", "addr add 198.51.100.1/24 dev eth0", "addr add 2001:db8::1/64 dev eth0 nodad")
        host.ip(
            "addr add 198.51.100.2/24 dev eth0",
            "addr add 2001:db8::2/64 dev eth0 nodad",
            "route add default via 198.51.100.1",
            "route add default via 2001:db8::1",
        )
        yield host, far
    finally:
        host.close()
        far.close()


FORWARDING = (
    "net/ipv4/ip_forward",
    "net/ipv4/conf/eth0/forwarding",
    "net/ipv6/conf/all/forwarding",
    "net/ipv6/conf/eth0/forwarding",
    "net/ipv6/conf/eth0/force_forwarding",
    "net/ipv6/conf/eth0/accept_ra",
)


def forwarding(host: Namespace) -> dict[str, str]:
    files = [Path("/proc/sys") / key for key in FORWARDING]
    return host.call(lambda: {str(file): file.read_text() for file in files if file.exists()})


FETCH = """
import json, socket, sys
from netem.factory import ShapedPathFactory
from netem.profiles import find_profile
with ShapedPathFactory(sys.argv[1], "auto").open() as path:
    path.configure(find_profile("delay-50"))
    seen = []
    for address, port in json.loads(sys.argv[2]):
        with path.client.call(lambda: socket.create_connection((address, port), timeout=5)) as connection:
            seen.append(connection.recv(100).decode())
    access = path.addresses.access
    print(json.dumps([seen, path.is_alive(), [str(access.near), str(access.near6)]]), flush=True)
    sys.stdin.readline()
"""


READ_ONLY_SYSCTLS = """\
mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys || exit 1
if echo 1 > /proc/sys/net/ipv4/ip_forward; then exit 2; fi 2> /dev/null
exec "$@"
"""
"""What a container's /proc/sys is like."""


@pytest.mark.parametrize("inside", [(), ("unshare", "--mount", "sh", "-c", READ_ONLY_SYSCTLS, "sh")], ids=["", "ro"])
def test_the_internet_is_reached_under_the_hosts_address(
    box_kind: str, run_root: Path, tmp_path: Path, internet: tuple[Namespace, Namespace], inside: tuple[str, ...]
) -> None:
    host, far = internet
    before = links(host.prefix), firewall_rules(host.prefix), forwarding(host)
    with ExitStack() as stack:
        targets = [(a, stack.enter_context(answering(far, a))) for a in ("198.51.100.1", "2001:db8::1")]
        process = stack.enter_context(
            subprocess.Popen(
                [*host.prefix, *inside, sys.executable, "-c", FETCH, box_kind, json.dumps(targets)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "LASTBYTE_VAR": str(tmp_path), "LASTBYTE_RUN": str(run_root)},
            )
        )
        assert process.stdout is not None
        seen, alive, clients = json.loads(process.stdout.readline())
        assert (seen, alive) == (["198.51.100.2", "2001:db8::2"], True)
        assert {family for family, _ in owned_rules(host.prefix)} == {"ip", "ip6"}
        _forwards_no_more_than_it_must(forwarding(host))
        for client, gateway in zip(clients, ("198.51.100.2", "2001:db8::2"), strict=True):
            # Who knows the way in still gets no answer, not even a refusal.
            far.ip(f"route add {client} via {gateway}")
            with pytest.raises(TimeoutError):
                ask(far, client, 9, timeout_s=1)
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    assert (links(host.prefix), firewall_rules(host.prefix), forwarding(host)) == before


def _forwards_no_more_than_it_must(now: dict[str, str]) -> None:
    values = {file.removeprefix("/proc/sys/net/"): value.strip() for file, value in now.items()}
    assert values["ipv4/conf/eth0/forwarding"] == "1"
    if "ipv6/conf/eth0/force_forwarding" in values:  # Linux 6.17 on
        assert values["ipv6/conf/eth0/force_forwarding"] == "1"
        assert values["ipv6/conf/all/forwarding"] == "0"
    else:
        assert values["ipv6/conf/all/forwarding"] == "1"
        assert values["ipv6/conf/eth0/accept_ra"] == "2"  # a router that still takes its own default route


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_owner_leaves_the_host_as_it_was(
    box_kind: str, run_root: Path, internet: tuple[Namespace, Namespace], number: signal.Signals
) -> None:
    host, _ = internet
    before = links(host.prefix), firewall_rules(host.prefix), forwarding(host)
    with (
        Owner(box_kind, run_root, uplink="nat", prefix=host.prefix) as first,
        Owner(box_kind, run_root, uplink="nat", prefix=host.prefix) as second,
    ):
        assert len(owned_rules(host.prefix)) == 4
        first.process.send_signal(number)
        first.process.wait(60)
        assert eventually(lambda: len(owned_rules(host.prefix)) == 2)
        assert forwarding(host) != before[2]  # the other one still needs it
        second.process.send_signal(number)
        second.process.wait(60)
        assert eventually(lambda: (links(host.prefix), firewall_rules(host.prefix), forwarding(host)) == before), (
            links(host.prefix),
            firewall_rules(host.prefix),
            forwarding(host),
        )


def test_no_way_to_the_internet_is_said(box_kind: str, run_root: Path) -> None:
    host = Namespace.create()
    try:
        script = f"from netem.factory import ShapedPathFactory as F\nF({box_kind!r}, 'nat').open()"
        done = subprocess.run(
            [*host.prefix, sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env={**os.environ, "LASTBYTE_RUN": str(run_root)},
            check=False,
        )
    finally:
        host.close()
    assert "PathUnavailable: This machine has no default route" in done.stderr
