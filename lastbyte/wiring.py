"""The one module that ties adapters to ports for measuring: for the worker and for the command line."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from lastbyte.adapters import realtime
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.adapters.ceilings_file import load_ceilings
from lastbyte.adapters.client_descriptions import load_clients
from lastbyte.adapters.endpoints_file import load_endpoints
from lastbyte.adapters.host_meter import ProcHostMeter, descendants
from lastbyte.adapters.program_client import ProgramClientRunner
from lastbyte.adapters.resolver import Family, HostResolver, KnownHost
from lastbyte.adapters.traces.hellos import agreed_over_quic
from lastbyte.domain.addresses import AddressRule
from lastbyte.domain.client import Client
from lastbyte.domain.courtesy import CourtesyBudget
from lastbyte.domain.endpoint import Endpoint, Origin, endpoint_for_url
from lastbyte.domain.errors import LastbyteError
from lastbyte.domain.profile import Profile
from lastbyte.ports import ArtifactSink, Path
from lastbyte.services.link import Link
from lastbyte.services.measure_cell import Bench
from lastbyte.settings import Settings, settings, testbed_dir
from netem import ethtool
from netem.box import INTERFACE
from netem.factory import ShapedPathFactory, choose_box
from netem.path import ShapedPath
from netem.profiles import load_profiles
from testbed import state as testbed_state
from testbed.catalogue import endpoints as testbed_endpoints
from testbed.run import running_testbed

GUEST_PROCESS = "linux.uml"
"""Name of a User-Mode Linux guest's processes."""


def clients() -> list[Client]:
    """All described clients, installed or not."""
    return load_clients()


def profiles() -> dict[str, Profile]:
    """All known network conditions by name."""
    return load_profiles()


def endpoint_of(url: str) -> Endpoint:
    """The endpoint that a URL means; raises InvalidInput."""
    return endpoint_for_url(url, [*testbed_endpoints(), *load_endpoints(settings().endpoints_file)], "URL")


def testbed_for(endpoint: Endpoint) -> AbstractContextManager[object]:
    """A living testbed while the block runs, where the endpoint needs one."""
    return running_testbed(testbed_dir()) if endpoint.origin is Origin.TESTBED else nullcontext()


def courtesy(config: Settings) -> CourtesyBudget:
    """How much of production hosts may be used."""
    return CourtesyBudget(config.courtesy_requests_per_day, config.courtesy_bytes_per_day, config.courtesy_min_gap_s)


def artifact_files(config: Settings) -> ArtifactFiles:
    """The folder of what watched trials leave."""
    return ArtifactFiles(config.artifacts_folder, config.artifacts_max_bytes)


def box_kind(wanted: str) -> str:
    """The kind of box that this machine will use; empty when it can have none."""
    try:
        return choose_box(wanted)
    except LastbyteError:
        return ""


@contextmanager
def bench(
    stop: threading.Event, box: str, artifacts: ArtifactSink | None = None, rule: AddressRule | None = None
) -> Iterator[Bench]:
    """What a measurement needs; the link opens with the first cell and is removed with the block.

    ``rule``: which addresses may be measured; None for whoever measures on a machine of their own.
    """
    with Link(ShapedPathFactory(box), ProcHostMeter(), describe_path, box_processes) as link:
        yield Bench(link, ProgramClientRunner(), resolver(rule), stop, load_ceilings, artifacts, agreed_over_quic)


def describe_path(path: Path) -> dict[str, object]:
    """For the record of a cell: the box's version, whether it takes a seed, and the offloads of both ends as read back
    now, which must all be off."""
    if not isinstance(path, ShapedPath):
        return {}
    ends = {"client": path.client, "uplink": path.uplink}
    guest = box_processes(path)
    testbed = testbed_state.load(testbed_dir())
    return {
        "box_version": path.box_version,
        "realtime": {
            "client": realtime.allowed(),
            **({"box": all(realtime.is_promoted(pid) for pid in guest)} if guest else {}),
            **({"testbed": testbed.realtime} if testbed else {}),
        },
        "netem_seed": path.seed_supported,
        "offloads": {
            name: {feature: end.call(partial(ethtool.get, INTERFACE, feature)) for feature in ethtool.SEGMENTATION}
            for name, end in ends.items()
        },
    }


def box_processes(path: Path) -> list[int]:
    """Processes whose CPU time is the box's: the guest of the ``uml`` box. A process has one path at a time."""
    return descendants(GUEST_PROCESS) if path.box_kind == "uml" else []


def resolver(rule: AddressRule | None = None) -> HostResolver:
    """Pins addresses: the testbed's hosts from its own file, all others by the system and checked by ``rule``."""
    return HostResolver(_testbed_hosts, family=Family(settings().address_family), rule=rule)


def _testbed_hosts() -> Mapping[str, KnownHost]:
    """Read anew for each cell: a testbed may have been started again, with another CA."""
    state = testbed_state.load(testbed_dir())
    if state is None:
        return {}
    hosts: list[testbed_state.ProviderState | testbed_state.FaultState] = [*state.providers, *state.faults]
    return {host.host: KnownHost(host.address, state.ca_file, host.address6) for host in hosts}
