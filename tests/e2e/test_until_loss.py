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
        SELECT run_id, target_runs.steps, count(DISTINCT rank), max(step) + 1,
            (SELECT min(evals.step) FILTER (val_loss <= 1.5) FROM evals WHERE evals.run_id = target_runs.run_id),
            (SELECT max(evals.step) FROM evals WHERE evals.run_id = target_runs.run_id)
        FROM target_runs JOIN steps USING (session_id, run_id, attempt)
        WHERE reached AND kind IN ('warmup', 'measured')
        GROUP BY run_id, target_runs.steps, world_size
        """,
    )
    assert {run_id for run_id, *_ in runs} == {f"weak.1x{n}.r{repeat}" for n in (1, 2) for repeat in (0, 1)}
    for run_id, target, ranks, taken, first, last in runs:
        assert target == taken == first == last, run_id
        assert ranks == int(run_id[7])
        assert 0 < target < 40


def test_a_run_that_misses_it_takes_all_its_steps_and_is_kept(results: Path) -> None:
    rows = query(results, "SELECT reached, steps, status FROM target_runs WHERE case_name = 'never'")
    assert rows == [(False, 12, "ok")] * 2
    ((missed, estimate, seconds),) = query(
        results, "SELECT missed, estimate, seconds FROM target_efficiency WHERE case_name = 'never'"
    )
    assert (missed, estimate, seconds) == (2, "bound", None)


def test_the_clock_of_a_run_is_made_of_its_parts(results: Path) -> None:
    rows = query(
        results,
        """
        SELECT target.seconds, target.setup_s, target.validation_s, target.training_s, runs.elapsed_s
        FROM target_runs AS target JOIN runs USING (session_id, run_id, attempt)
        """,
    )
    assert len(rows) == 6
    for seconds, setup_s, validation_s, training_s, elapsed_s in rows:
        assert 0 < setup_s < seconds < elapsed_s
        assert 0 < validation_s < seconds - setup_s
        assert training_s > 0


def test_repeats_have_different_seeds(results: Path) -> None:
    seeds = query(results, "SELECT loss FROM steps WHERE run_id LIKE 'weak.1x1.r%' AND step = 0")
    assert len(set(seeds)) == 2


def test_summary_json_and_page_show_it(results: Path, tmp_path: Path, one_process: OneProcess) -> None:
    said = (results.parent / "said").read_text()
    assert "To the target" in said
    assert "never on 1 rank: 2 of 2 runs missed a loss of 1e-06" in said
    shown = one_process.run("summary", "s", "--results", str(results), "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)["target_efficiency"]
    assert [(row["case_name"], row["workers"]) for row in rows] == [("weak", 1), ("weak", 2), ("never", 1)]
    exported = one_process.run(
        "export",
        "s",
        "--results",
        str(results),
        "--view",
        "target_efficiency",
        "--format",
        "csv",
        cwd=tmp_path,
    )
    assert exported.returncode == 0, exported.stderr
    report = one_process.run("report", "s", "--results", str(results), cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "public" / "s.html").read_text()
    assert "What does it take to reach the loss?" in page
    assert "Which factor costs the efficiency to the target?" in page
