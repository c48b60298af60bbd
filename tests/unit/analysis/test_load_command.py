"""bench load, through the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from bench.cli.load import command
from bench.common.errors import InputError
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0}, repeats=1)


def test_a_load_prints_what_it_did_and_exits_with_0(results):
    make_session(results, [CASE])
    done = CliRunner().invoke(command, [str(results)], standalone_mode=False)
    assert (done.exit_code, done.return_value) == (0, 0)
    assert done.output == f"1 session, 1 run, 12 step rows loaded into {results}/results.duckdb\n"


def test_a_bad_file_is_printed_and_the_exit_code_is_1(results):
    folder = make_session(results, [CASE])
    (folder / "ddp.1x1.r0" / "evals.parquet").write_bytes(b"PAR1")
    done = CliRunner().invoke(command, ["--results", str(results)], standalone_mode=False)
    assert done.return_value == 1
    assert f"left out: {folder.name}/ddp.1x1.r0/evals.parquet: not a complete Parquet file" in done.output
    assert ask(results, "SELECT count(*) AS n FROM steps") == [{"n": 12}]


def test_a_session_in_place_of_the_results_folder_is_refused_and_left_as_it_is(results):
    folder = make_session(results, [CASE])
    before = sorted(folder.rglob("*"))
    with pytest.raises(
        InputError, match=f"this is a session, not a results folder: give its parent, {results}"
    ):
        CliRunner().invoke(command, [str(folder)], standalone_mode=False, catch_exceptions=False)
    assert sorted(folder.rglob("*")) == before


def test_what_a_terminal_would_obey_in_a_name_is_printed_as_text(results):
    folder = make_session(results, [CASE], session_id="x\x1b[2J")
    (folder / "ddp.1x1.r0" / "evals.parquet").write_bytes(b"PAR1")
    done = CliRunner().invoke(command, ["--results", str(results)], standalone_mode=False, color=True)
    assert "\nleft out: x\\x1b[2J/ddp.1x1.r0/evals.parquet: " in done.output
