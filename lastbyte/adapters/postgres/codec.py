"""Domain objects to JSON and back, for the JSONB columns. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from lastbyte.domain.client import Client
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.link_probe import LinkProbe
from lastbyte.domain.page import PageLoad
from lastbyte.domain.profile import Profile
from lastbyte.domain.tls import TlsDetails
from lastbyte.domain.trial import LinkProof, Trial
from lastbyte.ports import CellProof, RttProbe

Json = Mapping[str, Any]

# Fields that are added to these later get their defaults when an old row is read; fields that went are passed over.
_ENDPOINT = TypeAdapter(Endpoint)
_PROFILE = TypeAdapter(Profile)
_CLIENT = TypeAdapter(Client)
_LINK_PROOF = TypeAdapter(LinkProof)
_LINK_PROBE = TypeAdapter(LinkProbe)
_TLS = TypeAdapter(TlsDetails)
_PAGE = TypeAdapter(PageLoad)


def _dump(adapter: TypeAdapter[Any], value: object) -> dict[str, Any]:
    dumped: dict[str, Any] = adapter.dump_python(value, mode="json")
    return dumped


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


def storable_json(value: object) -> Any:
    """``value`` as JSON that PostgreSQL can hold; what JSON has no word for becomes its text."""
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [storable_json(item) for item in value]
    if isinstance(value, float):
        return finite(value)
    return value if value is None or isinstance(value, (bool, int)) else storable(str(value))


def finite(number: float | None) -> float | None:
    """None for NaN and infinities, which JSON can't say."""
    return number if number is not None and math.isfinite(number) else None


def endpoint_to_json(endpoint: Endpoint) -> dict[str, Any]:
    """All fields by name."""
    return _dump(_ENDPOINT, endpoint)


def endpoint_from_json(data: Json) -> Endpoint:
    """The reverse of ``endpoint_to_json``."""
    return _ENDPOINT.validate_python(data)


def profile_to_json(profile: Profile) -> dict[str, Any]:
    """All fields by name, directions nested."""
    return _dump(_PROFILE, profile)


def profile_from_json(data: Json) -> Profile:
    """The reverse of ``profile_to_json``."""
    return _PROFILE.validate_python(data)


def client_to_json(client: Client) -> dict[str, Any]:
    """All fields by name."""
    return _dump(_CLIENT, client)


def client_from_json(data: Json) -> Client:
    """The reverse of ``client_to_json``."""
    return _CLIENT.validate_python(data)


def link_proof_to_json(proof: LinkProof | None) -> dict[str, Any] | None:
    """Both directions' counters and the UDP errors."""
    return None if proof is None else _dump(_LINK_PROOF, proof)


def link_proof_from_json(data: Json | None) -> LinkProof | None:
    """The reverse of ``link_proof_to_json``, also from ``trial_proof_to_json``."""
    return None if data is None or "downlink" not in data else _LINK_PROOF.validate_python(data)


def trial_proof_to_json(trial: Trial) -> dict[str, Any] | None:
    """The link's proof, and beside it, as ``page``, what a page's load came to."""
    proof, page = link_proof_to_json(trial.proof), trial.observation.page
    return proof if page is None else {**(proof or {}), "page": storable_json(_dump(_PAGE, page))}


def page_from_json(data: Json | None) -> PageLoad | None:
    """The page's part of what ``trial_proof_to_json`` made."""
    return None if data is None or "page" not in data else _PAGE.validate_python(data["page"])


def tls_to_json(tls: TlsDetails | None) -> dict[str, Any] | None:
    """All fields by name."""
    return None if tls is None else _dump(_TLS, tls)


def tls_from_json(data: Json | None) -> TlsDetails | None:
    """The reverse of ``tls_to_json``."""
    return None if data is None else _TLS.validate_python(data)


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
            "waits": proof.rtt.waits,
            "calm": proof.rtt.calm,
        },
        "link": _dump(_LINK_PROBE, proof.link) if proof.link else None,
        "commands": {client: [storable(word) for word in argv] for client, argv in proof.commands.items()},
        "machine": storable_json(proof.machine),
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
        rtt=RttProbe(
            rtt["requested_ms"], tuple(rtt["samples_ms"]), rtt["lost"], rtt.get("waits", 0), rtt.get("calm", True)
        ),
        link=_LINK_PROBE.validate_python(data["link"]) if data.get("link") else None,
        commands={client: tuple(argv) for client, argv in data["commands"].items()},
        machine=data.get("machine", {}),
    )
