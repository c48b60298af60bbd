"""A page printed to a real PDF has the findings and all numbers, each row whole on one sheet."""

from __future__ import annotations

import base64
import io
import shutil
import unicodedata
from pathlib import Path

import pytest
from pypdf import PdfReader

from analysis.loading.load import load
from analysis.report import write
from analysis.report.html.files import page_name
from tests.e2e.report_pages import KINDS, open_page
from tests.factory import Case, make_session

LONG = "20261121T064925Z-long-0003"
SHEETS = {"A4": (210, 297), "letter": (215.9, 279.4)}
"""Width and height in mm."""
MARGIN = 10
"""In mm, Chromium's default."""
CELLS = (
    "return [...document.querySelectorAll('{} table')].flatMap((table) => [...table.rows].map("
    "(row) => [...row.cells].map((cell) => cell.textContent)))"
)
"""Rows of the tables of a section, also of the folded ones."""
UNPRINTED = (
    "const wide = document.documentElement.clientWidth + 1; const shown = (e) => e.getClientRects().length > 0; "
    "const name = (e) => e.outerHTML.slice(0, 120); "
    "const all = [...document.querySelectorAll('main *, header *')]"
    ".filter((e) => shown(e) && !e.closest('.unseen, svg')); "
    "return [all.filter((e) => e.getBoundingClientRect().right > wide).map(name), "
    "all.filter((e) => e.matches('.scroll, bdi, p, h1') && e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0)"
    ".map(name)]"
)
"""Elements that reach beyond the sheet's edge, and elements whose contents reach below them."""


@pytest.fixture(scope="module")
def paper(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the usual sessions, and of one whose tables take several sheets."""
    folder = tmp_path_factory.mktemp("print")
    cases = [
        Case(
            name=f"case_{n:02}",
            step_ms={1: 100.0 + n, 2: 52.0 + n, 4: 31.0 + n},
            repeats=2,
            steps=5,
            jitter=0.02,
        )
        for n in range(24)
    ]
    make_session(folder / "results", cases, session_id=LONG, suite="long")
    assert load(folder / "results").problems == ()
    write(folder / "results", [LONG], folder / "out")
    for session in KINDS.values():
        shutil.copy(report / page_name(session), folder / "out")
    return folder / "out"


def printed(browser, sheet) -> list[str]:
    """The text of each page of the PDF, without spaces and line breaks."""
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    width, height = (length / 25.4 for length in SHEETS[sheet])
    edge = dict.fromkeys(("marginTop", "marginBottom", "marginLeft", "marginRight"), MARGIN / 25.4)
    made = browser.driver.execute_cdp_cmd(
        "Page.printToPDF", {"paperWidth": width, "paperHeight": height, "printBackground": True, **edge}
    )
    reader = PdfReader(io.BytesIO(base64.b64decode(made["data"])))
    return [squeezed(page.extract_text()) for page in reader.pages]


def squeezed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())


@pytest.mark.parametrize("sheet", SHEETS)
@pytest.mark.parametrize("session", [*KINDS.values(), LONG], ids=[*KINDS, "long"])
def test_every_row_of_all_numbers_is_whole_on_one_sheet(browser, paper, session, sheet):
    browser.screen(1280)
    open_page(browser, paper, session, folded=True)
    rows = browser.run(CELLS.format("section:has(#summary)"))
    pages = printed(browser, sheet)
    missing = [row for row in rows if not any(all(squeezed(cell) in page for cell in row) for page in pages)]
    assert missing == []
    assert bool(rows) == (session != KINDS["broken"])
    if session == LONG:
        assert len(rows) > 24 * 3 * 3
        assert sum("case_07" in page for page in pages) > 1


@pytest.mark.parametrize("session", [*KINDS.values(), LONG], ids=[*KINDS, "long"])
def test_all_findings_are_printed(browser, paper, session):
    browser.screen(1280)
    open_page(browser, paper, session, folded=True)
    said = browser.run(
        "return [...document.querySelectorAll('.finding')].flatMap((card) => [card.querySelector('h4'), "
        "...card.querySelectorAll(':scope > ul > li, :scope > p, pre')]).map((element) => element.textContent)"
    )
    pages = printed(browser, "A4")
    assert [text for text in said if not any(squeezed(text) in page for page in pages)] == []
    assert bool(said) == (session != KINDS["hostile"])


@pytest.mark.parametrize("sheet", SHEETS)
@pytest.mark.parametrize("session", [*KINDS.values(), LONG], ids=[*KINDS, "long"])
def test_nothing_is_wider_than_the_sheet_and_nothing_covers_what_follows(browser, paper, session, sheet):
    """Chromium lays a sheet out 4/3 as wide as it is, and scales it down."""
    browser.screen(round((SHEETS[sheet][0] - 2 * MARGIN) / 25.4 * 96 * 4 / 3), media="print")
    browser.driver.get((paper / page_name(session)).as_uri())
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.wait(
        "return [...document.querySelectorAll('section figure.chart')]"
        ".every((figure) => figure.dataset.state !== undefined || figure.closest('details:not([open])'))"
    )
    beyond, below = browser.run(UNPRINTED)
    browser.screen(1280)
    assert beyond == []
    assert below == []
