"""The report in a real browser: it draws, logs nothing, works offline, and never runs a name as code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analysis.report.html.files import compare_name, history_name, page_name
from analysis.report.html.markup import cut
from tests.e2e.report_pages import (
    ALL,
    BROKEN,
    COMPARED,
    GPUS,
    HOSTILE,
    KINDS,
    SCALING,
    SCRIPT,
    SUITE,
    open_page,
)

CHARTS = {SCALING: 16, GPUS: 19, BROKEN: 2}
"""Charts on a session's page; the other sessions have a single size and so no law."""


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)], ids=["390-dark", "1280-light"])
@pytest.mark.parametrize("session", KINDS.values(), ids=KINDS)
def test_every_chart_draws_and_the_page_is_silent_offline_and_fits(browser, report, session, width, dark):
    browser.screen(width, dark=dark)
    page = open_page(browser, report, session)
    marks = browser.run(
        "return [...document.querySelectorAll('figure.chart')].map((figure) => [figure.id, figure.dataset.state, "
        "figure.querySelectorAll('.plot svg [class*=mark-] path, .plot svg [class*=mark-] line').length])"
    )
    assert len(marks) == CHARTS.get(session, 15)
    assert [(name, state) for name, state, count in marks if state != "drawn" or count < 2] == []
    assert browser.console() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run("return window.hacked === undefined")
    if folder := os.environ.get("SCREENSHOTS"):  # for a person to look at
        browser.screenshot(Path(folder) / f"{page.stem[:24]}-{width}-{'dark' if dark else 'light'}.png")


def test_the_index_leads_to_every_page_and_back(browser, report):
    browser.screen(390)
    browser.console()
    browser.open(report / "index.html")
    links = browser.run("return [...document.querySelectorAll('a')].map((link) => link.href)")
    pages = [*map(page_name, ALL), compare_name(COMPARED), history_name("smoke")]
    assert sorted(links) == sorted((report / page).as_uri() for page in pages)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.driver.get(links[0])
    browser.driver.find_element("css selector", "a[href='index.html']").click()
    assert browser.run("return location.href") == (report / "index.html").as_uri()
    assert browser.console() == []


def test_hostile_names_are_shown_as_text(browser, report):
    browser.screen(1280)
    open_page(browser, report, HOSTILE)
    assert browser.run("return document.querySelector('.kicker .facts').textContent") == cut(
        f"The suite {SUITE}"
    )
    cases = browser.run(
        "return [...document.querySelectorAll('tbody th bdi')].map((cell) => cell.textContent)"
    )
    assert f'">{SCRIPT}' in cases
    assert "{{x}}${y}\\u2028'" in cases
    assert browser.run("return document.querySelectorAll('main img, main b').length") == 0
    browser.run("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
    browser.wait("return document.querySelectorAll('details.data tbody tr').length > 0")
    assert browser.run("return window.hacked === undefined")
    assert browser.console() == []


def test_the_data_of_a_chart_are_a_table_with_all_its_rows(browser, report):
    browser.screen(1280)
    open_page(browser, report, SCALING)
    browser.run("document.querySelector('#speedup details.data').open = true")
    browser.wait("return document.querySelector('#speedup details.data tbody tr') !== null")
    rows = browser.run(
        "return [...document.querySelectorAll('#speedup details.data tbody tr')].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))"
    )
    heads = browser.run(
        "return [...document.querySelectorAll('#speedup details.data thead th')].map((cell) => cell.textContent)"
    )
    assert len(rows) == 8
    first = dict(zip(heads, rows[0], strict=True))
    assert (first["case_name"], first["workers"], first["speedup"]) == ("ddp", "1", "1")
    named = browser.run(
        "const region = document.querySelector('#speedup details.data .scroll'); return [region.getAttribute('role'), "
        "region.getAttribute('aria-label') === region.querySelector('caption').textContent, "
        "region.querySelectorAll('tbody th[scope=row]').length]"
    )
    assert named == ["region", True, 8]


def test_a_tooltip_names_the_point_under_the_pointer_and_only_as_text(browser, report):
    browser.screen(1280)
    open_page(browser, report, HOSTILE)
    browser.run("document.querySelector('#speedup').scrollIntoView()")
    x, y = browser.run(
        "const box = [...document.querySelectorAll('#speedup .mark-symbol.role-mark path')].at(-1)"
        ".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]"
    )
    browser.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    browser.wait("return document.querySelector('#vg-tooltip-element.visible') !== null")
    shown = browser.run("return document.querySelector('#vg-tooltip-element').textContent")
    assert "speedup, ×" in shown
    assert "case" in shown
    assert browser.run("return document.querySelectorAll('#vg-tooltip-element img').length") == 0
    assert browser.run("return window.hacked === undefined")
    assert browser.console() == []


def test_the_policy_refuses_what_is_not_the_pages_own(browser, report):
    browser.screen(1280)
    open_page(browser, report, SCALING)
    # This comes later because the driver's own scripts run without the policy.
    browser.run(
        "setTimeout(() => { const added = document.createElement('script'); "
        "added.textContent = 'window.hacked = 1'; document.body.append(added); "
        "try { (0, eval)('window.hacked = 1'); } catch (error) { window.refused = error.name; } })"
    )
    browser.wait("return window.refused !== undefined || window.hacked !== undefined")
    assert browser.run("return [window.hacked === undefined, window.refused]") == [True, "EvalError"]
    refusals = browser.console()
    assert refusals
    assert all("Content Security Policy" in refusal for refusal in refusals)


def test_turning_the_screen_draws_the_charts_anew(browser, report):
    browser.screen(1280)
    open_page(browser, report, SCALING)
    width = "return document.querySelector('figure.wide .plot svg').getBoundingClientRect().width"
    wide = browser.run(width)
    browser.screen(390)
    browser.wait(f"{width} < 390")
    assert wide > 800
    assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_dark_pages_print_in_ink_on_paper(browser, report):
    browser.screen(1280, dark=True)
    open_page(browser, report, SCALING)
    ink = "return getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
    assert browser.run(ink) == "#e7ebef"
    browser.screen(1280, dark=True, media="print")
    assert browser.run(ink) == "#1a2026"
    browser.screen(1280)
