"""Every table and chart of a session's page as a CSV file; a real browser opens the page as a file and saves them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from analysis.database import connections
from analysis.loading.load import load
from analysis.report import named_queries, write
from tests.e2e.browser import poll
from tests.e2e.report_pages import open_sections
from tests.factory import Case, make_session

SESSION = "20261121T014925Z-saved-3f9a"
FORMULA = '=1+1,"x"'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv") / "results"
    folder.mkdir()
    cases = [
        Case(
            name="ddp", step_ms={1: [100.1, 101.7, 99.3], 2: [55.3, 54.1, 56.9]}, statuses={(2, 1): "failed"}
        ),
        Case(name=FORMULA, step_ms={1: 50.0, 2: 30.0}),
    ]
    environment = {"0": {"hostname": "@node", "note": "two\nlines", "offset": "-5", "sum": "-5+A1"}}
    make_session(folder, cases, session_id=SESSION, environment=environment)
    assert load(folder).problems == ()
    return folder


@pytest.fixture(scope="module")
def page(results):
    return write(results, [SESSION], results.parent / "out")[0]


@pytest.fixture
def save(browser, page, tmp_path):
    """Click a button of the page, return the file's name and bytes."""
    browser.screen(1280)
    browser.console()
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    browser.open(page)

    def click(selector: str) -> tuple[str, bytes]:
        browser.run(
            f"for (let fold = document.querySelector({selector!r}).closest('details'); fold; "
            "fold = fold.parentElement.closest('details')) fold.open = true;"
        )
        button = browser.driver.find_element("css selector", selector)
        browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()
        poll(lambda: [*tmp_path.glob("*.csv")] != [], f"a file from {selector}", 10)
        (saved,) = tmp_path.glob("*.csv")
        content = saved.read_bytes()
        saved.unlink()
        return saved.name, content

    yield click
    assert browser.console() == []


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))


def asked(results: Path, query: str) -> list[dict[str, object]]:
    with connections.reader(results) as connection:
        return named_queries.frame(connection, query, SESSION).to_dicts()


def test_the_summary_is_saved_with_every_column_row_and_digit(save, results):
    name, content = save("button[data-csv=summary]")
    assert name == f"{SESSION}.summary.csv"
    expected = {(row["case_name"], row["placement"]): row for row in asked(results, "summary")}
    rows = rows_of(content)
    assert list(rows[0]) == list(next(iter(expected.values())))
    assert len(rows) == len(expected) == 4
    for row in rows:
        original = expected[row["case_name"].removeprefix("'"), row["placement"]]
        for column in ("throughput", "efficiency_lo", "step_ms_mean"):
            assert row[column] == "" if original[column] is None else float(row[column]) == original[column]


def test_lines_end_and_text_is_quoted_as_rfc_4180_says(save):
    _, content = save("button[data-csv=environment]")
    assert content.decode() == (
        "key,value,nodes\r\n"
        "hostname,'@node,0\r\n"
        'note,"two\nlines",0\r\n'
        "offset,-5,0\r\n"
        "sum,'-5+A1,0\r\n"
    )  # fmt: skip


def test_no_spreadsheet_takes_a_name_for_a_formula(save):
    _, content = save("button[data-csv=coverage]")
    assert content.decode().splitlines()[-1].startswith('"\'=1+1,""x""",1x2,3,3,')
    assert rows_of(content)[-1]["case_name"] == f"'{FORMULA}"


def test_runs_that_are_not_ok_are_saved_with_rank_node_and_error(save):
    name, content = save("button[data-csv=not_ok]")
    assert name == f"{SESSION}.not_ok.csv"
    (row,) = rows_of(content)
    assert (row["run_id"], row["status"], row["failed_rank"], row["failed_node"], row["reason"]) == (
        "ddp.1x2.r1", "failed", "1", "0", "RuntimeError: broken",
    )  # fmt: skip


def test_the_rows_of_a_chart_are_saved_as_its_query_gives_them(save, results):
    name, content = save("#speedup details.data button")
    assert name == f"{SESSION}.speedup.csv"
    expected = {(row["case_name"], row["placement"]): row for row in asked(results, "speedup")}
    rows = rows_of(content)
    assert len(rows) == len(expected)
    for row in rows:
        original = expected[row["case_name"].removeprefix("'"), row["placement"]]
        assert float(row["speedup"]) == pytest.approx(original["speedup"], rel=1e-5)


def test_every_figure_and_every_table_has_a_button(browser, page):
    browser.open(page)
    figures = browser.run("return document.querySelectorAll('figure.chart').length")
    assert (
        browser.run("return document.querySelectorAll('figure.chart details.data > button').length")
        == figures
    )
    names = browser.run(
        "return [...document.querySelectorAll('button[data-csv]')].map((button) => button.dataset.csv)"
    )
    assert names == [
        "findings",
        "summary",
        "runs",
        "losses",
        "parity",
        "coverage",
        "not_ok",
        "perturbation",
        "hyperparameters",
        "environment",
    ]


def test_the_command_is_copied_or_left_selected(browser, page):
    browser.screen(1280)
    browser.open(page)
    open_sections(browser)
    button = browser.driver.find_element("css selector", "button[data-copy='command-line']")
    button.send_keys("\n")  # by keyboard
    status = "return document.querySelector('button[data-copy=command-line] + [role=status]').textContent"
    browser.wait(f"{status} !== ''")
    assert browser.run("return String(getSelection())") == "bench suite smoke"
    said = browser.run(status)
    assert said.startswith(("Copied", "Selected"))


def test_what_does_not_scroll_is_no_stop_for_the_keyboard(browser, page):
    stops = (
        "[...document.querySelectorAll('section > .scroll')]"
        ".map((region) => [region.scrollWidth > region.clientWidth, region.tabIndex === 0])"
    )
    for width, some_scroll in ((1280, False), (390, True)):
        browser.screen(width)
        browser.open(page)
        browser.wait(f"return {stops}.every(([scrolls, stops]) => scrolls === stops)")
        assert ([True, True] in browser.run(f"return {stops}")) == some_scroll
    assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_paper_shows_the_folds_that_matter_there(browser, page):
    browser.screen(1280)
    browser.open(page)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("return document.querySelector('details.printed').open")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not browser.run("return document.querySelector('details.printed').open")
