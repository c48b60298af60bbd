"""bench findings, losses and slow-ranks: answers that need no SQL, in 80 columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group
from tests.factory import Case, make_session
from tests.unit.diagnosis.planted import straggler


def write_sessions(results: Path) -> None:
    straggler.fires(results)
    make_session(results, [Case(name="alone", step_ms={1: 9.0})], session_id="alone", suite="alone")
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 8.0})], session_id="two", suite="two")


PLANTED = "20261121T014925Z-smoke-3f9a"
"""The session of the straggler."""


@pytest.fixture
def results(shared: Path) -> Path:
    return shared


def lines(results: Path, *words: str) -> list[str]:
    done = CliRunner().invoke(group, [*words, "--results", str(results)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.exception
    found = done.output.splitlines()
    long = [line for line in found if len(line) > 80 and not line.startswith("    try: ")]
    assert "--json" in words or long == []
    return found


def test_the_slow_rank_is_named_with_the_time_that_others_wait(results: Path) -> None:
    said = " ".join(lines(results, "slow-ranks", PLANTED))
    rows = json.loads("\n".join(lines(results, "slow-ranks", PLANTED, "--json")))
    (slow,) = [row for row in rows if row["is_straggler"]]
    assert f"Rank {slow['rank']} of {slow['case_name']} {slow['placement']} is slow: the others wait " in said
    assert lines(results, "slow-ranks", "alone") == [
        "No ok run has two ranks or more, so no rank waits for another."
    ]


def test_findings_have_evidence_and_advice_and_are_all_there(results: Path) -> None:
    said = " ".join(" ".join(lines(results, "findings", PLANTED)).split())
    rows = json.loads("\n".join(lines(results, "findings", PLANTED, "--json")))
    assert "straggler" in {row["finding"] for row in rows}
    for row in rows:
        assert f"{row['severity']}: {row['title']}" in said
        assert " ".join(row["advice"].split()) in said


def test_the_losses_of_a_size_add_up_to_what_it_lacks(results: Path) -> None:
    rows = json.loads("\n".join(lines(results, "losses", "two", "--json")))
    lost = 1 - rows[0]["efficiency"]
    of_one_size = [row["share"] or 0 for row in rows if row["point_id"] == rows[0]["point_id"]]
    assert sum(of_one_size) == pytest.approx(lost)
    table = lines(results, "losses", "two")
    assert any(line.startswith("ddp") for line in table)
    assert "no size has an efficiency" in " ".join(lines(results, "losses", "alone"))
