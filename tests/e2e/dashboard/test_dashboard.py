"""The dashboard as people use it: real Chromium, real system, real measurements."""

from __future__ import annotations

import csv
import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.dashboard.conftest import Forwarder, OpenPage, dashboard_on
from tests.stack import Stack

SLOW_MS = 120_000


def first_cell(page: Page) -> tuple[float, float]:
    """Middle of the top left square of the first heatmap."""
    box = page.locator(".lb-panel .nsewdrag").first.bounding_box()
    assert box is not None
    return box["x"] + 47, box["y"] + 47


def test_the_list_shows_the_demo_and_leads_to_it(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(stack.dashboard_url)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="demo"))
    expect(row).to_contain_text("trials", timeout=SLOW_MS)  # posted once the worker is there
    expect(row).to_contain_text("today")
    row.get_by_role("link", name="demo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("demo")
    expect(page.locator(".lb-panel").first).to_contain_text("testbed-caddy")
    expect(page.locator(".lb-panel").first).to_contain_text("testbed stand-in · base RTT 10 ms")


def test_the_heatmap_fills_without_a_reload(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    # ``measured`` is over, so nothing stands before this campaign in the queue.
    created = stack.post(
        endpoints=["testbed-caddy-100KB"],
        profiles=["baseline", "loss-1"],
        clients=["curl-quiche-h2", "curl-quiche-h3"],
        rounds=6,
        name="filling",
    )
    page = open_page(f"{stack.dashboard_url}/campaigns/{created['id']}")
    page.evaluate("window.sameDocument = true")
    panel = page.locator(".lb-panel")
    expect(panel.get_by_text(re.compile(r"n.=.6"))).to_have_count(2, timeout=SLOW_MS)
    expect(page.locator(".lb-badge")).to_have_text("done", timeout=SLOW_MS)
    expect(panel.get_by_text(re.compile(r"^[+\u2212]?\d+\.\d.%$"))).to_have_count(2)
    assert page.evaluate("window.sameDocument")


def test_a_square_tells_all_on_hover(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?axis=delay")
    expect(page.locator(".lb-panel .nsewdrag").first).to_be_visible()
    page.mouse.move(*first_cell(page))
    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    for part in ("95 % interval", "n = 6", "H2: median TTLB", "H3: median TTLB", "requested", "achieved"):
        expect(tip).to_contain_text(part)
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_a_square_opens_its_trials(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?axis=delay")
    expect(page.locator(".lb-panel .nsewdrag").first).to_be_visible()
    for _ in range(2):  # the same square opens again after it was closed
        page.mouse.click(*first_cell(page))
        drawer = page.get_by_role("dialog")
        expect(drawer).to_contain_text("testbed-caddy · 100 KB · baseline")
        expect(drawer.locator(".ag-center-cols-container .ag-row")).to_have_count(14)
        expect(drawer.locator(".ag-center-cols-container")).to_contain_text("HTTP/3")
        expect(page).to_have_url(re.compile("endpoint=testbed-caddy-100KB&profile=baseline"))
        page.keyboard.press("Escape")
        expect(drawer).to_be_hidden()
        expect(page).not_to_have_url(re.compile("endpoint="))


def test_a_link_reproduces_the_view(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    query = "axis=delay&endpoint=testbed-caddy-100KB&profile=delay-50"
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?{query}")
    expect(page.get_by_role("dialog")).to_contain_text("50 ms extra RTT")
    page.keyboard.press("Escape")
    expect(page.locator(".lb-panel").first).to_contain_text("Extra delay (RTT)")
    page.get_by_text("Loss \N{MULTIPLICATION SIGN} size").click()
    expect(page.locator(".lb-panel").first).to_contain_text("Extra loss")
    expect(page).to_have_url(re.compile("axis=loss"))


def test_what_no_grid_shows_is_listed(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}")
    listed = page.locator("#off-grid")
    expect(listed).to_contain_text("unshaped")
    listed.get_by_role("button", name="Trials of testbed-caddy-100KB, unshaped").click()
    expect(page.get_by_role("dialog")).to_contain_text("rate not shaped")


def test_csv_of_the_heatmap(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    with open(waiting.value.path(), newline="", encoding="utf-8") as file:  # noqa: PTH123 - Playwright gives a path
        lines = list(csv.DictReader(file))
    assert {line["profile"] for line in lines} == {"baseline", "delay-50", "unshaped"}
    shown = {
        cell["profile"]: cell["diff_pct"] for p in stack.heatmap(measured["id"])["providers"] for cell in p["cells"]
    }
    assert {line["profile"]: float(line["diff_pct"]) for line in lines} == shown


def test_the_form_schedules_and_the_campaign_can_be_cancelled(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(stack.dashboard_url)
    page.get_by_role("link", name="New campaign").click()
    expect(page.locator("#new-estimate")).to_contain_text("Trials")
    page.get_by_label("Rounds").fill("100000")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".mantine-NumberInput-error")).to_contain_text("1000")
    assert page.url.endswith("/new")
    page.get_by_label("Name").fill("from the form")
    page.get_by_label("Rounds").fill("20")
    page.get_by_label("Rounds").blur()
    expect(page.locator("#new-estimate")).to_contain_text("the warm-up included")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("from the form")
    created = page.url.split("/campaigns/")[1].split("?")[0]
    assert stack.campaign(created)["rounds"] == 20
    page.get_by_role("button", name="Cancel from the form").click()
    page.get_by_role("button", name="Keep it running").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Cancel from the form").click()
    page.get_by_role("button", name="Cancel the campaign").click()
    expect(page.locator(".lb-badge")).to_have_text("cancelled")
    assert stack.campaign(created)["state"] == "cancelled"


def test_an_unknown_campaign_says_so(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("There is no such campaign")


def test_it_outlives_an_outage_of_the_api(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    relay = Forwarder(stack.api_port)
    relay.up()
    with dashboard_on(relay.port) as url:
        page = open_page(url)
        expect(page.get_by_role("link", name=measured["name"])).to_be_visible()
        relay.down()
        expect(page.get_by_role("alert")).to_contain_text("The API does not answer")
        expect(page.get_by_role("link", name=measured["name"])).to_be_visible()
        other = open_page(url)
        expect(other.get_by_role("alert")).to_contain_text("tries again every two seconds")
        relay.up()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(other.get_by_role("link", name=measured["name"])).to_be_visible()
        page.close()
        other.close()
    relay.down()


def test_narrow_screens_scroll_in_one_direction_only(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    for path, heading in (
        ("/", "Campaigns"),
        (f"/campaigns/{measured['id']}", measured["name"]),
        ("/new", "New campaign"),
    ):
        page = open_page(stack.dashboard_url + path, viewport={"width": 390, "height": 844})
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
