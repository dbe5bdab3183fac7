"""Every component id, in one place; pattern-matching ids are made by functions."""

from __future__ import annotations

from typing import Any, Final

from dash import ALL

# Frame
URL: Final = "url"
PLACE: Final = "place"
"""Store: path, query, time zone and colour scheme of the viewer, filled in the browser."""
PAGE: Final = "page"
RETRY: Final = "retry"

# Campaign list
HOME_LIST: Final = "home-list"
HOME_BANNER: Final = "home-banner"
HOME_SEEN: Final = "home-seen"
HOME_TICK: Final = "home-tick"

# Cancelling, on the list and on the campaign page
CANCEL_MODAL: Final = "cancel-modal"
CANCEL_TEXT: Final = "cancel-text"
CANCEL_TARGET: Final = "cancel-target"
CANCEL_YES: Final = "cancel-yes"
CANCEL_NO: Final = "cancel-no"
CANCEL_ERROR: Final = "cancel-error"

# One campaign
CAMPAIGN_ID: Final = "campaign-id"
CAMPAIGN_HEAD: Final = "campaign-head"
CAMPAIGN_SUMMARY: Final = "campaign-summary"
CAMPAIGN_BANNER: Final = "campaign-banner"
CAMPAIGN_SEEN: Final = "campaign-seen"
"""Store: what the page shows, as one string; equal means that nothing needs drawing."""
CAMPAIGN_TICK: Final = "campaign-tick"
AXIS: Final = "axis"
BASELINE: Final = "baseline"
CANDIDATE: Final = "candidate"
NO_PANELS: Final = "no-panels"
TIP: Final = "tip"
"""What a heatmap cell says on hover."""
OFF_GRID: Final = "off-grid"
ALL_CELLS: Final = "all-cells"
HEATMAP_CSV: Final = "heatmap-csv"
HEATMAP_DOWNLOAD: Final = "heatmap-download"

# One cell
OPEN_CELL: Final = "open-cell"
"""Store: endpoint and profile of the cell whose trials are shown; None when closed."""
CELL_DRAWER: Final = "cell-drawer"
CELL_HEAD: Final = "cell-head"
CELL_PLOT: Final = "cell-plot"
CELL_GRID: Final = "cell-grid"
CELL_CSV: Final = "cell-csv"
CELL_DOWNLOAD: Final = "cell-download"

# New campaign
NEW_CATALOGUE: Final = "new-catalogue"
NEW_NAME: Final = "new-name"
NEW_ENDPOINTS: Final = "new-endpoints"
NEW_PROFILES: Final = "new-profiles"
NEW_CLIENTS: Final = "new-clients"
NEW_ROUNDS: Final = "new-rounds"
NEW_SEED: Final = "new-seed"
NEW_VANTAGE: Final = "new-vantage"
NEW_ESTIMATE: Final = "new-estimate"
NEW_START: Final = "new-start"
NEW_PROBLEM: Final = "new-problem"

Pattern = dict[str, Any]


def panel_figure(key: Any = ALL) -> Pattern:
    """The heatmap of one provider."""
    return {"type": "panel-figure", "panel": key}


def panel_card(key: Any = ALL) -> Pattern:
    """The card round it."""
    return {"type": "panel-card", "panel": key}


def open_cell(where: Any = ALL, endpoint: Any = ALL, profile: Any = ALL) -> Pattern:
    """A button that opens a cell; ``where`` tells two tables on one page apart."""
    return {"type": "open-cell", "where": where, "endpoint": endpoint, "profile": profile}


def cancel(campaign: Any = ALL) -> Pattern:
    """A button that asks whether to cancel a campaign."""
    return {"type": "cancel", "campaign": campaign}
