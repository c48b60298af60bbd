"""The index and the compare page in a real browser: filters, links from any place, and overlaid curves."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from analysis.loading.load import load
from analysis.report.html.files import compare_name, history_name, page_name
from tests.e2e.report_pages import open_sections
from tests.factory import BEGAN, Case, make_session

OLD, NEW = "20261121T014925Z-smoke-000a", "20261122T014925Z-smoke-000b"
HOSTILE = "<img src=x onerror=window.hacked=1> \u202e"
TAG = "<b onclick=window.hacked=1>&amp;  two spaces"
SESSIONS = [OLD, NEW, HOSTILE]
COMPARISON = compare_name(SESSIONS)
HISTORY = history_name("smoke")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `lab/scaling` of pages, which the real command writes."""
    folder = tmp_path_factory.mktemp("site")
    results = folder / "results"
    old = [
        Case(name="single", strategy="single", scaling="none", step_ms={1: 20.0}),
        Case(name="ddp", step_ms={1: [20.0, 21.0, 20.5], 2: [10.0, 10.4, 10.2], 4: 6.0}),
    ]
    new = [Case(name="ddp", step_ms={1: 20.0, 2: [9.0, 9.02, 9.01]}, statuses={(1, 0): "oom"})]
    hostile = [Case(name="ddp", step_ms={1: 40.0, 2: 30.0}), Case(name=HOSTILE, step_ms={1: 9.0, 2: 5.0})]
    days = map(timedelta, range(3))
    make_session(results, old, session_id=OLD, tags=["h200"], created_at=BEGAN + next(days))
    make_session(results, new, session_id=NEW, tags=["h200", "night"], created_at=BEGAN + next(days))
    make_session(
        results, hostile, session_id=HOSTILE, suite="<i>big", tags=[TAG], created_at=BEGAN + next(days)
    )
    assert load(results).problems == ()
    out = folder / "web" / "lab" / "scaling"
    command = [sys.executable, "-m", "bench", "report", *SESSIONS, "--compare"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    subprocess.run(
        [*command, "--results", str(results), "--out", str(out)],
        check=True,
        env=environment,
        capture_output=True,
    )
    return out


@pytest.fixture(scope="module")
def address(site) -> Iterator[str]:
    """The same folder behind a server, below a path of the server's."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site.parent.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/lab/scaling/"
        server.shutdown()


@pytest.fixture
def index(browser, site):
    browser.screen(1280)
    browser.console()
    browser.driver.get("about:blank")
    browser.driver.get((site / "index.html").as_uri())
    return browser


def titles(browser) -> list[str]:
    """Ids of the visible sessions."""
    return browser.run(
        "return [...document.querySelectorAll('.sessions tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => row.querySelector('.title .below').textContent)"
    )


def status(browser) -> str:
    return browser.run("return document.querySelector('[role=status]').textContent")


def choose(browser, name: str, value: str) -> None:
    """Click as a person does."""
    field = browser.driver.find_element(By.NAME, name)
    if name == "words":
        field.send_keys(value)
    else:
        options = field.find_elements(By.TAG_NAME, "option")
        next(option for option in options if option.get_property("value") == value).click()
    browser.wait("return location.hash !== ''", timeout_s=10)


def test_the_newest_session_stands_first_and_all_are_shown(index):
    assert titles(index) == [HOSTILE, NEW, OLD]
    assert status(index) == "All 3 sessions"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("words", "SMOKE 000b", [NEW]),
        ("words", "night", [NEW]),
        ("suite", "smoke", [NEW, OLD]),
        ("suite", "<i>big", [HOSTILE]),
        ("tag", "h200", [NEW, OLD]),
        ("tag", TAG, [HOSTILE]),
        ("verdict", "superlinear", [NEW]),
    ],
)
def test_a_filter_shows_what_fits_counts_it_and_can_be_linked(index, name, value, shown):
    choose(index, name, value)
    assert titles(index) == shown
    assert status(index) == f"{len(shown)} of 3 sessions"
    link = index.driver.current_url
    index.driver.get("about:blank")
    index.driver.get(link)
    assert titles(index) == shown
    assert index.driver.find_element(By.NAME, name).get_property("value") == value
    assert index.console() == []
    assert index.run("return window.hacked === undefined")


def test_filters_add_up_and_what_fits_nothing_says_so_until_all_is_cleared(index):
    choose(index, "suite", "smoke")
    choose(index, "tag", TAG)
    index.wait("return document.querySelector('[role=status]').textContent === '0 of 3 sessions'")
    assert titles(index) == []
    assert index.driver.find_element(By.CSS_SELECTOR, ".none-shown").is_displayed()
    index.driver.find_element(By.CSS_SELECTOR, ".clear").send_keys(Keys.ENTER)
    assert titles(index) == [HOSTILE, NEW, OLD]
    assert index.run("return [location.hash, document.activeElement.name]") == ["", "words"]


def test_enter_in_the_search_sends_nothing(index):
    choose(index, "words", f"h200{Keys.ENTER}")
    assert titles(index) == [NEW, OLD]
    assert index.console() == []


def test_a_filter_that_the_list_does_not_know_shows_all(browser, site):
    browser.driver.get("about:blank")
    browser.driver.get((site / "index.html").as_uri() + "#suite=gone&tag=h200")
    assert titles(browser) == [NEW, OLD]


@pytest.mark.parametrize("width", [320, 390, 700, 1280])
@pytest.mark.parametrize("name", ["index.html", COMPARISON, HISTORY])
def test_the_page_fits_is_silent_and_asks_for_nothing(browser, site, name, width):
    browser.screen(width, dark=width == 390)
    browser.console()
    browser.requests()
    browser.open(site / name)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.console() == []
    assert browser.requests() == [(site / name).as_uri()]
    assert browser.run("return window.hacked === undefined")


def test_without_scripts_all_sessions_show_and_no_filter_does(browser, site):
    off = "Emulation.setScriptExecutionDisabled"
    browser.driver.execute_cdp_cmd(off, {"value": True})
    try:
        browser.driver.get((site / "index.html").as_uri())
        rows = browser.driver.find_elements(By.CSS_SELECTOR, ".sessions tbody tr")
        assert [row.is_displayed() for row in rows] == [True] * 3
        assert not browser.driver.find_element(By.CSS_SELECTOR, ".filters").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd(off, {"value": False})


def test_curves_lie_over_each_other_a_panel_per_case(browser, site):
    browser.screen(1280)
    browser.open(site / COMPARISON)
    open_sections(browser)
    states = browser.run(
        "return [...document.querySelectorAll('figure.chart')].map((figure) => [figure.id, figure.dataset.state])"
    )
    names = ["forest", "throughput", "speedup", "efficiency", "training_loss", "validation_accuracy"]
    assert states == [[name, "drawn"] for name in names]
    lines = browser.run(
        "return new Set([...document.querySelectorAll('#throughput .plot svg [class*=mark-line] path')]"
        ".map((path) => path.getAttribute('stroke'))).size"
    )
    assert lines == len(SESSIONS)


def test_a_history_draws_its_figures_over_the_sessions(browser, site):
    browser.screen(1280)
    browser.open(site / HISTORY)
    open_sections(browser)
    points = browser.run(
        "return [...document.querySelectorAll('figure.chart')].map((figure) => [figure.id, figure.dataset.state, "
        "figure.querySelectorAll('.plot svg [class*=mark-symbol] path').length])"
    )
    # without the case `single`, which ran in one session
    assert points == [["over_sessions_throughput", "drawn", 5], ["over_sessions_efficiency", "drawn", 3]]


def test_a_site_below_a_path_can_be_clicked_through(browser, address):
    browser.screen(1280)
    browser.console()
    browser.requests()

    def follow(name: str) -> None:
        links = browser.driver.find_elements(By.CSS_SELECTOR, f'a[href="{name}"]')
        links[0].click()
        browser.wait(f"return document.readyState === 'complete' && location.href === '{address}{name}'")

    browser.driver.get(f"{address}index.html")
    for name in (page_name(OLD), "index.html", COMPARISON, page_name(HOSTILE), COMPARISON, "index.html"):
        follow(name)
    assert browser.console() == []
    asked = {url.removeprefix(address) for url in browser.requests()}
    assert asked == {"index.html", COMPARISON, page_name(OLD), page_name(HOSTILE)}
