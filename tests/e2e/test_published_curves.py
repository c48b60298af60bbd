"""bench reference as a user runs it: published curves on the page of a session, drawn by Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import Marked

from tests.e2e.browser import Browser
from tests.factory import Case, make_session


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    marked = Marked(folder)
    where = ("--results", str(folder / "r"))
    make_session(folder / "r", [Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 4.0})], session_id="own")
    listed = marked.run("reference", "list", *where)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split(":")[0] for line in listed.stdout.splitlines() if not line.startswith(" ")] == [
        "dlperf", "llm-foundry", "megatron-lm", "torchtitan",
    ]  # fmt: skip
    done = marked.run("reference", "load", *where)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 sessions" in done.stdout
    done = marked.run("summary", *where)
    assert done.stdout.startswith("own\n")
    done = marked.run("report", "own", "--out", str(folder / "public"), *where)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "public/own.html"


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_published_curves_are_grey_and_named(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.screen(width, dark=dark)
    browser.console()
    browser.open(page)
    assert browser.console() == []
    browser.run("document.querySelector('#published').scrollIntoView()")
    browser.wait("return document.querySelector('figure[id*=published_efficiency] .drawing svg') !== null")
    strokes = browser.run(
        "return [...document.querySelectorAll('figure[id*=published_efficiency] .mark-line path')]"
        ".map((path) => getComputedStyle(path).stroke)"
    )
    grey = browser.run(
        "const probe = document.body.appendChild(document.createElement('i')); probe.style.color = 'var(--muted)';"
        "const colour = getComputedStyle(probe).color; probe.remove(); return colour"
    )
    assert strokes.count(grey) == 6
    assert len(strokes) == 7
    said = browser.run("return document.querySelector('figure[id*=published_efficiency]').innerText")
    assert "megatron-lm: gpt3-175b" in said
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")


def test_a_wrong_name_ends_with_exit_2(tmp_path: Path) -> None:
    done = Marked(tmp_path).run("reference", "load", "dlprf", "--results", str(tmp_path / "r"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean dlperf?" in done.stderr
    assert not (tmp_path / "r").exists()
