"""The form that schedules a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.client import ApiProblem, Json
from dashboard.formatting import NBSP, amount, duration, plural, size_label

FIELDS = {
    "name": ids.NEW_NAME,
    "endpoints": ids.NEW_ENDPOINTS,
    "profiles": ids.NEW_PROFILES,
    "clients": ids.NEW_CLIENTS,
    "rounds": ids.NEW_ROUNDS,
    "seed": ids.NEW_SEED,
    "vantage": ids.NEW_VANTAGE,
    "aa": ids.NEW_AA,
    "capture": ids.NEW_CAPTURE,
    "max_rounds": ids.NEW_MAX_ROUNDS,
    "target_width_pct": ids.NEW_WIDTH,
    "labels": ids.NEW_LABELS,
}
"""Field of the API's request body, and the input that holds it."""


def page(
    endpoints: list[Json],
    profiles: list[Json],
    clients: list[Json],
    vantages: list[Json],
    spec: Json | None = None,
) -> html.Div:
    """The form, filled from ``spec`` (a campaign to clone), else the testbed, the shaped profiles and one pair."""
    given = spec or {
        "endpoints": default_endpoints(endpoints),
        "profiles": default_profiles(profiles),
        "clients": default_pair(clients),
    }
    return html.Div(
        [
            dcc.Link("← Campaigns", href="/campaigns", className="lb-back"),
            html.Div(html.H1("New campaign"), className="lb-title-row"),
            html.P(
                "Each endpoint is fetched under each profile, round by round, once by each client in random order.",
                className="lb-muted lb-under",
            ),
            html.Div(
                [
                    html.Div(
                        [
                            html.Div(
                                [
                                    dmc.TextInput(
                                        id=ids.NEW_NAME,
                                        label="Name",
                                        description="What this is about; may stay empty.",
                                        value=given.get("name") or "",
                                    ),
                                    dmc.TagsInput(
                                        id=ids.NEW_LABELS,
                                        label="Labels",
                                        description="Words to find it by, each with Enter.",
                                        value=given.get("labels") or [],
                                    ),
                                ],
                                className="lb-form-row",
                            ),
                            dmc.MultiSelect(
                                id=ids.NEW_ENDPOINTS,
                                label="Endpoints",
                                description="What is fetched. The testbed's are stand-ins on this machine.",
                                data=endpoint_choices(endpoints),
                                value=given["endpoints"],
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
                                value=given["profiles"],
                                searchable=True,
                                clearable=True,
                            ),
                            dmc.MultiSelect(
                                id=ids.NEW_CLIENTS,
                                label="Clients",
                                description="One with HTTP/2 and one with HTTP/3 at least.",
                                data=[{"value": c["id"], "label": client_label(c)} for c in clients],
                                value=given["clients"],
                                searchable=True,
                                clearable=True,
                            ),
                            html.Div(
                                [
                                    dmc.NumberInput(
                                        id=ids.NEW_ROUNDS,
                                        label="Rounds",
                                        description="Per cell; a warm-up is added.",
                                        value=given.get("rounds") or 10,
                                        min=1,
                                        allowDecimal=False,
                                    ),
                                    dmc.NumberInput(
                                        id=ids.NEW_SEED,
                                        label="Seed",
                                        description="Same seed, same order.",
                                        placeholder="drawn",
                                        value=given.get("seed"),
                                        min=0,
                                        allowDecimal=False,
                                    ),
                                    dmc.Select(
                                        id=ids.NEW_VANTAGE,
                                        label="Vantage",
                                        description="Where it is measured from.",
                                        data=vantage_choices(vantages),
                                        value=given.get("vantage") or default_vantage(vantages),
                                        allowDeselect=False,
                                    ),
                                ],
                                className="lb-form-row",
                            ),
                            _precision(given),
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


def _precision(given: Json) -> html.Div:
    """Target precision, noise floor and captures."""
    return html.Div(
        [
            dmc.NumberInput(
                id=ids.NEW_MAX_ROUNDS,
                label="At most (rounds)",
                description="Go on until it is known.",
                placeholder="just the rounds",
                value=given.get("max_rounds"),
                min=1,
                allowDecimal=False,
            ),
            dmc.NumberInput(
                id=ids.NEW_WIDTH,
                label="Until the interval is",
                description="Percentage points wide.",
                placeholder="4",
                value=given.get("target_width_pct"),
                min=0,
                suffix=" %",
            ),
            dmc.Select(
                id=ids.NEW_AA,
                label="A/A noise floor",
                description="Run a client against itself.",
                data=[
                    {"value": "off", "label": "off"},
                    {"value": "baseline", "label": "HTTP/2 client twice"},
                    {"value": "both", "label": "both clients twice"},
                ],
                value=given.get("aa") or "off",
                allowDeselect=False,
            ),
            dmc.Select(
                id=ids.NEW_CAPTURE,
                label="Captures",
                description="Rounds on top, not counted.",
                data=[
                    {"value": "never", "label": "none"},
                    {"value": "last-round", "label": "one round"},
                    {"value": "last-three-rounds", "label": "three rounds"},
                ],
                value=given.get("capture") or "never",
                allowDeselect=False,
            ),
        ],
        className="lb-form-row",
    )


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


def default_endpoints(endpoints: Sequence[Json]) -> list[str]:
    """The objects of the testbed; whole pages are for the clients that load them."""
    return [e["id"] for e in endpoints if e["origin"] == "testbed" and e.get("kind") != "page"]


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
        by_program.setdefault(client["program"], {}).setdefault(client["protocol"], client["id"])  # arms come after
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


def estimate_view(estimate: Json | None) -> Any:
    """What the campaign will cost, as the API reckons it."""
    if estimate is None or not estimate["trials"]:
        return html.P("Choose at least one endpoint, profile and client, and one round.", className="lb-muted")
    volume = ("at least " if estimate["unknown_sizes"] else "about ") + amount(estimate["bytes"])
    known = estimate["measured_cells"] == estimate["cells"]
    facts = (
        ("Cells", f"{estimate['cells']:,}"),
        ("Trials", f"{estimate['trials']:,}, the warm-up included"),
        ("Transfer", volume),
        ("Duration", f"{'about' if known else 'roughly'} {duration(estimate['seconds'])} of one worker"),
    )
    return html.Div(
        [
            html.Dl([part for term, text in facts for part in (html.Dt(term), html.Dd(text))], className="lb-facts"),
            html.P(
                f"The size of {plural(len(estimate['unknown_sizes']), 'endpoint')} is not known; counted as 0 bytes.",
                className="lb-muted",
            )
            if estimate["unknown_sizes"]
            else None,
            *(_host_budget(host) for host in estimate["hosts"]),
        ]
    )


def _host_budget(host: Json) -> html.P:
    """What is asked of a host that is not ours, beside what may be asked of it."""
    budget = host["budget"]
    days = "" if host["days"] <= 1 else f" It will take {plural(host['days'], 'day')}."
    left = (
        f"Its courtesy budget has {budget['requests_left']:,} of {budget['requests_per_day']:,} requests and "
        f"{amount(budget['bytes_left'])} left today, one every {budget['min_gap_s']:g} s at most."
    )
    return html.P(
        [
            html.Strong(f"{budget['host']}: "),
            f"{plural(host['requests'], 'request')} and {amount(host['bytes'])}. {left}{days}",
        ],
        className="lb-warning",
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
