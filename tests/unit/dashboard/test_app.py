"""The application's index page."""

from __future__ import annotations

import re
from pathlib import Path

from plotly.offline import get_plotlyjs_version

import dashboard
from dashboard.app import PLOTLY, create_app


def test_the_part_of_plotly_is_of_the_version_that_figures_are_made_for() -> None:
    part = (Path(dashboard.__file__).parent / "assets" / PLOTLY).read_text(encoding="utf-8")[:200]
    assert f"v{get_plotlyjs_version()}\n" in part, (
        f"Fetch npm's plotly.js-cartesian-dist-min of version {get_plotlyjs_version()}."
    )


def test_the_index_names_it_once_and_every_script_is_served_from_here() -> None:
    client = create_app().server.test_client()
    index = client.get("/").get_data(as_text=True)
    scripts = re.findall(r'<script[^>]* src="([^"]+)"', index)
    assert len([script for script in scripts if PLOTLY in script]) == 1
    assert all(script.startswith("/") for script in scripts)
    for script in scripts:
        with client.get(script) as answer:
            assert answer.status_code == 200, script
