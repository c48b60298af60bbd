"""The report in a real browser: drawn, silent, offline, and never run by a name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analysis.load import load
from analysis.report.files import page_name
from tests.e2e.browser import Browser
from tests.factory import Case, make_session

SCALING = "20261121T014925Z-smoke-3f9a"
GPUS = "20261121T034925Z-gpus-77aa"
BROKEN = "20261121T044925Z-broken-0001"
HOSTILE = "we<i>rd\"&'[x] \u202ename"
SCRIPT = "<script>window.hacked = 1<\u2215script><img src=x onerror=window.hacked=1>"
SUITE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>" + "s" * 300
ONCE = "20261121T054925Z-once-0002"
ALL = [SCALING, GPUS, BROKEN, HOSTILE, ONCE]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pages, written by the real command."""
    folder = tmp_path_factory.mktemp("report")
    results = folder / "results"
    results.mkdir()
    make_session(
        results,
        [
            Case(name="single", strategy="single", scaling="none", step_ms={1: 100.0}, jitter=0.03, steps=60),
            Case(name="ddp", step_ms={1: 100.0, 2: 55.0, 4: 30.0}, jitter=0.03, steps=60),
            Case(
                name="fsdp",
                strategy="fsdp",
                step_ms={1: 110.0, 2: 70.0, 4: 50.0},
                jitter=0.03,
                statuses={(4, 1): "oom"},
                oversubscribed=frozenset({4}),
            ),
            Case(name="n" * 150, scaling="weak", step_ms={1: 100.0, 2: 105.0}, jitter=0.02),
        ],
        session_id=SCALING,
    )
    gpus = Case(
        name="fsdp", strategy="fsdp", device_type="cuda", step_ms={4: 60.0, 8: 32.0, 16: 19.0, 32: 12.0}
    )
    make_session(results, [gpus], session_id=GPUS)
    failed = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}
    make_session(results, [Case(name="ddp", step_ms={1: 50.0, 2: 30.0}, statuses=failed)], session_id=BROKEN)
    make_session(results, [Case(name="ddp", step_ms={1: 50.0, 2: 30.0}, repeats=1)], session_id=ONCE)
    hostile = [
        Case(name=f'">{SCRIPT}', step_ms={1: 50.0, 2: 30.0}),
        Case(name="{{x}}${y}\u2028'", step_ms={1: 9.0}),
    ]
    make_session(results, hostile, session_id=HOSTILE, suite=SUITE, tags=["<b>bold</b>"])
    assert load(results).problems == ()
    command = [
        sys.executable,
        "-m",
        "bench",
        "report",
        "--results",
        str(results),
        "--out",
        str(folder / "out"),
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == str(folder / "out" / "index.html")
    return folder / "out"


@pytest.fixture(scope="module")
def browser(
    require_program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    chromium, driver = require_program("chromium"), require_program("chromedriver")
    started = Browser(chromium, driver, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


def open_page(browser: Browser, report: Path, session: str) -> Path:
    page = report / page_name(session)
    browser.console()
    browser.requests()
    browser.open(page)
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("session", ALL, ids=["scaling", "gpus", "broken", "hostile", "once"])
def test_every_chart_draws_and_the_page_is_silent_offline_and_fits(browser, report, session, width, dark):
    browser.screen(width, dark=dark)
    page = open_page(browser, report, session)
    marks = browser.run(
        "return [...document.querySelectorAll('figure.chart')].map((figure) => [figure.id, figure.dataset.state, "
        "figure.querySelectorAll('.plot svg [class*=mark-] path, .plot svg [class*=mark-] line').length])"
    )
    assert len(marks) == (2 if session == BROKEN else 10)
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
    assert sorted(links) == sorted((report / page_name(session)).as_uri() for session in ALL)
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.driver.get(links[0])
    browser.driver.find_element("css selector", "a").click()
    assert browser.run("return location.href") == (report / "index.html").as_uri()
    assert browser.console() == []


def test_hostile_names_are_shown_as_text(browser, report):
    browser.screen(1280)
    open_page(browser, report, HOSTILE)
    assert browser.run("return document.querySelector('h1').textContent") == f"The suite {SUITE}"
    cases = browser.run("return [...document.querySelectorAll('tbody th')].map((cell) => cell.textContent)")
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
    # Later, because the policy is lifted for what the driver itself evaluates.
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
    width = "return document.querySelector('#memory .plot svg').getBoundingClientRect().width"
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
