"""Every text that a results folder can bring into a page is one that would run script, if a page let it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.load import load
from analysis.report import write
from tests.e2e.browser import Browser
from tests.factory import Case, make_session, write_json

PAYLOADS = (
    "</script><script>window.pwned=1;document.title='pwned'</script>",
    '"><img src=x onerror="window.pwned=1"><svg onload=\'window.pwned=1\'>',
    "' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1' x='",
    "javascript:window.pwned=1",
    "]]><!--<script>window.pwned=1</script>--!><iframe srcdoc='<script>parent.pwned=1</script>'>",
    "\u2028window.pwned=1\u2029//`${window.pwned=1}`{{constructor.constructor('window.pwned=1')()}}",
    "datum.constructor.constructor('window.pwned=1')()",
    '=HYPERLINK("javascript:window.pwned=1")[x](javascript:window.pwned=1)<style>*{display:none}</style>',
)
KEPT = {
    "schema_version",
    "session_id",
    "run_id",
    "status",
    "scaling",
    "axis",
    "strategy",
    "precision",
    "device_type",
}
"""Of which the program itself knows what they may be, or which must be the same in several files."""


def poisoned(value: Any, number: int = 0, key: str = "") -> Any:
    """Every text but those, and times, replaced by a payload."""
    if isinstance(value, dict):
        return {
            name: poisoned(item, number + place, name) for place, (name, item) in enumerate(value.items())
        }
    if isinstance(value, list):
        return [poisoned(item, number + place, key) for place, item in enumerate(value)]
    is_text = isinstance(value, str) and key not in KEPT and not key.endswith("_at")
    return PAYLOADS[number % len(PAYLOADS)] if is_text else value


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
        for path in (made / "session.json", *made.glob("*/run.json")):
            found = json.loads(path.read_text())
            changed = poisoned(found)
            if "spec" in found:
                changed["spec"] |= {"case_name": found["spec"]["case_name"], "suite": PAYLOADS[0]}
            else:
                for run, was in zip(changed["plan"], found["plan"], strict=True):
                    run["case_name"] = was["case_name"]
                changed["suite"] = PAYLOADS[0]
            write_json(path, changed)
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
