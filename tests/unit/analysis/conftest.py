"""Sessions on disk, loaded, and asked."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis import database
from analysis.load import load
from tests.factory import Case, make_session

Rows = list[dict[str, Any]]


def ask(results: Path, query: str) -> Rows:
    """A query's rows, as dictionaries."""
    with database.reader(results) as connection:
        result = connection.execute(query)
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with nothing but a database: making one takes longer than filling it."""
    folder = tmp_path_factory.mktemp("empty")
    load(folder)
    return folder


@pytest.fixture
def results(tmp_path: Path, empty: Path) -> Path:
    return Path(shutil.copytree(empty, tmp_path / "results"))


@pytest.fixture
def measure(results: Path) -> Callable[..., Callable[[str], Rows]]:
    """`measure(cases...)` writes and loads a session and returns a function that queries it."""

    def run(*cases: Case, **session: Any) -> Callable[[str], Rows]:
        make_session(results, cases, **session)
        assert load(results).problems == ()
        return lambda query: ask(results, query)

    return run
