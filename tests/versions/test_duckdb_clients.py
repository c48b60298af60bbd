"""Older and newer DuckDB clients read the database as the locked DuckDB does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.database import schema
from ci.documents.answers import QUESTION
from tests.unit.test_questions import PAGE
from tests.versions.conftest import ROOT, Environment

CLIENTS = ("1.1.3", "1.2.2", "1.4.5", "1.5.6")


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every view and every query of docs/sql.md, without its LIMIT."""
    asked = {
        found["question"]: re.sub(r"\nLIMIT \d+\s*$", "", found["query"]) for found in QUESTION.finditer(PAGE)
    }
    file = tmp_path_factory.mktemp("queries") / "queries.json"
    file.write_text(json.dumps(asked | {name: f"FROM {name}" for name in schema.views()}))
    return file


def _answers(python: Path | str, results: Path, queries: Path) -> dict[str, Any]:
    command = [python, ROOT / "tests/versions/answers.py", results / "results.duckdb", queries]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


@pytest.fixture(scope="module")
def expected(results: Path, queries: Path) -> dict[str, Any]:
    return _answers(sys.executable, results, queries)


def test_the_sessions_have_rows_for_the_views(expected: dict[str, Any]) -> None:
    empty = {name for name in schema.views() if not expected[name]}
    assert empty <= {
        "fabric_lines",
        "message_times",
        "shared_changes",
        "communication_prediction",
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_every_view_and_answers_every_documented_query(
    client: str, environment: Environment, results: Path, queries: Path, expected: dict[str, Any]
) -> None:
    found = _answers(environment(f"duckdb=={client}"), results, queries)
    assert {name: rows for name, rows in found.items() if rows != expected[name]} == {}
