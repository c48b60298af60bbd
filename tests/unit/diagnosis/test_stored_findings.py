"""The findings stored at load equal those of all rules asked of everything at once."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from analysis.database import connections, schema
from analysis.diagnosis import run_rules
from analysis.loading.load import load
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import Rows, alike, ask, fetch

STORED = "SELECT * EXCLUDE (finding_order) FROM diagnosis ORDER BY ALL"
DAYS = {"s0": 10.0, "s1": 12.0, "s2": 12.0}
"""Step time of a session of one rank: the second is a regression, until its baseline is gone."""


def plant(results, name, suite="smoke"):
    day = int(name[-1])
    steps = {1: [x * DAYS[name] for x in (0.999, 1.0, 1.001)], 2: [x * 8.0 for x in (0.999, 1.0, 1.001)]}
    began = BEGAN + timedelta(days=day)
    make_session(results, [Case(name="ddp", step_ms=steps)], session_id=name, suite=suite, created_at=began)


def found(results) -> Rows:
    return [
        {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}
        for row in ask(results, STORED)
    ]


def regressed(rows: Rows) -> list[str]:
    return sorted({row["session_id"] for row in rows if row["finding"] == "regression"})


@pytest.fixture(scope="module")
def at_once(tmp_path_factory, empty) -> Path:
    """All sessions, loaded together."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("at_once") / "results"))
    for name in DAYS:
        plant(results, name)
    load(results)
    return results


@pytest.fixture(scope="module")
def one_alone(tmp_path_factory, empty) -> Path:
    """The session that would be a regression if its baseline were there."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("one_alone") / "results"))
    plant(results, "s1")
    load(results)
    return results


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory, one_alone) -> Path:
    """All sessions, each in a load of its own, the baseline last."""
    results = Path(shutil.copytree(one_alone, tmp_path_factory.mktemp("one_by_one") / "results"))
    for name in ("s2", "s0"):
        plant(results, name)
        load(results)
    return results


def test_the_order_of_loads_does_not_matter(at_once, one_by_one):
    assert regressed(found(at_once)) == ["s1"]
    assert found(one_by_one) == found(at_once)


def test_a_session_that_is_taken_away_takes_the_findings_against_it_along(at_once, tmp_path):
    results = Path(shutil.copytree(at_once, tmp_path / "results"))
    shutil.rmtree(results / "s0")
    load(results)
    assert regressed(found(results)) == []
    plant(results, "s0")
    load(results)
    assert regressed(found(results)) == ["s1"]


def test_one_session_alone_is_no_regression(one_alone):
    """Rules that read these views are not run on one session alone."""
    assert [row for view in schema.LEAST_SESSIONS for row in ask(one_alone, f"FROM {view}")] == []
    assert ask(one_alone, "FROM history") != []
    reading = [rule for rule in schema.shipped_rules() if schema.LEAST_SESSIONS.keys() & set(rule.reads())]
    assert {rule.finding for rule in reading} == {"regression", "shared_change"}
    for rule in reading:
        assert ask(one_alone, rule.definition) == [], rule.finding


def test_a_session_that_goes_to_another_suite_leaves_the_history_of_the_first(at_once, tmp_path):
    results = Path(shutil.copytree(at_once, tmp_path / "results"))
    shutil.rmtree(results / "s0")
    plant(results, "s0", suite="another")
    load(results)
    assert regressed(found(results)) == []


def test_what_is_derived_of_a_session_is_the_same_whoever_was_there_before(at_once, one_by_one):
    with connections.reader(at_once) as together, connections.reader(one_by_one) as apart:
        for table in (*schema.derived(), *schema.views(), "findings"):
            assert alike(fetch(together, f"FROM {table}"), fetch(apart, f"FROM {table}")), table


def test_rules_that_reach_other_sessions_by_way_of_views_are_known():
    comparing = {rule.finding for rule in schema.shipped_rules() if run_rules.compares_sessions(rule)}
    assert {"regression", "low_utilisation"} <= comparing
