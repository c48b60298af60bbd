"""The step without stragglers: replays by hand, and answers of StragglerAnalysis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.database import connections
from bench.common.errors import InputError
from bench.importing.formats import operations
from bench.importing.import_session import ImportRequest, read_files
from bench.importing.replay import Operation, Replay, even_durations
from tests.pipeline_operations import JOBS, PipelineJob
from tests.unit.importing.conftest import Take

ANSWERS = json.loads((Path(__file__).parents[2] / "data/straggler_answers.json").read_text(encoding="utf-8"))[
    "jobs"
]
LIMIT = 0.0001
"""Relative; StragglerAnalysis computes with 32 bits."""


def two_ranks() -> list[Operation]:
    """Each rank works, then both exchange, then each works again."""
    return [
        Operation(kind="work", worker=0, after=()),
        Operation(kind="work", worker=1, after=()),
        Operation(kind="transfer", worker=0, after=(0,), meets="all"),
        Operation(kind="transfer", worker=1, after=(1,), meets="all"),
        Operation(kind="tail", worker=0, after=(2,)),
        Operation(kind="tail", worker=1, after=(3,)),
    ]


def test_an_exchange_begins_when_the_last_rank_is_ready() -> None:
    durations = np.array([[10.0], [30.0], [5.0], [5.0], [1.0], [2.0]])
    assert Replay(two_ranks()).times(durations).tolist() == [37.0]


def test_without_stragglers_work_takes_its_mean_and_a_transfer_its_median() -> None:
    steps = two_ranks()
    durations = np.array([[10.0, 10.0], [30.0, 10.0], [5.0, 5.0], [5.0, 50.0], [1.0, 1.0], [1.0, 1.0]])
    even = even_durations(steps, durations, {"work": False, "transfer": True, "tail": False})
    assert even[:, 0].tolist() == [15.0, 15.0, 5.0, 5.0, 1.0, 1.0]
    found = Replay(steps).what_if(durations, even)
    assert found.replayed_ns.tolist() == [36.0, 61.0]
    assert found.even_ns.tolist() == [21.0, 21.0]
    assert found.slowest == (1,)


def test_operations_that_wait_for_each_other_are_refused() -> None:
    ring = [Operation(kind="work", worker=0, after=(1,)), Operation(kind="work", worker=0, after=(0,))]
    with pytest.raises(ValueError, match="wait for each other"):
        Replay(ring)


@pytest.mark.parametrize("name", JOBS)
def test_a_pipeline_without_stragglers_is_that_of_straggler_analysis(tmp_path: Path, name: str) -> None:
    job = operations.read(JOBS[name].write(tmp_path / "job.parquet"))
    found, answer = operations.what_if("job", job), ANSWERS[name]
    seconds = {
        "step_s": job.measured_ns,
        "replayed_s": found.replayed_ns,
        "even_s": found.even_ns,
        "without_slowest_s": found.without_slowest_ns,
    }
    assert {key: float(seconds[key].mean()) / 1e9 for key in answer} == pytest.approx(answer, rel=LIMIT)


@pytest.mark.parametrize("name", ["slow-worker", "slow-stage"])
def test_the_slow_worker_is_found(tmp_path: Path, name: str) -> None:
    job = JOBS[name]
    assert job.slow is not None
    found = operations.what_if("job", operations.read(job.write(tmp_path / "job.parquet")))
    assert found.slowest == (job.slow[0] * job.stages + job.slow[1],)


def test_an_imported_job_says_what_its_stragglers_cost(tmp_path: Path, take: Take) -> None:
    path = JOBS["slow-worker"].write(tmp_path / "job.parquet")
    said = " ".join(take(str(path), "--suite", "demo", "--world", "16").output.split())
    assert "demo on 16 ranks: without stragglers a step would take 3854 ms instead of 5481 ms" in said
    assert "1. Uneven ranks make the step longer (demo 1x16)" in said
    with connections.reader(tmp_path / "r") as connection:
        query = "SELECT repeats, replayed_steps, even_ms, slowdown, slowest FROM step_without_stragglers"
        ((repeats, steps, even_ms, slowdown, slowest),) = connection.sql(query).fetchall()
        assert connection.sql("SELECT world_size, device_type FROM runs").fetchall() == [(16, None)]
    assert (repeats, steps, slowest) == (1, 3, "0/1")
    assert even_ms == pytest.approx(1_000 * ANSWERS["slow-worker"]["even_s"], rel=LIMIT)
    assert slowdown == pytest.approx(
        ANSWERS["slow-worker"]["replayed_s"] / ANSWERS["slow-worker"]["even_s"], rel=LIMIT
    )


def test_a_job_whose_replay_does_not_reproduce_its_steps_is_refused(tmp_path: Path) -> None:
    """Before the optimizer every worker does something for 10 s that is in no row."""
    rows = PipelineJob(seed=1).rows()
    late = [row | {"start_ts": row["start_ts"] + 10 * (row["optype"] == "optimizer")} for row in rows]
    problem = r"^job\.parquet: replayed, its steps take 5\.48\d s instead of 15\.\d+ s"
    with pytest.raises(InputError, match=problem):
        read_files(ImportRequest(files=(str(_written(tmp_path, late)),), suite="demo", world=4))


def test_the_ranks_of_a_job_are_asked_for_since_a_worker_can_be_several(tmp_path: Path) -> None:
    path = JOBS["even"].write(tmp_path / "job.parquet")
    with pytest.raises(InputError, match=r"^job\.parquet: .*: add --world N, a multiple of its 4 workers"):
        read_files(ImportRequest(files=(str(path),), suite="demo"))


def test_a_step_that_lacks_an_operation_is_left_out(tmp_path: Path) -> None:
    rows = [row for row in PipelineJob(seed=1).rows() if (row["step"], row["optype"]) != (1, "optimizer")]
    assert operations.read(_written(tmp_path, rows)).steps == (0, 2)


def _written(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "job.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def _each(**values: object) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda rows: [row | values for row in rows]


BROKEN: dict[str, tuple[Callable[[list[dict[str, Any]]], list[dict[str, Any]]], str]] = {
    "no column": (lambda rows: [{k: v for k, v in row.items() if k != "stage"} for row in rows], "no column stage"),
    "another operation": (_each(optype="<b>sleep</b>"), "unknown kind of operation: <b>sleep</b>; known: "),
    "an unknown time": (_each(duration=float("nan")), "column duration: a value is missing, below zero or not finite"),
    "less than nothing": (_each(duration=-1.0), "column duration: a value is missing, below zero or not finite"),
    "the end of time": (_each(duration=1e300), "a time is beyond 1e"),
    "two clocks": (
        lambda rows: [row | {"start_ts": 5e9 if row["optype"] == "gc" else row["start_ts"]} for row in rows],
        "not of one clock",
    ),
    "a far replica": (lambda rows: [rows[0] | {"dp_rank": 10**9}, *rows], "1,000,000,001 replicas of 2 stages"),
    "a step of its own for each row": (
        lambda rows: [row | {"step": number} for number, row in enumerate(rows)], "in most steps most workers have not",
    ),
    "text for a number": (_each(step="first"), "the Parquet file cannot be read"),
    "no number": (_each(stage=None), "the Parquet file cannot be read|column stage"),
    "the same twice": (lambda rows: rows + rows[:1], "two rows have the same"),
    "no step is whole": (
        lambda rows: [row for row in rows if (row["step"], row["rank"], row["optype"]) not in
                      {(0, 0, "gc"), (1, 1, "gc"), (2, 2, "gc")}],
        "in no step does every worker have all operations",
    ),
    "a replica lacks a worker": (
        lambda rows: [row for row in rows if row["rank"] != 3], "replica 1, stage 1 has not all operations",
    ),
    "several model chunks": (_each(mc=1), "several model chunks per stage"),
    "a stage that computes nothing": (
        lambda rows: [row for row in rows if row["stage"] == 0 or "compute" not in row["optype"]],
        "stage 1 computes nothing",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_job_is_an_error_that_names_the_file(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], problem: str
) -> None:
    path = _written(tmp_path, change(PipelineJob(seed=1).rows()))
    with pytest.raises(InputError, match=problem) as caught:
        read_files(ImportRequest(files=(str(path),), suite="demo", world=4))
    assert str(caught.value).startswith("job.parquet: ")


def test_a_damaged_job_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = JOBS["even"].write(tmp_path / "job.parquet")
    path.write_bytes(path.read_bytes()[:1_000])
    with pytest.raises(InputError, match=r"^job\.parquet: the Parquet file cannot be read"):
        read_files(ImportRequest(files=(str(path),), suite="demo", world=4))


def test_a_kind_of_operation_that_is_not_utf8_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "job.parquet"
    pq.write_table(pa.Table.from_pylist(PipelineJob(seed=1).rows()), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"optimizer", b"optimize\x80"))
    with pytest.raises(InputError, match=r"^job\.parquet: the Parquet file cannot be read"):
        read_files(ImportRequest(files=(str(path),), suite="demo", world=4))


def test_a_job_whose_name_is_not_utf8_is_taken_in(tmp_path: Path) -> None:
    path = JOBS["even"].write(tmp_path / "job.parquet").rename(tmp_path / "\udcff.parquet")
    (run,) = read_files(ImportRequest(files=(str(path),), suite="demo", world=4)).rows
    assert run.world_size == 4


def test_two_jobs_are_two_imports(tmp_path: Path) -> None:
    files = tuple(str(JOBS["even"].write(tmp_path / f"{name}.parquet")) for name in "ab")
    with pytest.raises(InputError, match=r"b\.parquet: each file of operations is a job of its own"):
        read_files(ImportRequest(files=files, suite="demo", world=4))


def test_a_world_must_divide_among_the_workers(tmp_path: Path) -> None:
    path = JOBS["even"].write(tmp_path / "job.parquet")
    with pytest.raises(InputError, match=r"--world 6: job\.parquet has 4 workers"):
        read_files(ImportRequest(files=(str(path),), suite="demo", world=6))
