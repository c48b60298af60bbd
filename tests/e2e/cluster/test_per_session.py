"""docs/examples/per_session.sh as an array: each task loads its session, and the tables equal those of one load of
all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
from polars.testing import assert_frame_equal

from analysis.loading.load import load
from tests.e2e.cluster.test_batch_job import Folder, Job
from tests.factory import Case, make_session

TABLES = {"sessions", "run_summary", "coverage", "scaling", "efficiency_loss"}
SUITES = ("first", "second")


def submit(folder: Folder, image: str) -> Job:
    """The joining job's output, once it has ended."""
    call = f"/scalebench/docs/examples/per_session.sh results summaries {image}"
    array = folder.run(f"sbatch --parsable --array=0-1 --output array.%a.out {call}").strip()
    joins = f"sbatch --parsable --dependency=afterany:{array} --output %j.out {call}"
    return folder.wait(folder.run(joins).strip())


def test_an_array_summarises_every_session_and_the_joined_tables_say_what_one_load_says(
    cluster: Any, image: str, tmp_path: Path
) -> None:
    folder = Folder(cluster, "it's per session")
    results = folder.outside / "results"
    for number, suite in enumerate(SUITES):
        case = Case(
            name="ddp", step_ms={1: 100.0 + number, 2: (52.0, 53.0, 54.0)}, jitter=0.02,
            statuses={(2, 2): "failed"}, attempts={(2, 1): 1},
        )  # fmt: skip
        make_session(results, [case], session_id=suite, suite=suite, tags=["a", "b"])
    bad = results / "second/ddp.1x1.r0/steps.node0.parquet"
    whole = bad.read_bytes()
    bad.write_bytes(whole[:100])
    before = sorted(results.rglob("*"))
    cluster.run(f'chown -R user: "{folder.inside}"', root=True)

    code, said = submit(folder, image)
    assert (code, "second: has bad files" in said, "2 of 2 sessions" in said) == (1, True, True), said
    summaries = folder.outside / "summaries"
    assert "steps.node0.parquet" in (summaries / "sessions/second/load.txt").read_text()
    bad.write_bytes(whole)
    assert submit(folder, image) == (0, "2 of 2 sessions are in /results/it's per session/summaries/joined\n")
    assert (folder.outside / "array.0.out").read_text() == "first: nothing is new\n"

    assert sorted(results.rglob("*")) == before
    assert (summaries / "sessions/first/first.html").stat().st_size > 100_000
    shutil.copytree(results, tmp_path / "results")
    load(tmp_path / "results")
    with duckdb.connect(str(tmp_path / "results/results.duckdb"), read_only=True) as loaded:
        assert {path.stem for path in (summaries / "joined").iterdir()} == TABLES
        for table in TABLES:
            joined = duckdb.read_parquet(str(summaries / f"joined/{table}.parquet")).order("ALL").pl()
            assert set(joined["session_id"]) == set(SUITES), table
            assert_frame_equal(joined, loaded.table(table).order("ALL").pl())
