"""One report for all tests that look at pages, and for the tests of a worker one Chromium, and one process for the
`bench` commands of tests that look at what a session measures, not at how its processes begin and end.

Their imports wait until a test needs them: on a GPU node, other tests run without Selenium and Polars.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.browser import Browser
    from tests.e2e.processes import OneProcess

LONGEST = (
    "test_documents_run.py", "test_run_command.py", "test_any_launcher.py", "test_quickstart.py",
    "test_shipped_suites.py",
)  # fmt: skip
"""Files that take minutes: they start first, so that no worker ends the run alone with one."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one page of each kind in tests/e2e/report_pages.py, and the index; made once for all workers."""
    from tests.e2e.report_pages import make_sessions, write_report

    of_worker = tmp_path_factory.getbasetemp()
    folder = (of_worker.parent if "PYTEST_XDIST_WORKER" in os.environ else of_worker) / "report"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        if not folder.exists():
            make_sessions(folder / "results")
            write_report(folder)
    return folder / "out"


@pytest.fixture(scope="session")
def browser(
    require_program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    from tests.e2e.browser import Browser

    chromium, driver = require_program("chromium"), require_program("chromedriver")
    started = Browser(chromium, driver, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneProcess]:
    from tests.e2e.processes import Marked, OneProcess

    marked = Marked(tmp_path_factory.mktemp("one_process"))
    with OneProcess(marked.environment) as started:
        yield started
    assert marked.left() == []
