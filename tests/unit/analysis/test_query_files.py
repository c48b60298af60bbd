"""`bench sql --direct` gives the same answers as after a load, straight from the files, and can read nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.sql import query_files
from analysis.sql.query import run_on_files
from analysis.sql.query_files import SessionFilter, tables_read
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import alike, fetch
from tests.unit.test_cli import run_bench

SMOKE = "20261121T014925Z-smoke-3f9a"
OTHER = "20261121T020000Z-other-0b0b"
ALL = "SHOW TABLES"
"""A query for the list of tables gets every one."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions, loaded, below a folder whose name DuckDB would take for a pattern; a file of one is bad."""
    folder = tmp_path_factory.mktemp("of one's [own] *") / "results"
    folder.mkdir()
    case = Case(
        name="ddp",
        step_ms={1: 100.0, 2: (52.0, 53.0, 54.0), 4: 31.0},
        ranks_per_node=2,
        jitter=0.02,
        validate_every=4,
        validation_ms=5.0,
        statuses={(4, 2): "failed"},
        attempts={(2, 1): 1},
    )
    on_gpus = Case(
        name="gpus", step_ms={1: 20.0, 8: 4.0}, device_type="cuda", strategy="fsdp", scaling="weak"
    )
    threads = Case(name="t", step_ms={1: 9.0, 2: 5.0}, axis="threads")
    make_session(folder, [case, on_gpus])
    other = make_session(folder, [threads], session_id=OTHER, suite="other")
    bad = other / "t.1x1.t2.r2/steps.node0.parquet"
    bad.write_bytes(bad.read_bytes()[:100])
    load(folder)
    return folder


@pytest.fixture(scope="module")
def steps_of_other(results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The files of one session, opened to ask for steps."""
    with query_files.reader(results, "FROM steps", SessionFilter(sessions=["20261121T02"])) as opened:
        yield opened.connection


def asked(results: Path, query: str, **chosen: Any) -> list[tuple[Any, ...]]:
    with run_on_files(results, query, SessionFilter(**chosen)) as (relation, _):
        return relation.fetchall()


def test_every_table_and_view_answers_as_after_a_load(results: Path) -> None:
    both = SessionFilter(sessions=[SMOKE, OTHER])
    with connections.reader(results) as loaded, query_files.reader(results, ALL, both) as opened:
        names = [row["name"] for row in fetch(loaded, ALL)]
        assert {"scaling", "diagnosis", "steps", "run_stats", "loaded_files"} <= set(names)
        for query in [f"FROM {name}" for name in names] + [f"FROM compare('{SMOKE}', '{SMOKE}', 0.02)"]:
            assert alike(fetch(opened.connection, query), fetch(loaded, query)), query
        assert fetch(opened.connection, "SELECT count(*) AS rows FROM diagnosis") != [{"rows": 0}]
        assert [(p.path, "Parquet" in p.reason) for p in opened.problems] == [
            (f"{OTHER}/t.1x1.t2.r2/steps.node0.parquet", True)
        ]


def test_nothing_is_derived_for_a_question_that_reads_no_more_than_files(
    steps_of_other: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(duckdb.CatalogException):
        steps_of_other.execute("FROM query_table('step_' || 'stats')")  # rather an error than no rows


def test_what_a_query_reads_is_found_through_views() -> None:
    assert "step_stats" in tables_read("FROM training_steps")
    assert "findings" in tables_read('select * from "Diagnosis"')
    assert not tables_read("SELECT loss FROM steps JOIN runs USING (run_id)") & {"run_stats", "step_stats"}
    assert "findings" in tables_read("FROM query_table('diag' || 'nosis')")


def test_no_other_file_can_be_read_or_written(
    results: Path, steps_of_other: duckdb.DuckDBPyConnection
) -> None:
    other, own = (str(results / name).replace("'", "''").replace("[", "[[]") for name in (OTHER, SMOKE))
    assert steps_of_other.execute("SELECT count(*) FROM steps").fetchall() == [(5 * 12,)]
    for query in (
        "FROM read_text('/etc/hostname')",
        f"FROM read_parquet('{own}/ddp.1x1.r0/steps.node0.parquet')",
        f"FROM read_parquet('{other}/*/steps.node0.parquet')",
        f"FROM read_json('{other}/session.json')",
        f"COPY (SELECT 1) TO '{other}/written.csv'",
        f"ATTACH '{other}/../results.duckdb'",
    ):
        with pytest.raises(duckdb.PermissionException, match="Cannot access file"):
            steps_of_other.execute(query)
    for query in (
        "SET enable_external_access = true",
        "SET allowed_paths = ['/etc/hostname']",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error, match=r"locked|disabled"):
            steps_of_other.execute(query)
    assert not (results / OTHER / "written.csv").exists()


def test_sessions_are_chosen_by_id_or_suite(results: Path, steps_of_other: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT session_id FROM sessions"
    assert steps_of_other.execute(query).fetchall() == [(OTHER,)]  # by the beginning of its id
    assert asked(results, query, suites=["other"]) == [(OTHER,)]
    for chosen, said in (
        ({"sessions": ["2025"]}, "no session '2025'"),
        ({"suites": ["x"]}, "of the suite 'x'"),
    ):
        with pytest.raises(AnalysisError, match=said):
            asked(results, query, **chosen)


def test_rows_that_cannot_be_read_are_left_out_or_named(results: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(results / SMOKE, tmp_path / SMOKE)).parent
    broken = copy / SMOKE / "ddp.1x1.r0/steps.node0.parquet"
    raw = bytearray(broken.read_bytes())
    raw[4:400] = bytes(396)
    broken.write_bytes(raw)
    with run_on_files(copy, "SELECT run_id FROM run_stats WHERE run_id = 'ddp.1x1.r0'", SessionFilter()) as (
        rows,
        problems,
    ):
        assert rows.fetchall() == []
        assert [problem.path for problem in problems] == [f"{SMOKE}/ddp.1x1.r0/steps.node0.parquet"]
    with pytest.raises(
        AnalysisError, match=r"rows that cannot be read:\n .*ddp\.1x1\.r0/steps\.node0\.parquet: its rows"
    ):
        asked(copy, "FROM steps")


def test_the_command_names_what_it_left_out_and_writes_nothing(results: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(results / OTHER, tmp_path / OTHER)).parent
    before = sorted(copy.rglob("*"))
    query = "SELECT workers, round(efficiency, 9) AS efficiency FROM scaling ORDER BY ALL"
    done = run_bench("sql", "--direct", query, "--results", str(copy), "--format", "csv")
    assert (done.returncode, done.stdout) == (1, '"workers","efficiency"\n1,1\n2,0.9\n')
    assert done.stderr.startswith(
        f"left out: {OTHER}/t.1x1.t2.r2/steps.node0.parquet: not a complete Parquet file"
    )
    assert sorted(copy.rglob("*")) == before
    refused = run_bench("sql", query, "--results", str(copy), "--suite", "other")
    assert (refused.returncode, "need --direct" in refused.stderr) == (2, True)
