"""A page does not move while its charts are drawn, even if the reader uses them."""

from __future__ import annotations

import pytest

from analysis.report.html.files import page_name
from tests.e2e.report_pages import GPUS, SCALING, open_page

WATCH = (
    "window.shift = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) "
    "window.shift += entry.value; }).observe({ type: 'layout-shift', buffered: true });"
)


@pytest.fixture
def watched(browser):
    """The browser, which adds up the layout shifts of every page from its first paint on."""
    command = {"source": WATCH}
    script = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", command)
    yield browser
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("session", [SCALING, GPUS], ids=["scaling", "gpus"])
def test_nothing_moves_while_the_charts_are_drawn(watched, report, session, width):
    watched.screen(width)
    open_page(watched, report, session, folded=True)
    assert watched.run("return window.shift") < 0.005


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_every_drawing_fits_the_place_that_was_kept_for_it(watched, report, width):
    watched.screen(width)
    open_page(watched, report, GPUS)
    overflow = watched.run(
        "return [...document.querySelectorAll('.plot')].map((plot) => { "
        "const drawn = plot.querySelector('.drawing svg').getBoundingClientRect(); "
        "return [plot.closest('figure').id, drawn.height - plot.clientHeight, drawn.width - plot.clientWidth]; })"
    )
    assert len(overflow) == 19
    assert [chart for chart in overflow if chart[1] > 2 or chart[2] > 1] == []


def test_another_axis_is_chosen_with_the_keyboard_and_the_page_stays(watched, report):
    watched.screen(1280)
    open_page(watched, report, SCALING)
    watched.run("window.shift = 0")  # opening a section moves what follows
    axis = (
        "return [...document.querySelectorAll('#training_loss .drawing .role-axis-title text')]"
        ".map((text) => text.textContent)"
    )
    height = "return document.documentElement.scrollHeight"
    before = watched.run(height)
    assert "step" in watched.run(axis)
    watched.driver.find_element("css selector", "#training_loss .choice input").send_keys(
        "\ue014"
    )  # right arrow
    watched.wait(
        "return [...document.querySelectorAll('#training_loss .role-axis-title text')]"
        ".some((text) => text.textContent === 'epoch')"
    )
    watched.driver.find_element("css selector", "#training_loss .choice input:checked").send_keys("\ue014")
    watched.wait(
        "return [...document.querySelectorAll('#training_loss .role-axis-title text')]"
        ".some((text) => text.textContent.startsWith('wall time'))"
    )
    assert watched.run("return document.querySelectorAll('#training_loss .drawing').length") == 1
    assert watched.run(height) == before
    assert watched.run("return window.shift") < 0.005
    assert watched.console() == []


UNDRAWN = (
    "return [...document.querySelectorAll('figure.chart')].filter((figure) => figure.dataset.state !== 'drawn' "
    "&& !figure.closest('details.layer:not([open])')).length"
)


def test_charts_out_of_sight_are_drawn_without_scrolling(watched, report):
    watched.screen(390)
    open_page(watched, report, GPUS, folded=True)
    assert watched.run("return scrollY") == 0
    assert watched.run(UNDRAWN) == 0


def test_printing_draws_what_a_busy_browser_has_not_drawn_yet(watched, report):
    command = {"source": "window.requestIdleCallback = () => 0;"}
    script = watched.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", command)
    watched.screen(1280)
    watched.driver.get((report / page_name(GPUS)).as_uri())
    watched.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert watched.run(UNDRAWN) >= 2  # those below the first screen
    assert not watched.run("return document.querySelector('#efficiency_loss').dataset.state === 'drawn'")
    watched.run("window.dispatchEvent(new Event('beforeprint'))")
    watched.wait(f"{UNDRAWN} === 0")
    assert watched.run("return document.querySelector('#efficiency_loss').dataset.state === 'drawn'")


def test_a_folded_section_draws_its_charts_when_it_opens(watched, report):
    watched.screen(1280)
    open_page(watched, report, SCALING, folded=True)
    state = "return document.querySelector('#training_loss').dataset.state"
    assert watched.run(state) is None
    watched.run("document.querySelector('#training').closest('details').open = true")
    watched.wait(f"{state} === 'drawn'")


def test_a_link_to_a_folded_section_opens_it(watched, report):
    watched.screen(1280)
    open_page(watched, report, SCALING, folded=True)
    is_open = "return document.querySelector('#hardware').closest('details').open"
    assert not watched.run(is_open)
    watched.driver.find_element("css selector", "nav a[href='#hardware']").click()
    watched.wait(is_open)
    watched.run("document.querySelector('#hardware').closest('details').open = false")
    watched.driver.find_element(
        "css selector", "nav a[href='#hardware']"
    ).click()  # the address stays the same
    watched.wait(is_open)


def test_a_legend_is_text_of_the_page(watched, report):
    watched.screen(390)
    open_page(watched, report, SCALING)
    shown = watched.run(
        "return [...document.querySelectorAll('#throughput .legend li')].map((item) => item.textContent)"
    )
    assert shown == ["single", "ddp", "fsdp", "n" * 150]
    assert watched.run("return document.querySelectorAll('.drawing .role-legend').length") == 0
    assert watched.run("return document.documentElement.scrollWidth") <= 390


AXIS = "return document.querySelector('#training_loss .drawing .role-axis-title text').textContent"
CHOOSE = "document.querySelectorAll('#training_loss .choice input')[{}].click();"


def test_of_two_choices_in_a_row_the_last_is_drawn_however_slow_the_first(watched, report):
    watched.screen(1280)
    open_page(watched, report, SCALING)
    watched.run(
        "const real = window.vegaEmbed; let calls = 0; window.finished = 0; window.vegaEmbed = async (...given) => { "
        "const isFirst = calls++ === 0; if (isFirst) await new Promise((done) => setTimeout(done, 400)); "
        "const view = await real(...given); setTimeout(() => { window.finished += 1; }, 50); return view; };"
        + CHOOSE.format(1)
        + CHOOSE.format(2)
    )
    watched.wait("return window.finished === 2")
    assert watched.run(AXIS).startswith("wall time")
    assert watched.run("return document.querySelectorAll('#training_loss .drawing').length") == 1


def test_a_chart_that_failed_is_drawn_when_it_is_asked_for_again(watched, report):
    watched.screen(1280)
    open_page(watched, report, SCALING)
    watched.run(
        "const real = window.vegaEmbed; window.vegaEmbed = (...given) => { window.vegaEmbed = real; "
        "return Promise.reject(new Error('no')); };" + CHOOSE.format(1)
    )
    watched.wait("return document.querySelector('#training_loss').dataset.state === 'failed'")
    assert watched.run("return document.querySelectorAll('#training_loss .drawing').length") == 1
    watched.run("window.dispatchEvent(new Event('resize'))")
    watched.wait("return document.querySelector('#training_loss').dataset.state === 'drawn'")
    assert watched.run(AXIS) == "epoch"
    watched.console()  # has the error


def test_the_first_screen_is_drawn_when_the_page_counts_as_loaded(browser, report):
    source = (
        "addEventListener('load', () => { window.drawn = document.querySelectorAll('.drawing svg').length; })"
    )
    script = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    metrics = {"width": 1280, "height": 5000, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    open_page(browser, report, SCALING)
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert browser.run("return window.drawn") >= 2
