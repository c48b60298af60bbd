"""bench load, through the command line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli._output import tell_unloaded
from bench.cli.load import command
from bench.common.errors import InputError
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0}, repeats=1)


@pytest.fixture(scope="module")
def good(tmp_path_factory, empty) -> tuple[Path, Result]:
    """A results folder, and the outcome of the command that loaded it."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("good") / "results"))
    make_session(results, [CASE], session_id="good")
    return results, CliRunner().invoke(command, [str(results)], standalone_mode=False)


@pytest.fixture(scope="module")
def bad(tmp_path_factory, good) -> tuple[Path, Result]:
    """The same with bad files, in colour."""
    results = Path(shutil.copytree(good[0], tmp_path_factory.mktemp("bad") / "results"))
    for name in ("bad", "x\x1b[2J"):
        folder = make_session(results, [CASE], session_id=name)
        (folder / "ddp.1x1.r0" / "evals.parquet").write_bytes(b"PAR1")
    arguments = ["--results", str(results)]
    return results, CliRunner().invoke(command, arguments, standalone_mode=False, color=True)


def test_a_load_prints_what_it_did_and_exits_with_0(good):
    results, done = good
    assert (done.exit_code, done.return_value) == (0, 0)
    assert done.output == f"1 session, 1 run, 12 step rows loaded into {results}/results.duckdb\n"


def test_a_bad_file_is_printed_and_the_exit_code_is_1(bad):
    results, done = bad
    assert done.return_value == 1
    assert "left out: bad/ddp.1x1.r0/evals.parquet: not a complete Parquet file" in done.output
    assert ask(results, "SELECT count(*) AS n FROM steps WHERE session_id = 'bad'") == [{"n": 12}]


def test_what_a_terminal_would_obey_in_a_name_is_printed_as_text(bad):
    _, done = bad
    assert "\nleft out: x\\x1b[2J/ddp.1x1.r0/evals.parquet: " in done.output


def test_a_session_in_place_of_the_results_folder_is_refused_and_left_as_it_is(results):
    folder = make_session(results, [CASE])
    before = sorted(folder.rglob("*"))
    with pytest.raises(
        InputError, match=f"this is a session, not a results folder: give its parent, {results}"
    ):
        CliRunner().invoke(command, [str(folder)], standalone_mode=False, catch_exceptions=False)
    assert sorted(folder.rglob("*")) == before


def test_an_archive_in_place_of_sessions_is_named_with_the_command_that_unpacks_it(tmp_path):
    (tmp_path / "A.tar.gz").touch()
    done = CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False)
    unpack = f"`tar -xzf {tmp_path}/A.tar.gz -C {tmp_path}`"
    assert f"\n{tmp_path}/A.tar.gz is an archive: unpack it with {unpack}, then load again\n" in done.output
    make_session(tmp_path, [CASE], session_id="A")
    assert "is an archive" not in CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False).output


def test_a_query_names_sessions_that_are_newer_than_the_database(results, capsys):
    make_session(results, [CASE], session_id="old")
    CliRunner().invoke(command, [str(results)], standalone_mode=False)
    tell_unloaded(results)
    assert capsys.readouterr().err == ""
    head = make_session(results, [CASE], session_id="stopped") / "session.json"
    loaded_ns = (results / "results.duckdb").stat().st_mtime_ns
    os.utime(head, ns=(loaded_ns + 1, loaded_ns + 1))
    tell_unloaded(results)
    load = f"`bench load {results}`"
    assert capsys.readouterr().err == f"bench: stopped is newer than the database: run {load} first\n"
