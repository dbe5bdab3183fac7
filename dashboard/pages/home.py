"""Home: heatmaps of the newest results, or of the campaigns that the viewer chooses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache

from dash import dcc, html

from dashboard.client import ApiClient, Json
from dashboard.export import heatmap_csv
from dashboard.figures.grid import CONDITIONS, TIME, all_cells
from dashboard.formatting import parse_time, plural
from dashboard.links import campaign_path
from dashboard.merge import labelled, merged
from dashboard.pages import parts
from dashboard.pages.grids import axis_of, choices, mode_of, section
from dashboard.pages.place import Place
from dashboard.pages.shell import state_box
from dashboard.pages.view import Choice, Drawn, value_in, values_in

RANGES = (
    ("latest", "newest of each square", None),
    ("day", "last 24 hours", 1),
    ("week", "last 7 days", 7),
    ("month", "last 30 days", 30),
)
EVER_DAYS = 36_500
MOST_CAMPAIGNS = 40
"""Heatmaps asked for where time is the axis."""
MOST_AT_ONCE = 6
"""Heatmaps asked for otherwise."""


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page."""
    listed = api.campaigns()["items"]
    measured = [c for c in listed if c["trials_done"]]
    if not measured:
        return Drawn(
            seen="empty" + str(len(listed)),
            head=html.H1("Is HTTP/3 faster than HTTP/2 here?"),
            body=lambda: empty(listed),
            live=True,
        )
    places = sorted({c["vantage"] for c in measured})
    vantage = value_in(place, "vantage", places, "")
    here = [c for c in measured if not vantage or c["vantage"] == vantage]
    chosen = chosen_campaigns(place, here)
    heatmap = cache(lambda: gather(api, chosen, place))  # not fetched where nothing is new
    return Drawn(
        seen=json.dumps(
            [[[c["id"], c["state"], c["trials_done"], c["trials_failed"]] for c in chosen], place.query, place.scheme]
        ),
        head=head(chosen, place),
        controls=lambda: _controls(place, heatmap(), chosen, _which(place, here, places, vantage)),
        body=lambda: section(place, heatmap(), axis_of(place, heatmap()), _profiles(place, heatmap())[1]),
        live=True,
        files={"heatmap": lambda: heatmap_csv(heatmap())},
    )


def _controls(place: Place, heatmap: Json, chosen: Sequence[Json], which: list[Choice]) -> list[Choice]:
    clients = list(dict.fromkeys(client for c in chosen for client in c["clients"]))
    found = choices(place, heatmap, clients, (*CONDITIONS, TIME))
    if axis_of(place, heatmap).key == "time":
        profiles, profile = _profiles(place, heatmap)
        found.append(Choice("condition", "Condition", [(p, p) for p in profiles], profile))
    return found + which


def _profiles(place: Place, heatmap: Json) -> tuple[list[str], str]:
    """Every profile, and that of a time axis."""
    profiles = list(dict.fromkeys(cell["profile"] for _, cell in all_cells(heatmap)))
    return profiles, value_in(place, "condition", profiles, profiles[0] if profiles else "")


def chosen_campaigns(place: Place, campaigns: Sequence[Json]) -> list[Json]:
    """Those named in the query, else what is needed for the newest result of each square; newest first."""
    named = values_in(place, "campaigns", [c["id"] for c in campaigns])
    if named:
        return [c for c in campaigns if c["id"] in named]
    days = {key: days for key, _, days in RANGES}.get(place.query.get("range", ""))
    since = datetime.now(UTC) - timedelta(days=days or EVER_DAYS)
    within = [c for c in campaigns if parse_time(c["created_at"]) >= since] or list(campaigns[:1])
    if place.query.get("axis") == TIME.key:
        return within[:MOST_CAMPAIGNS]
    return needed(within)


def needed(campaigns: Sequence[Json]) -> list[Json]:
    """The campaigns that hold the newest result of each square: of nightly ones the last, of different ones all."""
    covered: set[tuple[str, str]] = set()
    found: list[Json] = []
    for campaign in campaigns:
        squares = {(e, p) for e in campaign["endpoints"] for p in campaign["profiles"]}
        if squares - covered and len(found) < MOST_AT_ONCE:
            found.append(campaign)
            if campaign["cells_done"] == campaign["cells_planned"]:
                covered |= squares
    return found


def gather(api: ApiClient, campaigns: Sequence[Json], place: Place) -> Json:
    """One heatmap of several campaigns; each with the chosen clients, if it has them."""
    mode = mode_of(place)

    def ask(campaign: Json) -> Json:
        arms = {
            side: place.query.get(side) if place.query.get(side) in campaign["clients"] else None
            for side in ("baseline", "candidate")
        }
        return labelled(campaign, api.heatmap(campaign["id"], arms["baseline"], arms["candidate"], mode))

    if len(campaigns) == 1:
        return ask(campaigns[0])
    with ThreadPoolExecutor(min(8, len(campaigns))) as pool:
        return merged(list(pool.map(ask, campaigns)), every=place.query.get("axis") == TIME.key)


def head(chosen: Sequence[Json], place: Place) -> html.Div:
    """What is asked, and where the answer comes from."""
    first = chosen[0]
    what = "a row each" if place.query.get("axis") == TIME.key else "each square from the newest that measured it"
    source = [
        html.Span(["campaign ", dcc.Link(first["name"], href=campaign_path(first["id"]))])
        if len(chosen) == 1
        else html.Span(f"{plural(len(chosen), 'campaign')}, {what}"),
        html.Span(f"vantage {', '.join(sorted({c['vantage'] for c in chosen}))}"),
        html.Span(["measured ", parts.time_tag(first["started_at"] or first["created_at"], place.zone)]),
        parts.badge(first["state"]) if first["state"] not in parts.IS_OVER else None,
        html.Span("imported results", className="lb-tag") if any(c.get("source") for c in chosen) else None,
    ]
    return html.Div(
        [html.H1("Is HTTP/3 faster than HTTP/2 here?"), html.P(parts.joined(*source), className="lb-meta lb-meta-home")]
    )


def _which(place: Place, campaigns: Sequence[Json], places: Sequence[str], vantage: str) -> list[Choice]:
    """Campaigns, time range and vantage."""
    known = [(c["id"], c["name"]) for c in campaigns]
    named = values_in(place, "campaigns", [ident for ident, _ in known])
    found = [Choice("campaigns", "Campaigns", known, ",".join(named), many=True, none="newest")]
    if not named:
        found.append(
            Choice("range", "Time range", [(k, t) for k, t, _ in RANGES], place.query.get("range") or "latest")
        )
    if len(places) > 1:
        found.append(Choice("vantage", "Vantage", [("", "all"), *((p, p) for p in places)], vantage))
    return found


def empty(listed: Sequence[Json]) -> html.Div:
    """Before the first result."""
    if listed:
        first = listed[0]
        return state_box(
            "The first results are on their way",
            f"{first['name']} is {first['state']}. Squares appear here as soon as the first trials are stored.",
            dcc.Link("Follow it", href=campaign_path(first["id"]), className="lb-button lb-button-primary"),
        )
    return state_box(
        "No campaign yet",
        "A campaign fetches each endpoint with HTTP/2 and HTTP/3 through links that are shaped on purpose, "
        "and draws where HTTP/3 is faster.",
        dcc.Link("Schedule the first one", href="/new", className="lb-button lb-button-primary"),
    )
