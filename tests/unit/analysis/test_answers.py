"""bench findings, losses and slow-ranks: answers that need no SQL, in 80 columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.loading.load import load
from bench.cli import group
from tests.factory import Case, make_session
from tests.unit.diagnosis.planted import straggler


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("answers")
    straggler.fires(folder)
    make_session(folder, [Case(name="alone", step_ms={1: 9.0})], session_id="alone")
    make_session(folder, [Case(name="ddp", step_ms={1: 10.0, 2: 8.0})], session_id="two")
    load(folder)
    return folder


def lines(results: Path, *words: str) -> list[str]:
    done = CliRunner().invoke(group, [*words, "--results", str(results)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.exception
    found = done.output.splitlines()
    long = [line for line in found if len(line) > 80 and not line.startswith("    try: ")]
    assert "--json" in words or long == []
    return found


def planted(results: Path) -> str:
    return next(
        path.parent.name
        for path in results.glob("*/session.json")
        if path.parent.name not in ("alone", "two")
    )


def test_the_slow_rank_is_named_with_the_time_that_others_wait(results: Path) -> None:
    said = " ".join(lines(results, "slow-ranks", planted(results)))
    rows = json.loads("\n".join(lines(results, "slow-ranks", planted(results), "--json")))
    (slow,) = [row for row in rows if row["is_straggler"]]
    assert f"Rank {slow['rank']} of {slow['case_name']} {slow['placement']} is slow: the others wait " in said
    assert lines(results, "slow-ranks", "alone") == [
        "No ok run has two ranks or more, so no rank waits for another."
    ]


def test_findings_have_evidence_and_advice_and_are_all_there(results: Path) -> None:
    said = " ".join(" ".join(lines(results, "findings", planted(results))).split())
    rows = json.loads("\n".join(lines(results, "findings", planted(results), "--json")))
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
