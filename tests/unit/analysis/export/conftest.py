"""One results folder with an ordinary session, one of hostile names, one of failures and one of many cases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.loading.load import load
from bench.cli.export import command
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import shared, stored_together

__all__ = ["shared", "stored_together"]
"""Fixtures of a package belong to the one whose conftest.py has them."""

ORDINARY, HOSTILE, FAILURES, MANY = "ordinary", "we|rd \u202e$name%", "failures", "many"
NAMES = (
    "=1+1|x`y\\",
    "שלום\u202e_%&#${}~^\\",
    "<b>&amp;</b>".replace("/", "∕"),
    '--weird,,"q" é日 😀 @me #1\nnew line',
    "[x](y)*b*" + "m" * 90,
    "+neg",
)
"""Names of cases; every one is special in some format."""


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    ddp = Case(
        name="ddp",
        step_ms={1: [362.0, 362.45, 363.0], 4: [95.0, 95.23, 95.5], 8: 57.14},
        statuses={(8, 2): "oom"},
    )
    single = Case(name="single", scaling="none", strategy="single", step_ms={1: 350.0})
    make_session(folder, [single, ddp], session_id=ORDINARY)
    hostile = [Case(name=name, step_ms={1: [3.0, 3.1, 3.2], 2: [2.0, 2.7, 2.1]}, steps=3) for name in NAMES]
    make_session(folder, hostile, session_id=HOSTILE, suite="a|b_%$&`", created_at=BEGAN - timedelta(days=1))
    bad = Case(name="bad", step_ms={1: 3.0, 2: 2.0}, repeats=1, statuses={(1, 0): "failed", (2, 0): "oom"})
    make_session(folder, [bad], session_id=FAILURES, created_at=BEGAN - timedelta(days=2))
    many = [Case(name=f"case_{number}", step_ms={1: 3.0}, repeats=1, steps=2) for number in range(70)]
    make_session(folder, many, session_id=MANY, created_at=BEGAN - timedelta(days=3))
    load(folder)
    return folder


Export = Callable[..., Result]


@pytest.fixture
def export(results: Path) -> Export:
    """`export("--format", "csv")`: the command on these sessions."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(command, [*arguments, "--results", str(results)])

    return run
