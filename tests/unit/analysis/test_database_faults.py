"""results.duckdb on a full or read-only disk, interrupted or damaged: an error names it, and the files bring it
back."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

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

CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=1)
ROWS = 36
FOLDER = 'a clock\'s "checksum" INTERNAL FATAL corrupt PID 7'
"""DuckDB's message quotes this name; its words say nothing about the state of the database."""


@pytest.fixture
def results(loaded, tmp_path):
    return Path(shutil.copytree(loaded, tmp_path / "results"))


def rows(results):
    """Step rows in the database, by session."""
    found = ask(results, "SELECT session_id, count(*) AS n FROM steps GROUP BY session_id")
    return {row["session_id"]: row["n"] for row in found}


@pytest.mark.usefixtures("without_rules")
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


def test_a_read_only_folder_is_read_and_not_loaded(disk, loaded):
    results = disk(FOLDER, "64m")
    shutil.copytree(loaded, results.folder, dirs_exist_ok=True)
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


@pytest.mark.usefixtures("without_rules")
def test_a_damaged_database_is_named_and_made_anew_from_the_files(results):
    path = results / "results.duckdb"
    sound = path.read_bytes()
    (results / "a" / "session.json").touch()
    for places in (range(0, 12_288, 64), range(20_000, len(sound), 5_000)):
        raw = bytearray(sound)
        for place in places:
            raw[place] ^= 1 << random.Random(place).randrange(8)
        path.write_bytes(raw)
        with pytest.raises(
            AnalysisError, match=r"not a database that this DuckDB .* Move it away; `bench load` rebuilds it"
        ):
            load(results)
        with pytest.raises(AnalysisError, match="Move it away"):
            connections.reader(results).__enter__()
    path.rename(results / "damaged")
    load(results)
    assert rows(results) == {"a": ROWS}


def test_rows_that_go_to_a_device_leave_it_a_device(loaded, tmp_path):
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    call = ["FROM steps", "--results", str(loaded), "--out", str(device)]
    assert CliRunner().invoke(sql, call, standalone_mode=False).exit_code == 0
    assert device.is_char_device()


FORGED = {
    "history": "SELECT * FROM history_kept WHERE (SELECT count(*) FROM read_text('{other}')) > 0",
    "diagnosis_rules": "SELECT 'x' AS finding, content AS title, 'warning' AS severity, '' AS meaning, "
    "true AS is_custom, 'SELECT 1' AS definition, NULL AS problem, false AS is_due FROM read_text('{other}')",
}
"""Views in place of what a load asks of a database."""


def test_a_database_that_somebody_sent_reads_no_other_file_while_it_is_loaded(results, tmp_path):
    path, other = results / "results.duckdb", tmp_path / "other.txt"
    sound = path.read_bytes()
    other.write_text("secret")
    make_session(results, [CASE], session_id="b")
    for name, forged in FORGED.items():
        path.write_bytes(sound)
        with duckdb.connect(path) as connection:
            kind = "VIEW" if name == "history" else "TABLE"
            connection.execute(f"ALTER {kind} {name} RENAME TO {name}_kept")
            connection.execute(f"CREATE VIEW {name} AS {forged.format(other=other)}")
            assert connection.execute(f"SELECT count(*) > 0 FROM {name}").fetchone() == (True,)
        assert run_custom_rules.remembered(results) == []
        with pytest.raises(AnalysisError, match=r"not as scalebench made it\. Move it away"):
            load(results)
