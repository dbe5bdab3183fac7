"""Heatmaps of several campaigns as one: each square is that of the newest campaign that has measured it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.client import Json


def labelled(campaign: Json, heatmap: Json) -> Json:
    """The heatmap with each cell naming its campaign, when that began, and the clients that it compares."""
    tag = {
        "campaign_id": campaign["id"],
        "campaign_name": campaign["name"],
        "measured_at": campaign["started_at"] or campaign["created_at"],
        "baseline_client": heatmap["baseline"],
        "candidate_client": heatmap["candidate"],
    }
    return {
        **heatmap,
        "providers": [{**p, "cells": [{**cell, **tag} for cell in p["cells"]]} for p in heatmap["providers"]],
    }


def pairs(heatmap: Json) -> list[tuple[str, str]]:
    """The clients compared, (baseline, candidate), each pair once: several where campaigns had others to compare."""
    compared = ((heatmap["baseline"], heatmap["candidate"]),)
    cells = (cell for provider in heatmap["providers"] for cell in provider["cells"])
    tagged = ((c["baseline_client"], c["candidate_client"]) for c in cells if "baseline_client" in c)
    return list(dict.fromkeys(tagged)) or list(compared)


def merged(heatmaps: Sequence[Json], *, every: bool = False) -> Json:
    """One heatmap of several labelled ones, newest first.

    A square that only an older campaign has measured comes from there. ``every``: keep all cells, for the time axis.
    Nothing is pooled: each square remains one campaign's, with its own n and interval.
    """
    providers: dict[tuple[Any, ...], Json] = {}
    seen: dict[tuple[Any, ...], Json] = {}
    for heatmap in heatmaps:
        for provider in heatmap["providers"]:
            key = (provider["provider"], provider["origin"], provider["base_rtt_ms"])
            mine = providers.setdefault(key, {**provider, "cells": []})
            for cell in provider["cells"]:
                place = (*key, cell["endpoint"], cell["profile"])
                before = seen.get(place)
                if before is None or every:
                    seen[place] = cell
                    mine["cells"].append(cell)
                elif not before["n"] and cell["n"]:
                    seen[place] = cell
                    mine["cells"] = [cell if other is before else other for other in mine["cells"]]
    notes = dict.fromkeys(str(heatmap["mode_note"]) for heatmap in heatmaps if heatmap.get("mode_note"))
    return {**heatmaps[0], "providers": list(providers.values()), "mode_note": " / ".join(notes) or None}
