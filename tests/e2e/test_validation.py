"""Validation between steps changes no training, is part of no step, and is never lost."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from processes import Marked, OneProcess

HERE = Path(__file__).parent
STEPS = 12
WORKLOADS = {
    "mnist": {"workload": {"name": "mnist_cnn"}, "data": {"source": "digits"}},
    "stateful": {"workload": {"name": f"{HERE / 'stateful.py'}:Workload"}},
}
STRATEGIES: dict[str, Any] = {
    "single": "single",
    "ddp": "ddp",
    "static": {"name": "ddp", "static_graph": True},
    "fsdp": "fsdp",
    "grad_op": {"name": "fsdp", "reshard": "grad_op"},
}


def write_suite(folder: Path, cases: list[dict[str, Any]], **measure: object) -> Path:
    suite = {
        "title": "Validation",
        "workload": {"name": f"{HERE / 'faulty.py'}:Workload", "validation_examples": 600},
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 60} | measure,
        "device": "cpu",
        "cases": cases,
    }
    path = folder / "validation.yaml"
    path.write_text(json.dumps(suite))
    return path


def run(one_process: OneProcess, suite: Path, results: Path) -> Any:
    return one_process.run(
        "suite", str(suite), "--results", str(results), "--session", "s", "--ranks-per-node", "2"
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    """Every workload and strategy twice: validated every fifth step, and at the end only."""
    folder = tmp_path_factory.mktemp("validation")
    cases = [
        {
            "name": f"{workload}_{strategy}_{every}",
            "strategy": chosen,
            "scaling": "none",
            "global_batch": 16,
            "world": [1 if strategy == "single" else 2],
            "measure": {"validate_every": every},
            **WORKLOADS[workload],
        }
        for workload in WORKLOADS
        for strategy, chosen in STRATEGIES.items()
        for every in (0, 5)
    ]
    done = run(one_process, write_suite(folder, cases), folder / "r")
    assert done.returncode == 0, done.stderr
    return folder / "r"


def query(results: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        return connection.sql(sql).fetchall()


def losses(results: Path, name: str) -> np.ndarray:
    """[ranks, steps] float64."""
    (path,) = (results / "s").glob(f"{name}.1x*.r0/steps.node0.parquet")
    table = pq.read_table(path)
    return np.array(table["loss"]).reshape(-1, STEPS)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_validation_changes_no_loss(results: Path, workload: str, strategy: str) -> None:
    with_validation = losses(results, f"{workload}_{strategy}_5")
    np.testing.assert_array_equal(with_validation, losses(results, f"{workload}_{strategy}_0"))
    assert np.ptp(with_validation) > 1e-3  # the losses do change


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_validations_come_every_so_many_steps_and_once_at_the_end(results: Path, strategy: str) -> None:
    rows = query(results, f"SELECT * FROM evals WHERE run_id LIKE 'mnist_{strategy}_5%' ORDER BY step")
    assert [row[3] for row in rows] == [5, 10, 12]
    assert [row[4] for row in rows] == pytest.approx([step * 16 / 1438 for step in (5, 10, 12)])
    (alone,) = query(results, f"SELECT * FROM evals WHERE run_id LIKE 'mnist_{strategy}_0%'")
    assert rows[-1][3:7] == alone[3:7], "the last one finds the same model"


def test_validations_of_all_strategies_find_the_same_model(results: Path) -> None:
    rows = query(
        results,
        "SELECT step, min(val_loss), max(val_loss), min(val_accuracy), max(val_accuracy), count(*) FROM evals"
        " WHERE run_id LIKE 'mnist%_5.%' GROUP BY step ORDER BY step",
    )
    for _step, low, high, least, most, count in rows:
        assert count == len(STRATEGIES)
        assert high == pytest.approx(low, rel=2e-4)
        assert most == pytest.approx(least, abs=0.005)


def test_no_step_contains_a_validation_and_no_figure_its_pause(results: Path) -> None:
    rows = query(
        results,
        "SELECT s.run_id, e.elapsed_s * 1e9 >= p.start_ns + p.step_ns, e.elapsed_s * 1e9 < s.start_ns,"
        " st.step_ns = st.end_ns - st.start_ns,"
        " st.start_ns = (SELECT min(o.start_ns) FROM steps o WHERE o.run_id = s.run_id AND o.step = s.step)"
        " FROM evals e JOIN steps s ON s.run_id = e.run_id AND s.step = e.step AND s.rank = 0"
        " JOIN steps p ON p.run_id = e.run_id AND p.step = e.step - 1 AND p.rank = 0"
        " JOIN step_stats st ON st.run_id = e.run_id AND st.step = e.step",
    )
    assert len(rows) == 2 * len(WORKLOADS) * len(STRATEGIES)
    assert [row for row in rows if not all(row[1:])] == []


def test_a_rank_that_is_killed_loses_no_earlier_validation(tmp_path: Path, one_process: OneProcess) -> None:
    case = {"strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2]}
    cases = [
        case | {"name": f"rank{rank}", "workload": {"fault": "killed", "at_step": 9, "on_rank": rank}}
        for rank in (0, 1)
    ]
    suite = write_suite(tmp_path, cases, validate_every=4)
    assert run(one_process, suite, tmp_path / "r").returncode == 1
    kept = (
        "SELECT case_name, step, status FROM evals JOIN runs USING (session_id, run_id, attempt) ORDER BY ALL"
    )
    assert query(tmp_path / "r", kept) == [
        (f"rank{rank}", step, "failed") for rank in (0, 1) for step in (4, 8)
    ]


def start_slow(folder: Path) -> Any:
    """A session that has validated once and waits until the file `hold` is gone."""
    (folder / "hold").touch()
    case = {"name": "slow", "strategy": "ddp", "scaling": "weak", "batch_per_rank": 4, "world": [2]}
    held = {"workload": {"hold": str(folder / "hold"), "at_step": 6}}
    suite = write_suite(folder, [case | held], validate_every=4, timeout_s=300)
    process = Marked(folder).start(
        "suite", str(suite), "--results", str(folder / "r"), "--session", "s", "--ranks-per-node", "2"
    )
    deadline = time.monotonic() + 120
    while not any(path.stat().st_size for path in folder.glob("bench-*/slow.1x2.r0.0/evals.raw")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def test_a_session_told_to_stop_keeps_its_validations(tmp_path: Path, one_process: OneProcess) -> None:
    process = start_slow(tmp_path)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert one_process.run("load", str(tmp_path / "r")).returncode == 0
    assert query(tmp_path / "r", "SELECT min(step), min(val_loss) > 0 FROM evals") == [(4, True)]
    assert list((tmp_path / "r").rglob("*.raw")) == []


def test_a_session_whose_agent_was_killed_keeps_its_validations(
    tmp_path: Path, one_process: OneProcess
) -> None:
    process = start_slow(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    (tmp_path / "hold").unlink()
    done = one_process.run(
        "suite", "--resume", "s", "--results", str(tmp_path / "r"), "--ranks-per-node", "2"
    )
    assert done.returncode == 0, done.stderr
    counted = query(
        tmp_path / "r", "SELECT attempt, count(*), min(step), max(step) FROM evals GROUP BY ALL ORDER BY ALL"
    )
    assert counted[0][0::2] == (0, 4)
    assert counted[1] == (1, 3, 4, 12)


def test_validating_without_examples_is_refused(tmp_path: Path, one_process: OneProcess) -> None:
    case = {"name": "none", "strategy": "single", "scaling": "none", "batch_per_rank": 4, "world": [1]}
    suite = write_suite(tmp_path, [case | {"workload": {"validation_examples": 0}}], validate_every=4)
    done = run(one_process, suite, tmp_path / "r")
    assert done.returncode == 2
    assert "case none: measure.validate_every: " in done.stderr
    assert "has no examples to validate on" in done.stderr
