"""The Dash application, wired."""

from __future__ import annotations

from dash import Dash
from plotly.offline import get_plotlyjs_version

from dashboard import downloads
from dashboard.callbacks import acks, act, live, new, notes, routing, schedules
from dashboard.client import ApiClient
from dashboard.pages.shell import frame
from dashboard.settings import Settings

PLOTLY = "plotly-cartesian.min.js"
"""The part of plotly.js that is needed here (MIT, npm plotly.js-cartesian-dist-min): a third of the whole to read.

It comes beside the other scripts; the whole would be fetched after the first page's data. Of the same version as the
whole in Python's plotly, which Dash falls back to (tests/unit/dashboard/test_app.py).
"""

_INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>lastbyte</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
{%css%}
<script defer src="{plotly}"></script>
</head>
<body>
{%app_entry%}
{%config%}{%scripts%}{%renderer%}
</body>
</html>"""


def create_app(settings: Settings | None = None, api: ApiClient | None = None) -> Dash:
    """Build the application; ``api`` replaces the REST client in tests.

    ``create_app().server`` is the WSGI application.
    """
    settings = settings or Settings.from_env()
    api = api or ApiClient(settings.api_url, api_key=settings.api_key)
    app = Dash(
        "dashboard",
        title="lastbyte",
        update_title="",
        serve_locally=True,
        suppress_callback_exceptions=True,  # pages come and go
        index_string=_INDEX.replace("{plotly}", f"/assets/{PLOTLY}?v={get_plotlyjs_version()}"),
        assets_ignore=PLOTLY,  # named in the index already
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = frame()
    routing.register(app, api, settings)
    live.register(app, api)
    act.register(app, api)
    schedules.register(app, api)
    notes.register(app, api)
    new.register(app, api)
    downloads.register(app, api)
    acks.register(app, api)
    _warm(app)
    return app


def _warm(app: Dash) -> None:
    """Render the empty page once.

    Dash learns which script files it may serve while it renders its index. A forked worker whose first request is for
    a script, because its sibling served the index, would refuse it.
    """
    answer = app.server.test_client().get("/")
    if answer.status_code != 200:
        raise RuntimeError(f"The dashboard's index page failed with status {answer.status_code}.")
