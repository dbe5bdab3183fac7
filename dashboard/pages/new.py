"""The form that schedules a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.client import ApiProblem, Json
from dashboard.estimate import Estimate
from dashboard.formatting import NBSP, amount, duration, plural, size_label

FIELDS = {
    "name": ids.NEW_NAME,
    "endpoints": ids.NEW_ENDPOINTS,
    "profiles": ids.NEW_PROFILES,
    "clients": ids.NEW_CLIENTS,
    "rounds": ids.NEW_ROUNDS,
    "seed": ids.NEW_SEED,
    "vantage": ids.NEW_VANTAGE,
}
"""Field of the API's request body, and the input that holds it."""


def page(endpoints: list[Json], profiles: list[Json], clients: list[Json], vantages: list[Json]) -> html.Div:
    """The form, with the testbed, the shaped profiles and one pair of clients chosen."""
    pair = default_pair(clients)
    return html.Div(
        [
            dcc.Link("← Campaigns", href="/", className="lb-back"),
            html.Div(html.H1("New campaign"), className="lb-title-row"),
            html.P(
                "Each endpoint is fetched under each profile, round by round, once by each client in random order.",
                className="lb-muted lb-under",
            ),
            dcc.Store(id=ids.NEW_CATALOGUE, data=catalogue(endpoints, profiles)),
            html.Div(
                [
                    html.Div(
                        [
                            dmc.TextInput(id=ids.NEW_NAME, label="Name", placeholder="What this is about (optional)"),
                            dmc.MultiSelect(
                                id=ids.NEW_ENDPOINTS,
                                label="Endpoints",
                                description="What is fetched. The testbed's are stand-ins on this machine.",
                                data=endpoint_choices(endpoints),
                                value=[e["id"] for e in endpoints if e["origin"] == "testbed"],
                                searchable=True,
                                clearable=True,
                                nothingFoundMessage="No such endpoint",
                                maxDropdownHeight=320,
                            ),
                            dmc.MultiSelect(
                                id=ids.NEW_PROFILES,
                                label="Profiles",
                                description="The network conditions.",
                                data=profile_choices(profiles),
                                value=default_profiles(profiles),
                                searchable=True,
                                clearable=True,
                            ),
                            dmc.MultiSelect(
                                id=ids.NEW_CLIENTS,
                                label="Clients",
                                description="One with HTTP/2 and one with HTTP/3 at least.",
                                data=[{"value": c["id"], "label": client_label(c)} for c in clients],
                                value=pair,
                                searchable=True,
                                clearable=True,
                            ),
                            html.Div(
                                [
                                    dmc.NumberInput(
                                        id=ids.NEW_ROUNDS,
                                        label="Rounds",
                                        description="Per cell; a warm-up is added.",
                                        value=10,
                                        min=1,
                                        allowDecimal=False,
                                    ),
                                    dmc.NumberInput(
                                        id=ids.NEW_SEED,
                                        label="Seed",
                                        description="Same seed, same order.",
                                        placeholder="drawn",
                                        min=0,
                                        allowDecimal=False,
                                    ),
                                    dmc.Select(
                                        id=ids.NEW_VANTAGE,
                                        label="Vantage",
                                        description="Where it is measured from.",
                                        data=vantage_choices(vantages),
                                        value=default_vantage(vantages),
                                        allowDeselect=False,
                                    ),
                                ],
                                className="lb-form-row",
                            ),
                        ],
                        className="lb-form",
                    ),
                    html.Aside(
                        [
                            html.H2("Before it starts"),
                            html.Div(id=ids.NEW_ESTIMATE, role="status"),
                            vantage_note(vantages),
                            html.Div(id=ids.NEW_PROBLEM),
                            html.Button(
                                "Start the campaign",
                                id=ids.NEW_START,
                                className="lb-button lb-button-primary lb-button-wide",
                                type="button",
                            ),
                        ],
                        className="lb-aside",
                    ),
                ],
                className="lb-columns",
            ),
        ]
    )


def catalogue(endpoints: list[Json], profiles: list[Json]) -> Json:
    """What the estimate needs to know of each choice."""
    return {
        "endpoints": {e["id"]: {k: e[k] for k in ("expected_bytes", "base_rtt_ms", "origin")} for e in endpoints},
        "profiles": {p["name"]: {k: p[k] for k in ("extra_rtt_ms", "rate_mbit_s")} for p in profiles},
    }


def endpoint_choices(endpoints: Sequence[Json]) -> list[Json]:
    """Grouped by provider, the testbed first."""
    groups: dict[str, list[Json]] = {}
    for e in sorted(endpoints, key=lambda e: e["origin"] != "testbed"):
        label = f"{e['provider']} · {size_label(e['size_label'])}" + (" page" if e["kind"] == "page" else "")
        group = e["provider"] + (" (testbed)" if e["origin"] == "testbed" else " (production)")
        groups.setdefault(group, []).append({"value": e["id"], "label": label})
    return [{"group": group, "items": items} for group, items in groups.items()]


