"""The dashboard as people use it: real Chromium, real system, real measurements."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from dashboard.figures.cell_text import rounds_line
from tests.e2e.dashboard.conftest import Forwarder, OpenPage, dashboard_on
from tests.stack import Stack

SLOW_MS = 120_000


def first_cell(page: Page) -> tuple[float, float]:
    """Middle of the top left square of the first heatmap."""
    box = page.locator(".lb-panel .nsewdrag").first.bounding_box()
    assert box is not None
    return box["x"] + 47, box["y"] + 47


def test_the_list_shows_the_demo_and_leads_to_it(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns")
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
    expect(panel.get_by_text(re.compile(r"n.=.[4-6]"))).to_have_count(2, timeout=SLOW_MS)
    expect(page.locator("#head .lb-badge")).to_have_text("done", timeout=SLOW_MS)
    # squares carry a sign or a decimal, which the axis of loss (0 %, 1 %) does not
    expect(panel.get_by_text(re.compile(r"^([+\u2212]\d+(\.\d)?|0\.0).%$"))).to_have_count(2)
    assert page.evaluate("window.sameDocument")


def test_a_square_tells_all_on_hover(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?axis=delay")
    expect(page.locator(".lb-panel .nsewdrag").first).to_be_visible()
    page.mouse.move(*first_cell(page))
    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    for part in (
        "95 % interval",
        re.compile(r"n = [4-6]"),
        "H2: median TTLB",
        "H3: median TTLB",
        "requested",
        "achieved",
    ):
        expect(tip).to_contain_text(part)
    page.mouse.move(5, 5)
    expect(tip).to_be_hidden()


def test_a_square_opens_its_cell(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?axis=delay")
    expect(page.locator(".lb-panel .nsewdrag").first).to_be_visible()
    page.mouse.click(*first_cell(page))
    expect(page.get_by_role("heading", level=1)).to_have_text("testbed-caddy · 100\u00a0KB · baseline")
    expect(page).to_have_url(re.compile(r"/cells/\d+\?baseline=curl-quiche-h2&candidate=curl-quiche-h3"))
    expect(page.locator(".ag-center-cols-container .ag-row")).to_have_count(14)
    expect(page.locator(".ag-center-cols-container")).to_contain_text("HTTP/3")
    for title in ("Round by round", "Where the time goes", "What explains the difference", "Proof of the link"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text("netem limit").first).to_be_visible()
    page.get_by_role("link", name="← two conditions").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("two conditions")


def test_a_figure_is_saved_and_the_trials_too(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    cell = stack.heatmap(measured["id"])["providers"][0]["cells"][0]
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}/cells/{cell['cell_id']}")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Save Round by round as {kind}").click()
        assert Path(waiting.value.path()).read_bytes().startswith(start)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download CSV").click()
    assert Path(waiting.value.path()).read_text(encoding="utf-8").count("\n") == 15


def test_home_answers_and_its_link_reproduces_the_view(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    page = open_page(f"{stack.dashboard_url}/?campaigns={measured['id']}&axis=delay&sizes=100KB")
    expect(page.locator(".lb-summary")).to_contain_text("H3")
    # a busy machine may put a trial out of tolerance, which is then left out and said
    rests = r"Rests.on.(24.trials,.6|2[0-3].trials,.[45]|2[0-3].trials,.[45].to.6).paired.rounds.per.square\."
    expect(page.get_by_text(re.compile(rests))).to_be_visible()
    expect(page.locator(".lb-panel").first).to_contain_text("Extra delay (RTT)")
    page.get_by_role("radiogroup", name="Rows").get_by_text("Loss", exact=True).click()
    expect(page.locator(".lb-panel").first).to_contain_text("Extra loss")
    expect(page).to_have_url(re.compile("axis=loss"))
    expect(page).to_have_url(re.compile(measured["id"]))
    other = open_page(page.url)
    expect(other.locator(".lb-panel").first).to_contain_text("Extra loss")


def test_a_paper_mode_says_its_bias(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}?mode=yu2021")
    note = stack.heatmap(measured["id"], mode="yu2021")["mode_note"]
    expect(page.get_by_role("note")).to_contain_text(note)


def test_csv_of_the_heatmap(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/{measured['id']}")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Data of Heatmap of testbed-caddy as CSV").click()
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
    page.get_by_label("Rounds", exact=True).fill("100000")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".mantine-NumberInput-error")).to_contain_text("1000")
    assert page.url.endswith("/new")
    page.get_by_label("Name").fill("from the form")
    page.get_by_label("Rounds", exact=True).fill("20")
    page.get_by_label("Rounds", exact=True).blur()
    expect(page.locator("#new-estimate")).to_contain_text("the warm-up included")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("from the form")
    created = page.url.split("/campaigns/")[1].split("?")[0]
    assert stack.campaign(created)["rounds"] == 20
    page.get_by_role("button", name="Pause from the form").click()
    expect(page.locator("#head .lb-badge")).to_have_text("paused")
    page.get_by_role("button", name="Resume from the form").click()
    page.get_by_role("button", name="Cancel from the form").click()
    page.get_by_role("button", name="Leave it as it is").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Cancel from the form").click()
    page.get_by_role("button", name="Cancel the campaign").click()
    expect(page.locator("#head .lb-badge")).to_have_text("cancelled")
    assert stack.campaign(created)["state"] == "cancelled"


def test_a_campaign_that_is_deleted_while_it_is_open_says_so(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    doomed = stack.post(
        name="doomed", endpoints=["testbed-caddy-100KB"], profiles=["baseline"], clients=["curl-quiche"], rounds=1
    )
    watched = open_page(f"{stack.dashboard_url}/campaigns/{doomed['id']}")
    expect(watched.get_by_role("heading", level=1)).to_have_text("doomed")
    stack.http.post(f"/campaigns/{doomed['id']}/cancel")
    page = open_page(f"{stack.dashboard_url}/campaigns/{doomed['id']}")
    page.get_by_role("button", name="Delete doomed").click()
    expect(page.get_by_role("dialog")).to_contain_text("goes for good")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")
    assert stack.http.get(f"/campaigns/{doomed['id']}").status_code == 404
    # Whoever has it open is told with the next thing they do, and keeps what they see.
    watched.get_by_role("radiogroup", name="Rows").get_by_text("Delay", exact=True).click()
    expect(watched.get_by_role("alert")).to_contain_text("This is no longer there")
    expect(watched.get_by_role("heading", level=1)).to_have_text("doomed")
    watched.reload()
    expect(watched.get_by_role("alert")).to_contain_text("There is no such campaign")


def test_a_schedule_is_made_explained_edited_run_and_deleted(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    page = open_page(f"{stack.dashboard_url}/schedules")
    page.get_by_label("Name").fill("every morning")
    page.get_by_label("When (cron)").fill("99 3 * * *")
    expect(page.locator("#schedule-preview")).to_contain_text("This can't be scheduled yet")
    page.get_by_label("When (cron)").fill("30 6 * * MON-FRI")
    expect(page.locator("#schedule-preview")).to_contain_text("06:30")
    page.get_by_role("textbox", name="Take these from a campaign").click()
    page.get_by_role("option", name=measured["name"], exact=True).first.click()
    expect(page.locator("#schedule-preview")).to_contain_text("42\u00a0trials")  # 3 cells, 7 rounds, 2 clients
    page.get_by_role("button", name="Create the schedule").click()
    card = page.locator("section.lb-card").filter(has=page.get_by_role("heading", name="every morning", exact=True))
    expect(card).to_contain_text("06:30")
    page.get_by_role("button", name="Disable every morning").click()
    expect(page.get_by_role("button", name="Enable every morning")).to_be_visible()

    page.get_by_role("link", name="Edit every morning").click()
    expect(page.get_by_role("heading", name="Edit every morning")).to_be_visible()
    made = next(s for s in stack.http.get("/schedules").json()["items"] if s["name"] == "every morning")
    page.get_by_label("When (cron)").fill("0 7 * * *")
    expect(page.locator("#schedule-preview")).to_contain_text("07:00")
    # News of a schedule come while one types, and take nothing away.
    stack.http.patch(f"/schedules/{made['id']}", json={"overlap": "queue"})
    expect(card).to_contain_text("overlapping: wait")
    expect(page.get_by_label("When (cron)")).to_have_value("0 7 * * *")
    page.get_by_role("button", name="Save the changes").click()
    expect(page.get_by_role("heading", name="New schedule")).to_be_visible()
    expect(card).to_contain_text("07:00")
    edited = stack.http.get(f"/schedules/{made['id']}").json()
    assert (edited["cron"], edited["template"]) == ("0 7 * * *", made["template"])

    page.get_by_role("button", name="Run now every morning").click()
    expect(page).to_have_url(re.compile("/campaigns/"))
    stack.http.post(f"/campaigns/{page.url.rsplit('/', 1)[-1]}/cancel").raise_for_status()
    page.goto(f"{stack.dashboard_url}/schedules")
    expect(card).to_contain_text("started: campaign cancelled")
    page.get_by_role("button", name="Delete every morning").click()
    page.get_by_role("button", name="Delete the schedule").click()
    expect(card).to_have_count(0)


def zoom_into(page: Page, plot: Locator) -> None:
    """Draw a box over the middle of a plot with the mouse, as a viewer zooms."""
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()


def middle_of(plot: Locator) -> tuple[float, float]:
    """Where a plot is on the screen, inside its axes."""
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def rounds_in(plot: Locator) -> int:
    """The last round that is drawn, of the measured trials of H3."""
    return int(plot.evaluate("plot => Math.max(...plot._fullData.find(t => t.name.startsWith('H3 (')).x)"))


def view_of(plot: Locator) -> Any:
    """What a viewer can change of a plot: the ranges of its axes, and the traces that the legend hides."""
    return plot.evaluate("""plot => ({
        x: plot._fullLayout.xaxis.range, y: plot._fullLayout.yaxis.range,
        hidden: plot._fullData.filter(trace => trace.visible === "legendonly").map(trace => trace.name),
    })""")


def test_news_come_without_flicker_and_keep_the_zoom(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    rounds = 16
    created = stack.post(
        endpoints=["testbed-caddy-1MB"], profiles=["delay-50"], clients=["curl-quiche"], rounds=rounds, name="news"
    )
    path = f"/campaigns/{created['id']}/cells/{stack.heatmap(created['id'])['providers'][0]['cells'][0]['cell_id']}"
    page = open_page(stack.dashboard_url + path)
    plot = page.locator("[data-figure=pairs] .js-plotly-plot")
    # From two rounds on there are phases, and the structure of the page stays what it is.
    expect(page.get_by_role("heading", name="What explains the difference")).to_be_visible(timeout=SLOW_MS)
    expect(plot.locator(".points path")).not_to_have_count(0)
    plot.evaluate("plot => { plot.dataset.mark = 'same' }")
    whole = view_of(plot)
    plot.locator(".legendtoggle").first.click()
    page.wait_for_timeout(500)  # a click on the legend counts once it cannot become a double click
    zoom_into(page, plot)
    page.wait_for_timeout(500)
    zoomed, drawn = view_of(plot), rounds_in(plot)
    assert drawn < rounds, "no news are left to come"
    assert zoomed["x"][1] < whole["x"][1]
    assert zoomed["y"][1] < whole["y"][1]
    assert zoomed["hidden"] == ["H2 (curl-quiche-h2)"]
    expect(page.locator("#body")).to_contain_text(f"{rounds} trials with H2, {rounds} with H3", timeout=SLOW_MS)
    assert rounds_in(plot) == rounds
    assert plot.get_attribute("data-mark") == "same"
    assert view_of(plot) == zoomed
    page.mouse.dblclick(*middle_of(plot))
    page.wait_for_function(
        f"document.querySelector('[data-figure=pairs] .js-plotly-plot')._fullLayout.xaxis.range[1] > {rounds}"
    )


def test_home_keeps_what_the_viewer_set_while_new_cells_arrive(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    created = stack.post(
        name="arriving",
        endpoints=["testbed-caddy-100KB", "testbed-caddy-1MB"],
        profiles=["baseline", "loss-1", "delay-50"],
        clients=["curl-quiche"],
        rounds=8,
    )
    stack.until(lambda: stack.campaign(created["id"])["trials_done"], "the first trial", 120)
    # Room for less than the page is high, as of a viewer who has zoomed the browser in.
    page = open_page(f"{stack.dashboard_url}/?campaigns={created['id']}", viewport={"width": 800, "height": 450})
    page.evaluate("window.sameDocument = true")
    page.get_by_role("radiogroup", name="Rows").get_by_text("Loss", exact=True).click()
    page.get_by_role("textbox", name="Sizes").click()
    page.get_by_role("option", name="100\u00a0KB").click()
    expect(page).to_have_url(re.compile("axis=loss.*sizes=100KB|sizes=100KB.*axis=loss"))
    page.get_by_role("button", name="All cells as a table").click()
    expect(page.locator(".lb-table-of-all tbody tr")).to_have_count(6)
    plot = page.locator(".lb-panel .js-plotly-plot")
    expect(plot).to_have_count(1)
    expect(plot).not_to_contain_text("1\u00a0MB")
    plot.evaluate("plot => { plot.dataset.mark = 'same' }")
    # A list that is open: what one is about to choose.
    page.get_by_role("textbox", name="Campaigns").click()
    choice = page.get_by_role("option", name=measured["name"], exact=True).first
    expect(choice).to_be_visible()
    page.wait_for_timeout(1000)
    scrolled = page.evaluate("window.scrollY")
    assert scrolled > 0
    before = stack.campaign(created["id"])["cells_done"]
    assert before < 5, "no cells are left to come"

    stack.wait_done(created["id"], 300)
    expect(page.locator(".lb-table-of-all tbody")).not_to_contain_text(re.compile("Not measured|Being measured"))
    assert plot.evaluate("plot => plot._fullData.flatMap(t => t.name === 'rounds' ? t.text : [])") == [
        *_rounds_of(stack, created["id"], "100KB", ("baseline", "loss-1"))
    ]
    assert page.evaluate("window.sameDocument")
    assert plot.get_attribute("data-mark") == "same"
    assert page.evaluate("window.scrollY") == scrolled
    assert "axis=loss" in page.url
    assert "sizes=100KB" in page.url
    expect(plot).not_to_contain_text("1\u00a0MB")
    expect(choice).to_be_visible()
    choice.click()
    expect(page).to_have_url(re.compile(measured["id"]))


def _rounds_of(stack: Stack, ident: str, size: str, profiles: tuple[str, ...]) -> list[str]:
    """What the squares of a size say of their rounds, from the API, in the order of the profiles."""
    cells = [c for p in stack.heatmap(ident)["providers"] for c in p["cells"] if c["size_label"] == size]
    found = [next(c for c in cells if c["profile"] == profile) for profile in profiles]
    return [rounds_line(cell) for cell in found]


def test_two_campaigns_are_compared_and_trends_have_both(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    other = stack.wait_done(stack.http.post(f"/campaigns/{measured['id']}/rerun").json()["id"], limit_s=300)
    page = open_page(f"{stack.dashboard_url}/compare?baseline={measured['id']}&candidate={other['id']}&tolerance=20")
    verdict = stack.http.get(
        "/compare", params={"baseline": measured["id"], "candidate": other["id"], "tolerance_pct": 20}
    ).json()
    expect(page.locator(f".lb-verdict-{verdict['verdict']}")).to_be_visible()
    page.goto(f"{stack.dashboard_url}/trends?endpoints=testbed-caddy-100KB&profiles=delay-50")
    expect(page.locator("[data-figure] .points path").nth(1)).to_be_visible()
    page.goto(f"{stack.dashboard_url}/crossover?axis=delay&campaigns={other['id']}")
    expect(page.locator(".lb-lines")).to_contain_text("100\u00a0KB")


def test_an_unknown_campaign_says_so(stack: Stack, open_page: OpenPage) -> None:
    page = open_page(f"{stack.dashboard_url}/campaigns/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("alert")).to_contain_text("There is no such campaign")


def test_it_outlives_an_outage_of_the_api(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    relay = Forwarder(stack.api_port)
    relay.up()
    with dashboard_on(relay.port) as url:
        page = open_page(f"{url}/campaigns")
        expect(page.get_by_role("link", name=measured["name"]).first).to_be_visible()
        relay.down()
        expect(page.get_by_role("alert")).to_contain_text("The API does not answer")
        expect(page.get_by_role("link", name=measured["name"]).first).to_be_visible()
        other = open_page(f"{url}/campaigns")
        expect(other.get_by_role("alert")).to_contain_text("tries again every two seconds")
        relay.up()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(other.get_by_role("link", name=measured["name"]).first).to_be_visible()
        page.close()
        other.close()
    relay.down()


def test_a_slow_api_shows_that_something_comes(stack: Stack, measured: dict[str, Any], open_page: OpenPage) -> None:
    relay = Forwarder(stack.api_port)
    relay.delay_s = 1.5
    relay.up()
    with dashboard_on(relay.port) as url:
        page = open_page(f"{url}/campaigns")
        expect(page.get_by_text("Loading …")).to_be_visible()
        expect(page.get_by_role("link", name=measured["name"], exact=True).first).to_be_visible()
        page.close()
    relay.down()


def test_an_empty_database_says_what_to_do(open_page: OpenPage) -> None:
    with Stack("--no-demo", "--no-testbed") as empty:
        page = open_page(empty.dashboard_url)
        expect(page.get_by_role("link", name="Schedule the first one")).to_be_visible()
        for path in ("/campaigns", "/clients", "/trends", "/crossover", "/compare"):
            page.goto(empty.dashboard_url + path)
            expect(page.locator("main .lb-state")).to_be_visible()
        page.close()


def test_narrow_screens_scroll_in_one_direction_only(
    stack: Stack, measured: dict[str, Any], open_page: OpenPage
) -> None:
    cell = stack.heatmap(measured["id"])["providers"][0]["cells"][0]
    for path, heading in (
        ("/", "Is HTTP/3 faster than HTTP/2 here?"),
        ("/campaigns", "Campaigns"),
        (f"/campaigns/{measured['id']}", measured["name"]),
        (f"/campaigns/{measured['id']}/cells/{cell['cell_id']}", "testbed-caddy · 100\u00a0KB · baseline"),
        ("/clients", "HTTP/3 clients side by side"),
        ("/trends", "Trends"),
        ("/crossover", "Crossover"),
        ("/compare", "Compare two campaigns"),
        ("/schedules", "Schedules"),
        ("/vantages", "Vantages"),
        ("/new", "New campaign"),
    ):
        page = open_page(stack.dashboard_url + path, viewport={"width": 390, "height": 844})
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
