"""Every page by the rules of axe-core, in light and dark: no serious finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dashboard.conftest import OpenPage
from tests.stack import Stack

AXE = Path(__file__).parent.parent / "axe" / "axe.min.js"
GRAVE = ("serious", "critical")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_finding(stack: Stack, measured: dict[str, Any], open_page: OpenPage, scheme: str) -> None:
    campaign = f"/campaigns/{measured['id']}"
    cell = stack.heatmap(measured["id"])["providers"][0]["cells"][0]["cell_id"]
    paths = ("/", "/campaigns", campaign, f"{campaign}/cells/{cell}", "/clients", "/trends", "/crossover", "/compare",
             "/schedules", "/vantages", "/new")  # fmt: skip
    page = open_page(stack.dashboard_url, color_scheme=scheme)
    found = []
    for path in paths:
        page.goto(stack.dashboard_url + path)
        page.locator("main h1").wait_for()
        page.wait_for_timeout(700)  # until fonts, figures and lists stand
        page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
        found += [f"{path}: {v['id']}: {v['nodes'][0]['html'][:200]}" for v in violations if v["impact"] in GRAVE]
    assert found == []


def test_the_keyboard_reaches_a_cell(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}")
    page.locator("main h1").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.get_by_role("button", name="All cells as a table").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Open").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Proof of the link").wait_for()
