"""axe-core's findings on every page; the keyboard alone reaches every control."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from analysis.report.html.files import compare_name, page_name
from tests.e2e import accessibility
from tests.e2e.browser import Browser
from tests.e2e.report_pages import COMPARED, KINDS

PAGES = {name: page_name(session) for name, session in KINDS.items()} | {"index": "index.html"}
FOLDS_OPEN = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
COMPARE = compare_name(COMPARED)
SCREENS = [(1280, False), (390, True)]
"""Each width and each scheme once: contrast depends on the scheme and sizes on the width, but nothing on both."""
SCREEN_NAMES = ["1280-light", "390-dark"]
# Every radio group is one stop; hidden elements and those in a closed fold are none.
STOPS = """
const groups = new Set();
return [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((element) => {
  if (element.disabled || !element.checkVisibility({visibilityProperty: true})) return false;
  if (element.type !== "radio") return true;
  const group = [...document.getElementsByName(element.name)];
  return element === (group.find((one) => one.checked) ?? group[0]);
}).map((element, place) => { element.dataset.stop = String(place); return element.outerHTML.slice(0, 200); });
"""
# When the focus leaves the page, headless Chromium returns it to the first stop some milliseconds later. The window's
# blur event distinguishes leaving the page from a focus that goes round within it.
WATCH_LEAVING = (
    "window.addEventListener('blur', (event) => { if (event.target === window) window.left = true; });"
)
FOCUSED = """
if (window.left) return null;
const element = document.activeElement;
if (element === document.body || element === null) return null;
const previous = window.previousStop;
window.previousStop = element;
const box = element.getBoundingClientRect();
const shown = element.matches("input") ? [element, element.closest("label"), element.nextElementSibling] : [element];
const outlined = (style) => style.boxShadow !== "none"
  || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5);
return {
  html: element.outerHTML.slice(0, 200),
  stop: element.dataset.stop === undefined ? null : Number(element.dataset.stop),
  follows: !previous || Boolean(previous.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING),
  outlined: shown.some((one) => one && outlined(getComputedStyle(one))),
  inView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
};
"""


@pytest.fixture(scope="module")
def axe() -> None:
    if not accessibility.SCRIPT.exists():
        pytest.skip(f"axe-core is not installed: `npm ci --prefix {accessibility.FOLDER}` does it")


def open_whole(browser: Browser, page: Path) -> None:
    """Open every fold, and fill in every data table."""
    browser.open(page)
    browser.run(FOLDS_OPEN)
    browser.wait(
        "return [...document.querySelectorAll('details.data')].every((fold) => fold.querySelector('td'))"
    )


def grave(browser: Browser) -> list[str]:
    """Serious and critical violations; lesser ones go to pytest's closing list of warnings."""
    found = accessibility.violations(browser)
    for violation in found:
        if not violation.grave:
            warnings.warn(violation.text(), stacklevel=2)
    return [violation.text() for violation in found if violation.grave]


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("screen", SCREENS, ids=SCREEN_NAMES)
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_serious_with_every_fold_open(browser, report, page, screen):
    browser.screen(screen[0], dark=screen[1])
    open_whole(browser, report / page)
    assert grave(browser) == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_serious_with_every_fold_closed(browser, report, page):
    browser.screen(1280)
    browser.open(report / page)
    assert grave(browser) == []


@pytest.mark.usefixtures("axe")
@pytest.mark.parametrize("screen", SCREENS, ids=SCREEN_NAMES)
def test_axe_finds_nothing_serious_on_the_page_that_compares(browser, report, screen):
    browser.screen(screen[0], dark=screen[1])
    browser.open(report / COMPARE)
    assert grave(browser) == []
    open_whole(browser, report / COMPARE)
    assert grave(browser) == []


@pytest.mark.usefixtures("axe")
def test_axe_sees_what_is_wrong(browser, report):
    browser.screen(1280)
    browser.open(report / "index.html")
    browser.run("document.body.insertAdjacentHTML('beforeend', '<button></button>')")
    assert any("button-name" in text for text in grave(browser))


def tab(browser: Browser) -> dict[str, Any] | None:
    """Press Tab; return the element with the focus, or null if the focus left the page."""
    for kind in ("rawKeyDown", "keyUp"):
        key = {"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        browser.driver.execute_cdp_cmd("Input.dispatchKeyEvent", key)
    focused: dict[str, Any] | None = browser.run(FOCUSED)
    return focused


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", ["scaling", "broken", "hostile", "index", "compare"])
def test_tab_reaches_everything_in_the_order_of_the_page_and_leaves_it(browser, report, page, width):
    browser.screen(width)
    browser.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    browser.open(report / (PAGES | {"compare": COMPARE})[page])
    browser.run(WATCH_LEAVING)
    expected = browser.run(STOPS)
    walked = []
    while len(walked) < 2 * len(expected) + 10 and (stop := tab(browser)):
        walked.append(stop)
    assert len(walked) < 2 * len(expected) + 10, f"the focus never leaves; last at {walked[-1]['html']}"
    assert [stop["html"] for stop in walked if not stop["follows"]] == []
    assert [stop["html"] for stop in walked if not (stop["outlined"] and stop["inView"])] == []
    reached = {stop["stop"] for stop in walked}
    assert [html for place, html in enumerate(expected) if place not in reached] == []
    assert page == "index" or walked[0]["html"].startswith("<a "), "first comes a way round or out"