def profile_choices(profiles: Sequence[Json]) -> list[Json]:
    """Under the headings of the catalogue, in its order."""
    groups: dict[str, list[Json]] = {}
    for p in profiles:
        groups.setdefault(p.get("group") or "Other profiles", []).append(
            {"value": p["name"], "label": profile_label(p)}
        )
    return [{"group": group, "items": items} for group, items in groups.items()]


def default_profiles(profiles: Sequence[Json]) -> list[str]:
    """The shaped ones of the first group."""
    first = profiles[0].get("group") if profiles else None
    return [p["name"] for p in profiles if p.get("group") == first and p["rate_mbit_s"] is not None]


def profile_label(profile: Json) -> str:
    """Name and condition."""
    rate = f"{profile['rate_mbit_s']:g}{NBSP}Mbit/s" if profile["rate_mbit_s"] is not None else "rate not shaped"
    extra = [f"{profile['loss_pct']:g}{NBSP}% loss"] if profile["loss_pct"] else []
    extra += [f"+{profile['extra_rtt_ms']:g}{NBSP}ms RTT"] if profile["extra_rtt_ms"] else []
    return f"{profile['name']} ({', '.join([rate, *extra])})"


def client_label(client: Json) -> str:
    """Id, and whether any worker has it."""
    return client["id"] if client.get("builds") else f"{client['id']} (no build seen yet)"


def default_pair(clients: Sequence[Json]) -> list[str]:
    """The first program with both protocols, one with a known build before one without."""
    by_program: dict[str, dict[str, str]] = {}
    for client in sorted(clients, key=lambda c: not c.get("builds")):
        by_program.setdefault(client["program"], {})[client["protocol"]] = client["id"]
    for protocols in by_program.values():
        if {"h2", "h3"} <= protocols.keys():
            return [protocols["h2"], protocols["h3"]]
    return []


def vantage_choices(vantages: Sequence[Json]) -> list[Json]:
    """Every vantage with its state; ``local`` even before its worker first called in."""
    known = {
        v["name"]: v["name"] + (f" ({v['box_kind']} box)" if v.get("alive") else " (no worker alive)") for v in vantages
    }
    known.setdefault("local", "local")
    return [{"value": name, "label": label} for name, label in known.items()]


def default_vantage(vantages: Sequence[Json]) -> str:
    """``local`` if alive or unknown, else the first that is alive."""
    alive = [v["name"] for v in vantages if v.get("alive")]
    return "local" if "local" in alive or not alive else str(alive[0])


def vantage_note(vantages: Sequence[Json]) -> Any:
    """Says so when nothing would be measured yet."""
    if any(v.get("alive") for v in vantages):
        return None
    return html.P(
        "No worker is alive at the moment: the campaign waits in the queue until one starts.", className="lb-warning"
    )


def estimate_view(estimate: Estimate | None) -> Any:
    """What the campaign will cost."""
    if estimate is None or not estimate.trials:
        return html.P("Choose at least one endpoint, profile and client, and one round.", className="lb-muted")
    volume = ("at least " if estimate.unknown_sizes else "about ") + amount(estimate.total_bytes)
    return html.Div(
        [
            html.Dl(
                [
                    part
                    for term, text in (
                        ("Cells", f"{estimate.cells:,}"),
                        ("Trials", f"{estimate.trials:,}, the warm-up included"),
                        ("Transfer", volume),
                        ("Duration", f"roughly {duration(estimate.seconds)}; loss makes it longer"),
                    )
                    for part in (html.Dt(term), html.Dd(text))
                ],
                className="lb-facts",
            ),
            html.P(
                f"The size of {plural(estimate.unknown_sizes, 'endpoint')} is not known; counted as 0 bytes.",
                className="lb-muted",
            )
            if estimate.unknown_sizes
            else None,
            html.P("Production endpoints are other people's servers: keep the rounds few.", className="lb-warning")
            if estimate.production
            else None,
        ]
    )


def errors_by_field(problem: ApiProblem) -> tuple[dict[str, str], list[str]]:
    """What the API says of each input of the form, and what belongs to none of them."""
    at_field: dict[str, str] = {}
    rest: list[str] = []
    for error in problem.errors:
        field = str(error.get("field", "")).removeprefix("body.").split(".")[0]
        text = " ".join(str(error[key]) for key in ("message", "remedy") if error.get(key))
        text = text[:1].upper() + text[1:]
        if field in FIELDS:
            at_field[field] = f"{at_field[field]} {text}" if field in at_field else text
        else:
            rest.append(text)
    if not problem.errors:
        rest.append(str(problem))
    return at_field, rest
