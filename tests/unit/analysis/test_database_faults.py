"""results.duckdb on a full or read-only disk, interrupted or damaged: an error names it, and the files bring it
back."""

from __future__ import annotations

import random

import duckdb
import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.diagnosis import run_custom_rules
from analysis.errors import AnalysisError
from analysis.loading.load import load
from bench.cli.sql import command as sql
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)
ROWS = 72
FOLDER = 'a clock\'s "checksum" INTERNAL FATAL corrupt PID 7'
"""DuckDB's message quotes this name; its words say nothing about the state of the database."""


def rows(results):
    """Step rows in the database, by session."""
    found = ask(results, "SELECT session_id, count(*) AS n FROM steps GROUP BY session_id")
    return {row["session_id"]: row["n"] for row in found}


def test_a_load_without_room_names_the_file_and_the_next_one_has_every_row(disk):
    results = disk(FOLDER, "64m")
    make_session(results.folder, [CASE], session_id="a")
    results.fill()
    with pytest.raises(AnalysisError, match=r"results.duckdb: cannot be .*No space left on device"):
        load(results.folder)
    assert not (results.folder / "results.duckdb").exists()
    results.free()
    assert load(results.folder).step_rows == ROWS
    make_session(results.folder, [CASE], session_id="b")
    results.fill()
    with pytest.raises(AnalysisError, match=r"No space left on device.* The result files are safe: fix that"):
        load(results.folder)
    assert rows(results.folder) == {"a": ROWS}
    results.free()
    assert load(results.folder).sessions == 1
    assert rows(results.folder) == {"a": ROWS, "b": ROWS}


def test_a_read_only_folder_is_read_and_not_loaded(disk):
    results = disk(FOLDER, "64m")
    make_session(results.folder, [CASE], session_id="a")
    load(results.folder)
    results.mount("ro")
    assert rows(results.folder) == {"a": ROWS}
    with pytest.raises(
        AnalysisError, match=r"Read-only file system\. Copy the results folder to where you may write"
    ):
        load(results.folder)


def test_a_database_whose_first_load_was_killed_is_said_to_hold_nothing(tmp_path):
    duckdb.connect(tmp_path / "results.duckdb").close()
    with pytest.raises(
        AnalysisError, match=r"holds nothing, because its first load was interrupted: `bench load"
    ):
        connections.reader(tmp_path).__enter__()


@pytest.mark.parametrize("damage", ["head", "blocks"])
def test_a_damaged_database_is_named_and_made_anew_from_the_files(results, damage):
    folder = make_session(results, [CASE], session_id="a")
    load(results)
    path = results / "results.duckdb"
    raw = bytearray(path.read_bytes())
    for place in range(0, 12_288, 64) if damage == "head" else range(20_000, len(raw), 5_000):
        raw[place] ^= 1 << random.Random(place).randrange(8)
    path.write_bytes(raw)
    (folder / "session.json").touch()
    with pytest.raises(
        AnalysisError, match=r"not a database that this DuckDB .* Move it away; `bench load` rebuilds it"
    ):
        load(results)
    with pytest.raises(AnalysisError, match="Move it away"):
        connections.reader(results).__enter__()
    path.rename(results / "damaged")
    load(results)
    assert rows(results) == {"a": ROWS}


def test_rows_that_go_to_a_device_leave_it_a_device(results, tmp_path):
    make_session(results, [CASE], session_id="a")
    load(results)
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    call = ["FROM steps", "--results", str(results), "--out", str(device)]
    assert CliRunner().invoke(sql, call, standalone_mode=False).exit_code == 0
    assert device.is_char_device()


FORGED = {
    "history": "SELECT * FROM history_kept WHERE (SELECT count(*) FROM read_text('{other}')) > 0",
    "diagnosis_rules": "SELECT 'x' AS finding, content AS title, 'warning' AS severity, '' AS meaning, true AS is_own, "
    "'SELECT 1' AS definition, NULL AS problem, false AS is_due FROM read_text('{other}')",
}
"""Views in place of what a load asks of a database."""


@pytest.mark.parametrize("name", FORGED)
def test_a_database_that_somebody_sent_reads_no_other_file_while_it_is_loaded(tmp_path, name):
    results, other = tmp_path / "results", tmp_path / "other.txt"
    other.write_text("secret")
    make_session(results, [CASE], session_id="a")
    load(results)
    with duckdb.connect(results / "results.duckdb") as connection:
        kind = "VIEW" if name == "history" else "TABLE"
        connection.execute(f"ALTER {kind} {name} RENAME TO {name}_kept")
        connection.execute(f"CREATE VIEW {name} AS {FORGED[name].format(other=other)}")
        assert connection.execute(f"SELECT count(*) > 0 FROM {name}").fetchone() == (True,)
    assert run_custom_rules.remembered(results) == []
    make_session(results, [CASE], session_id="b")
    with pytest.raises(AnalysisError, match=r"not as scalebench made it\. Move it away"):
        load(results)
    (results / "results.duckdb").unlink()
    assert load(results).sessions == 2
