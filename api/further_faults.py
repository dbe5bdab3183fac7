"""Faults of a body that its schema can't know of, looked for although the schema refused it: all are said at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import Request
from pydantic import ValidationError

from api.schemas.campaigns import CampaignIn
from lastbyte.domain.errors import InvalidInput, InvalidInputs, Unavailable

_CAMPAIGN_PATHS = ("/campaigns", "/campaigns/estimate")
_RESTS_ON = {"max_rounds": ("target_width_pct", "rounds"), "rounds": ("max_rounds",), "clients": ("aa",)}
"""What is judged by a field can't be judged where that is refused."""
_STAND_IN = {"endpoints": ["stand-in"], "profiles": ["stand-in"], "clients": ["stand-in"]}


def further_faults(request: Request, body: Mapping[str, Any], refused: Collection[str]) -> Sequence[InvalidInput]:
    """Faults of the fields of a campaign that the schema has let through; none for other bodies.

    ``refused`` are the fields that the schema has refused; nothing more is said about them.
    """
    if request.method != "POST" or not request.url.path.endswith(_CAMPAIGN_PATHS):
        return []
    passed = {name: value for name, value in body.items() if name in CampaignIn.model_fields and name not in refused}
    try:
        rest = CampaignIn.model_validate({**_STAND_IN, **passed})
    except ValidationError:
        return []
    absent = {*refused, *(name for name in _STAND_IN if name not in passed)}
    absent |= {other for name in absent for other in _RESTS_ON.get(name, ())}
    try:
        request.app.state.container.campaigns.plan(rest.to_request())
    except (InvalidInput, InvalidInputs) as exc:
        faults = exc.faults if isinstance(exc, InvalidInputs) else (exc,)
        return [fault for fault in faults if fault.field.partition(".")[0] not in absent]
    except Unavailable:  # then what the schema says must do
        pass
    return []
