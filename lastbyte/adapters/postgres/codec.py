"""Domain objects to JSON and back, for the JSONB columns. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import DirectionCounters, LinkProof
from lastbyte.ports import CellProof, RttProbe

Json = Mapping[str, Any]


def storable(text: str | None) -> str | None:
    """``text`` as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD.

    What a client printed or a server sent is raw data from outside; it must never make a trial unstorable.
    """
    if text is None:
        return None
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def storable_map(values: Mapping[str, str]) -> dict[str, str]:
    """``storable`` for keys and values."""
    return {storable(key) or "": storable(value) or "" for key, value in values.items()}


def finite(number: float | None) -> float | None:
    """None for NaN and infinities, which JSON can't say."""
    return number if number is not None and math.isfinite(number) else None


def endpoint_to_json(endpoint: Endpoint) -> dict[str, Any]:
    """All fields by name."""
    return asdict(endpoint)


def endpoint_from_json(data: Json) -> Endpoint:
    """The reverse of ``endpoint_to_json``."""
    return Endpoint(**{**data, "kind": EndpointKind(data["kind"]), "origin": Origin(data["origin"])})


def profile_to_json(profile: Profile) -> dict[str, Any]:
    """All fields by name, directions nested."""
    return asdict(profile)


def profile_from_json(data: Json) -> Profile:
    """The reverse of ``profile_to_json``."""
    return Profile(**{**data, "downlink": Impairment(**data["downlink"]), "uplink": Impairment(**data["uplink"])})


def client_to_json(client: Client) -> dict[str, Any]:
    """All fields by name."""
    return {
        **asdict(client),
        "argv": list(client.argv),
        "executable": list(client.executable),
        "ca_argv": list(client.ca_argv),
        "env": dict(client.env),
        "timing_map": dict(client.timing_map),
    }


def client_from_json(data: Json) -> Client:
    """The reverse of ``client_to_json``."""
    return Client(
        **{
            **data,
            "protocol": Protocol(data["protocol"]),
            "argv": tuple(data["argv"]),
            "executable": tuple(data["executable"]),
            "ca_argv": tuple(data["ca_argv"]),
        }
    )


def link_proof_to_json(proof: LinkProof | None) -> dict[str, Any] | None:
    """Both directions' counters and the UDP errors."""
    return None if proof is None else asdict(proof)


def link_proof_from_json(data: Json | None) -> LinkProof | None:
    """The reverse of ``link_proof_to_json``."""
    if data is None:
        return None
    return LinkProof(
        downlink=DirectionCounters(**data["downlink"]),
        uplink=DirectionCounters(**data["uplink"]),
        udp_rcvbuf_errors=data["udp_rcvbuf_errors"],
    )


def cell_proof_to_json(proof: CellProof) -> dict[str, Any]:
    """Everything but the builds, which have a table of their own."""
    return {
        "box_kind": proof.box_kind,
        "address": proof.address,
        "resolution_s": finite(proof.resolution_s),
        "rtt": {
            "requested_ms": finite(proof.rtt.requested_ms),
            "samples_ms": [finite(sample) for sample in proof.rtt.samples_ms],
            "lost": proof.rtt.lost,
        },
        "commands": {client: [storable(word) for word in argv] for client, argv in proof.commands.items()},
    }


def cell_proof_from_json(data: Json | None) -> CellProof | None:
    """The reverse of ``cell_proof_to_json``."""
    if data is None:
        return None
    rtt = data["rtt"]
    return CellProof(
        box_kind=data["box_kind"],
        address=data["address"],
        resolution_s=data["resolution_s"],
        rtt=RttProbe(rtt["requested_ms"], tuple(rtt["samples_ms"]), rtt["lost"]),
        commands={client: tuple(argv) for client, argv in data["commands"].items()},
    )
