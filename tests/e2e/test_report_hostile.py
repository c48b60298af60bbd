"""Every text that a results folder can put into a page would run script if the page let it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.loading.load import load
from analysis.report import write
from tests.e2e.browser import Browser
from tests.factory import Case, make_session
from tests.poisoned import PAYLOADS, poison


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("poisoned")
    statuses = {(2, 1): "failed", (2, 2): "oom"}
    for session in ("one", "two"):
        cases = [
            Case(name=payload, step_ms={1: 50.0, 2: 40.0}, statuses=statuses, jitter=0.02)
            for payload in PAYLOADS[6:]
        ]
        for case in cases:
            object.__setattr__(case, "name", case.name.replace("/", "\u2215"))
        made = make_session(folder / "results", cases, session_id=session)
        poison(made, lambda number: PAYLOADS[number % len(PAYLOADS)])
    assert load(folder / "results").problems == ()
    return write(folder / "results", ("one", "two"), folder / "public", compare=True)


def test_no_text_of_a_results_folder_runs_in_a_page(pages: list[Path], browser: Browser) -> None:
    assert len(pages) >= 4, "two sessions, their comparison and the index"
    browser.screen(1280)
    for page in pages:
        browser.open(page)
        browser.run("document.querySelectorAll('details').forEach((element) => { element.open = true; })")
        browser.run(
            "document.querySelectorAll('main *').forEach((element) => "
            "['mouseover', 'focus'].forEach((name) => element.dispatchEvent(new Event(name))))"
        )
        assert browser.run("return [typeof window.pwned, document.title === 'pwned']") == [
            "undefined",
            False,
        ], page
        assert (
            browser.run("return document.querySelectorAll('iframe, img, object, embed, [srcdoc]').length")
            == 0
        )
        handlers = "[...element.attributes].some((attribute) => attribute.name.startsWith('on'))"
        assert (
            browser.run(f"return [...document.querySelectorAll('*')].filter((element) => {handlers}).length")
            == 0
        )
        links = "return [...document.querySelectorAll('a[href]')].map((link) => link.protocol)"
        assert set(browser.run(links)) <= {"file:", "data:"}, page
        assert browser.console() == [], "a policy that had to refuse something would say so"
