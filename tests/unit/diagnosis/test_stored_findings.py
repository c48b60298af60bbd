"""The findings stored at load equal those of all rules asked of everything at once."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from analysis.database import schema
from analysis.diagnosis import run_rules
from analysis.loading.load import load
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import Rows, alike, ask

STORED = "SELECT * EXCLUDE (finding_order) FROM diagnosis ORDER BY ALL"
DAYS = {"s0": 10.0, "s1": 12.0, "s2": 12.0}
"""Step time of a session of one rank: the second is a regression, until its baseline is gone."""


def plant(results, name, suite="smoke"):
    day = int(name[-1])
    steps = {1: [x * DAYS[name] for x in (0.999, 1.0, 1.001)], 2: [x * 8.0 for x in (0.999, 1.0, 1.001)]}
    began = BEGAN + timedelta(days=day)
    make_session(results, [Case(name="ddp", step_ms=steps)], session_id=name, suite=suite, created_at=began)


def found(results) -> Rows:
    load(results)
    return [
        {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}
        for row in ask(results, STORED)
    ]


def regressed(rows: Rows) -> list[str]:
    return sorted({row["session_id"] for row in rows if row["finding"] == "regression"})


@pytest.fixture(scope="module")
def at_once(tmp_path_factory) -> Rows:
    results = tmp_path_factory.mktemp("at_once")
    for name in DAYS:
        plant(results, name)
    return found(results)


def test_the_order_of_loads_does_not_matter(results, at_once):
    assert regressed(at_once) == ["s1"]
    for name in ("s1", "s2", "s0"):
        plant(results, name)
        rows = found(results)
    assert rows == at_once


def test_a_session_that_is_taken_away_takes_the_findings_against_it_along(results):
    for name in DAYS:
        plant(results, name)
    assert regressed(found(results)) == ["s1"]
    shutil.rmtree(results / "s0")
    assert regressed(found(results)) == []
    plant(results, "s0")
    assert regressed(found(results)) == ["s1"]


def test_a_session_that_goes_to_another_suite_leaves_the_history_of_the_first(results):
    for name in DAYS:
        plant(results, name)
    load(results)
    shutil.rmtree(results / "s0")
    plant(results, "s0", suite="another")
    assert regressed(found(results)) == []


def test_what_is_derived_of_a_session_is_the_same_whoever_was_there_before(results, tmp_path):
    for name in DAYS:
        plant(results, name)
        load(results)
        plant(tmp_path / "at once", name)
    load(tmp_path / "at once")
    for table in (*schema.derived(), *schema.views(), "findings"):
        rows = [ask(folder, f"FROM {table}") for folder in (results, tmp_path / "at once")]
        assert alike(*rows), table


def test_rules_that_reach_other_sessions_by_way_of_views_are_known():
    comparing = {rule.finding for rule in schema.shipped_rules() if run_rules.compares_sessions(rule)}
    assert {"regression", "low_utilisation"} <= comparing
