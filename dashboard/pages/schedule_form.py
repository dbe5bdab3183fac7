"""The form of a schedule, new or edited: when, what, and what becomes of times that can't be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from zoneinfo import available_timezones

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.attributes import aria
from dashboard.client import ApiClient, Json
from dashboard.pages.new import (
    client_label,
    default_endpoints,
    default_pair,
    default_profiles,
    endpoint_choices,
    profile_choices,
)

MISSED = (("skip", "skip them"), ("catch-up", "catch up with one campaign"))
OVERLAP = (("skip", "skip it"), ("queue", "wait until it is over"))
MEASURED = ("endpoints", "profiles", "clients", "rounds")
"""Parts of a template that have an input of their own; the others stay as they are."""
DEFAULT_CRON = "15 3 * * *"
DEFAULT_ROUNDS = 10
MOST_ZONES_LISTED = 50


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What can be chosen."""

    endpoints: list[Json]
    profiles: list[Json]
    clients: list[Json]
    campaigns: list[Json]
    """Those that can be repeated."""

    @classmethod
    def of(cls, api: ApiClient) -> Catalogue:
        """As the API has it now."""
        own = [c for c in api.campaigns()["items"] if not c.get("source")]
        return cls(api.endpoints(), api.profiles(), api.clients(), own)

    def default_template(self) -> Json:
        """For a schedule that repeats nothing that is there."""
        return {
            "endpoints": default_endpoints(self.endpoints),
            "profiles": default_profiles(self.profiles),
            "clients": default_pair(self.clients),
            "rounds": DEFAULT_ROUNDS,
        }


def form(catalogue: Catalogue, zone: str, edited: Json | None = None) -> html.Section:
    """Empty but for what is usual, or filled with a schedule that is edited."""
    given = edited or {"cron": DEFAULT_CRON, "time_zone": zone, "missed": "skip", "overlap": "skip"}
    template = edited["template"] if edited else catalogue.default_template()
    title = f"Edit {edited['name']}" if edited else "New schedule"
    buttons: list[Any] = [
        html.Button(
            "Save the changes" if edited else "Create the schedule",
            id=ids.SCHEDULE_SAVE,
            className="lb-button lb-button-primary",
            type="button",
        )
    ]
    if edited:
        buttons.append(dcc.Link("Leave it as it is", href="/schedules", className="lb-button"))
    return html.Section(
        [
            html.H2(title),
            # Keeps what is typed: a part of a page with a slot is not replaced when news come.
            html.Div(id=ids.slot(f"schedule form {edited['id'] if edited else 'new'}")),
            dcc.Store(id=ids.SCHEDULE_EDITED, data=edited["id"] if edited else None),
            dcc.Store(id=ids.SCHEDULE_TEMPLATE, data=template),
            html.Div(_when(given), className="lb-form-row"),
            html.Div(id=ids.SCHEDULE_PREVIEW, role="status", className="lb-preview"),
            html.Div(_what(catalogue, template), className="lb-form-row lb-form-row-what"),
            html.Div(id=ids.SCHEDULE_PROBLEM, role="status"),
            html.Div(buttons, className="lb-actions lb-card-actions"),
        ],
        className="lb-card lb-schedule-form",
        **aria(label=title),
    )


def _when(given: Json) -> list[Any]:
    field = ids.schedule_form
    return [
        dmc.TextInput(
            id=field("name"),
            label="Name",
            description="For people.",
            placeholder="every night",
            value=given.get("name") or "",
        ),
        dmc.TextInput(
            id=field("cron"),
            label="When (cron)",
            description="Min, hour, day, month, weekday.",
            value=given["cron"],
        ),
        dmc.Select(
            id=field("time_zone"),
            label="Time zone",
            description="Whose clock counts.",
            data=zones(given["time_zone"]),
            value=given["time_zone"],
            searchable=True,
            limit=MOST_ZONES_LISTED,
            allowDeselect=False,
            nothingFoundMessage="No such zone",
        ),
        dmc.Select(
            id=field("missed"),
            label="Times missed while off",
            description="Nothing was running.",
            data=_options(MISSED),
            value=given["missed"],
            allowDeselect=False,
        ),
        dmc.Select(
            id=field("overlap"),
            label="While one still runs",
            description="The campaign before.",
            data=_options(OVERLAP),
            value=given["overlap"],
            allowDeselect=False,
        ),
    ]


def _what(catalogue: Catalogue, template: Json) -> list[Any]:
    field = ids.schedule_form
    clients = expanded(template.get("clients") or [], catalogue.clients)
    found: list[Any] = [
        dmc.MultiSelect(
            id=field("endpoints"),
            label="Endpoints",
            description="What is fetched.",
            data=_with_unknown(endpoint_choices(catalogue.endpoints), template.get("endpoints") or []),
            value=template.get("endpoints") or [],
            searchable=True,
            clearable=True,
            maxDropdownHeight=320,
        ),
        dmc.MultiSelect(
            id=field("profiles"),
            label="Profiles",
            description="The network conditions.",
            data=_with_unknown(profile_choices(catalogue.profiles), template.get("profiles") or []),
            value=template.get("profiles") or [],
            searchable=True,
            clearable=True,
        ),
        dmc.MultiSelect(
            id=field("clients"),
            label="Clients",
            description="One with HTTP/2 and one with HTTP/3 at least.",
            data=_with_unknown(
                [
                    {
                        "group": "Clients",
                        "items": [{"value": c["id"], "label": client_label(c)} for c in catalogue.clients],
                    }
                ],
                clients,
            ),
            value=clients,
            searchable=True,
            clearable=True,
        ),
        dmc.NumberInput(
            id=field("rounds"),
            label="Rounds",
            description="Per cell; a warm-up is added.",
            value=template.get("rounds") or DEFAULT_ROUNDS,
            min=1,
            allowDecimal=False,
        ),
    ]
    # Always there, so that the callback which reads it finds it.
    found.append(
        dmc.Select(
            id=field("campaign"),
            label="Take these from a campaign",
            description="Fills the fields above.",
            placeholder="choose one" if catalogue.campaigns else "there is none yet",
            data=[{"value": c["id"], "label": c["name"]} for c in catalogue.campaigns],
            value=None,
            searchable=True,
            disabled=not catalogue.campaigns,
        )
    )
    return found


def expanded(names: Sequence[str], clients: Sequence[Json]) -> list[str]:
    """Client ids; the name of a program stands for its clients of all protocols, as in the API."""
    found: list[str] = []
    for name in names:
        of_program = [c["id"] for c in clients if c["program"] == name and c.get("memory") is None]
        found += of_program or [name]
    return list(dict.fromkeys(found))


def _with_unknown(groups: list[Json], chosen: Sequence[str]) -> list[Json]:
    """Choices, and those chosen that the catalogue has no more."""
    known = {item["value"] for group in groups for item in group["items"]}
    others = [{"value": name, "label": name} for name in chosen if name not in known]
    return [*groups, {"group": "Others", "items": others}] if others else groups


def _options(pairs: Sequence[tuple[str, str]]) -> list[Json]:
    return [{"value": value, "label": label} for value, label in pairs]


@cache
def _known_zones() -> tuple[str, ...]:
    return tuple(sorted(z for z in available_timezones() if z == "UTC" or ("/" in z and not z.startswith("Etc/"))))


def zones(chosen: str) -> list[str]:
    """Names of time zones, the chosen one among them."""
    known = _known_zones()
    return list(known) if chosen in known else [chosen, *known]
