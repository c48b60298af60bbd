"""The database file: who can open it, and how foreign and outdated files are treated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0}, repeats=1)
HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only={}); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def results(loaded, tmp_path):
    return Path(shutil.copytree(loaded, tmp_path / "results"))


def _storage_version(path):
    with duckdb.connect(path) as connection:
        query = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal"
        return connection.execute(query).fetchone()[0]


@pytest.mark.usefixtures("without_rules")
def test_the_file_keeps_a_storage_version_that_duckdb_1_1_reads(results):
    make_session(results, [CASE], session_id="b")
    load(results)  # a second writer must not raise it
    # DuckDB 1.0 and 1.1 share one storage version, and 1.2 was the next.
    assert _storage_version(results / "results.duckdb") == "v1.0.0+"


@contextmanager
def _held(results, *, to_read):
    """Another process holds the database; the block gets what is said of it."""
    command = [sys.executable, "-c", HOLD.format(to_read), str(results / "results.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"open\n"
        yield f"in use by process {holder.pid}: .*Close that process"
        holder.stdin.close()
    assert load(results).unchanged_sessions == 1


def test_a_database_that_another_process_writes_is_said_to_be_in_use(results):
    with _held(results, to_read=False) as said:
        with pytest.raises(AnalysisError, match=said):
            load(results)
        with pytest.raises(AnalysisError, match=said):
            ask(results, "FROM runs")


def test_several_processes_read_at_once_and_none_can_write(results):
    with _held(results, to_read=True) as said:
        assert len(ask(results, "FROM runs")) == 2
        with pytest.raises(AnalysisError, match=said):
            load(results)


def test_a_database_with_somebody_elses_tables_is_left_alone(tmp_path):
    with duckdb.connect(tmp_path / "results.duckdb") as connection:
        connection.execute("CREATE TABLE mine AS SELECT 42 AS answer")
    with pytest.raises(AnalysisError, match=r"holds tables of another program \(mine\)"):
        load(tmp_path)
    with duckdb.connect(tmp_path / "results.duckdb") as connection:
        assert connection.execute("FROM mine").fetchall() == [(42,)]


@pytest.mark.usefixtures("without_rules")
def test_a_database_of_other_definitions_is_rebuilt_from_the_files(results):
    with duckdb.connect(results / "results.duckdb") as connection:
        connection.execute("UPDATE database_info SET definitions = 'older'")
        connection.execute("DROP VIEW history")
    with (
        pytest.raises(AnalysisError, match="another version of scalebench made its tables"),
        connections.reader(results),
    ):
        pass
    assert load(results).sessions == 1
    assert len(ask(results, "FROM scaling")) == 2


def test_a_file_that_is_no_database_is_named_with_the_remedy(tmp_path):
    (tmp_path / "results.duckdb").write_bytes(b"x" * 20_000)
    with pytest.raises(AnalysisError, match=r"not a database that this DuckDB .* can read. Move it away"):
        load(tmp_path)


def test_a_missing_database_is_named_with_the_remedy(tmp_path):
    folder = tmp_path / "my results & co"
    folder.mkdir()
    with (
        pytest.raises(AnalysisError, match=f"there is no database: `bench load '{folder}'`"),
        connections.reader(folder),
    ):
        pass


def test_where_there_is_no_folder_a_load_is_not_advised(tmp_path):
    with (
        pytest.raises(AnalysisError, match="nowhere: there is no such results folder"),
        connections.reader(tmp_path / "nowhere"),
    ):
        pass


def test_a_load_that_breaks_leaves_the_database_as_it_was(results, monkeypatch):
    make_session(results, [CASE], session_id="b")
    monkeypatch.setattr("analysis.database.schema.RUN_TABLES", ("step_stats", "no_such_table"))
    with pytest.raises(KeyError):
        load(results)
    assert [row["session_id"] for row in ask(results, "FROM sessions")] == ["a"]
    assert [row["session_id"] for row in ask(results, "FROM runs")] == ["a", "a"]
