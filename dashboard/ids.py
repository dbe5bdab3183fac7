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

# What every page that shows data has
PAGE_PATH: Final = "page-path"
"""Store: the path of the page that is shown."""
SEEN: Final = "seen"
"""Store: what the page shows, as one string; equal means that nothing needs drawing."""
OFFERED: Final = "offered"
"""Store: what the controls offer, as one string; they are made anew only when it changes."""
TICK: Final = "tick"
BANNER: Final = "banner"
HEAD: Final = "head"
CONTROLS: Final = "controls"
BODY: Final = "body"
TIP: Final = "tip"
"""What a square says on hover."""
REMEMBERED: Final = "remembered"
OFF_GRID: Final = "off-grid"

# Doing something with a campaign or a schedule
ACT_MODAL: Final = "act-modal"
ACT_TEXT: Final = "act-text"
ACT_TARGET: Final = "act-target"
"""Store: what to do with what, once it is confirmed."""
ACT_YES: Final = "act-yes"
ACT_NO: Final = "act-no"
ACT_ERROR: Final = "act-error"

# Labels of a campaign
LABELS: Final = "labels"
LABELS_SAVE: Final = "labels-save"
LABELS_STATE: Final = "labels-state"

# New campaign
NEW_NAME: Final = "new-name"
NEW_ENDPOINTS: Final = "new-endpoints"
NEW_PROFILES: Final = "new-profiles"
NEW_CLIENTS: Final = "new-clients"
NEW_ROUNDS: Final = "new-rounds"
NEW_SEED: Final = "new-seed"
NEW_VANTAGE: Final = "new-vantage"
NEW_AA: Final = "new-aa"
NEW_CAPTURE: Final = "new-capture"
NEW_MAX_ROUNDS: Final = "new-max-rounds"
NEW_WIDTH: Final = "new-width"
NEW_LABELS: Final = "new-labels"
NEW_ESTIMATE: Final = "new-estimate"
NEW_START: Final = "new-start"
NEW_PROBLEM: Final = "new-problem"

# Notes beside trends
NOTE_AT: Final = "note-at"
NOTE_TEXT: Final = "note-text"
NOTE_SAVE: Final = "note-save"
NOTE_STATE: Final = "note-state"

# Schedules
SCHEDULE_PREVIEW: Final = "schedule-preview"
SCHEDULE_SAVE: Final = "schedule-save"
SCHEDULE_EDITED: Final = "schedule-edited"
"""Store: the id of the schedule that the form edits; null for a new one."""
SCHEDULE_TEMPLATE: Final = "schedule-template"
"""Store: the campaign of the form, with what has no input of its own."""
SCHEDULE_PROBLEM: Final = "schedule-problem"

Pattern = dict[str, Any]


def control(name: Any = ALL) -> Pattern:
    """A control whose value stands in the query under ``name``."""
    return {"type": "control", "name": name}


def part(key: Any = ALL) -> Pattern:
    """A top-level part of a page's body."""
    return {"type": "part", "key": key}


def slot(key: Any = ALL) -> Pattern:
    """A text that changes beside something that must stay mounted."""
    return {"type": "slot", "key": key}


def grid(key: Any = ALL) -> Pattern:
    """A grid of rows."""
    return {"type": "grid", "key": key}


def figure(key: Any = ALL) -> Pattern:
    """Any figure that can be exported."""
    return {"type": "figure", "key": key}


def panel_figure(key: Any = ALL) -> Pattern:
    """The heatmap of one provider."""
    return {"type": "panel-figure", "panel": key}


def act(do: Any = ALL, target: Any = ALL) -> Pattern:
    """A button that does something with a campaign or schedule; ``do`` is a key of ``dashboard.actions``."""
    return {"type": "act", "do": do, "target": target}


def schedule_form(field: Any = ALL) -> Pattern:
    """An input of the form for schedules."""
    return {"type": "schedule-form", "field": field}
