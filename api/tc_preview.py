"""A profile as the tc commands that make it, for people to read and to check."""

from __future__ import annotations

from itertools import islice

from pydantic import Field

from api.schemas.common import Output
from lastbyte.domain.profile import Profile
from netem.player import changes
from netem.tc import shapes_of

DOWNLINK, UPLINK = "$TO_CLIENT", "$TO_ORIGIN"
"""Stand for the box's two ports, whose names differ from box to box."""
_HANDLE = 1


class TcStepOut(Output):
    """What changes at one moment of a timeline."""

    at_ms: float
    commands: list[str]


class TcOut(Output):
    """The commands of both directions, each a line that a shell would take."""

    downlink: list[str] = Field(
        description="For the interface towards the client, named $TO_CLIENT in them.",
        examples=[["tc qdisc replace dev $TO_CLIENT root handle 1: netem limit 340 loss 1%"]],
    )
    uplink: list[str] = Field(description="For the interface towards the origin, named $TO_ORIGIN.")
    timeline: list[TcStepOut] = Field(description="Changes while a trial runs; empty without a timeline.")


def tc_out(profile: Profile, base_rtt_ms: float = 0.0) -> TcOut:
    """The commands for ``profile`` at an endpoint of that distance.

    The handle and, where the kernel takes one, netem's seed differ from trial to trial and stand for themselves.
    """
    down, up = shapes_of(profile, base_rtt_ms)
    played = changes(profile, (down, up), (DOWNLINK, UPLINK), _HANDLE)
    once = islice(played, len(profile.timeline.steps) if profile.timeline else 0)
    return TcOut(
        downlink=_lines(down.commands(DOWNLINK, _HANDLE)),
        uplink=_lines(up.commands(UPLINK, _HANDLE)),
        timeline=[TcStepOut(at_ms=at_ms, commands=_lines(commands)) for at_ms, commands in once],
    )


def _lines(commands: list[list[str]]) -> list[str]:
    return [" ".join(("tc", *command)) for command in commands]
