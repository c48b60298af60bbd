"""measure.until_loss with real ranks: a run ends at its target, another misses it, and both are on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from processes import OneProcess

SUITE = """
title: Until a loss
workload: {name: mnist_cnn}
data: {source: digits}
device: cpu
train: {optimizer: adam, learning_rate: 1e-3}
measure: {warmup: 2, steps: 38, repeats: 2, until_loss: 1.5, validate_every: 4, timeout_s: 120}
cases:
  - {name: weak, strategy: ddp, scaling: weak, batch_per_rank: 16, world: [1, 2]}
  - name: never
    strategy: single
    scaling: none
    batch_per_rank: 16
    world: [1]
    measure: {until_loss: 1e-6, steps: 10}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    folder = tmp_path_factory.mktemp("until_loss")
    suite = folder / "until.yaml"
    suite.write_text(SUITE)
    done = one_process.run(
        "suite",
        str(suite),
        "--results",
        str(folder / "r"),
        "--session",
        "s",
        "--ranks-per-node",
        "2",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    (folder / "said").write_text(done.stdout)
    return folder / "r"


def query(results: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_run_ends_at_the_first_validation_at_the_target_on_all_ranks_alike(results: Path) -> None:
    runs = query(
        results,
        """
        SELECT run_id, count(DISTINCT rank), max(step) + 1,
            (SELECT min(evals.step) FILTER (val_loss <= 1.5) FROM evals WHERE evals.run_id = steps.run_id),
            (SELECT max(evals.step) FROM evals WHERE evals.run_id = steps.run_id)
        FROM steps
        WHERE run_id LIKE 'weak.%' AND kind IN ('warmup', 'measured')
        GROUP BY run_id
        """,
    )
    assert {run_id for run_id, *_ in runs} == {f"weak.1x{n}.r{repeat}" for n in (1, 2) for repeat in (0, 1)}
    for run_id, ranks, taken, first, last in runs:
        assert taken == first == last, run_id
        assert ranks == int(run_id[7])
        assert 0 < taken < 40


def test_a_run_that_misses_it_takes_all_its_steps_and_is_kept(results: Path) -> None:
    rows = query(results, "SELECT steps_completed, status FROM runs WHERE case_name = 'never'")
    assert rows == [(12, "ok")] * 2
    rows = query(results, "SELECT reached, missed, seconds FROM time_to_target WHERE case_name = 'never'")
    assert rows == [(0, 2, None)]


def test_the_time_to_the_target_is_most_of_a_runs_clock(results: Path) -> None:
    rows = query(
        results,
        """
        SELECT target.seconds, min(setup_s), max(runs.elapsed_s)
        FROM time_to_target AS target
        JOIN runs USING (session_id, case_name, nodes, ranks_per_node, threads)
        WHERE reached = 2
        GROUP BY ALL
        """,
    )
    assert len(rows) == 2
    for seconds, least, most in rows:
        assert 0 < least < seconds < most


def test_repeats_have_different_seeds(results: Path) -> None:
    seeds = query(results, "SELECT loss FROM steps WHERE run_id LIKE 'weak.1x1.r%' AND step = 0")
    assert len(set(seeds)) == 2


def test_summary_json_and_page_show_it(results: Path, tmp_path: Path, one_process: OneProcess) -> None:
    said = (results.parent / "said").read_text()
    assert "To the target" in said
    assert "never on 1 rank: 2 of 2 runs missed a loss of 1e-06" in said
    shown = one_process.run("summary", "s", "--results", str(results), "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)["time_to_target"]
    assert [(row["case_name"], row["workers"]) for row in rows] == [("weak", 1), ("weak", 2), ("never", 1)]
    exported = one_process.run(
        "export",
        "s",
        "--results",
        str(results),
        "--view",
        "time_to_target",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    assert exported.returncode == 0, exported.stderr
    report = one_process.run("report", "s", "--results", str(results), cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "public" / "s.html").read_text()
    assert "How long until the target?" in page
