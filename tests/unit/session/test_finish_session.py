"""The last lines of a session that was stopped, or that the database cannot take in."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.loading.load import load
from bench.cli._finish_session import finish
from bench.session.result import SessionResult
from tests.factory import Case, make_session


def stopped(folder: Path, by: str) -> SessionResult:
    return SessionResult(
        session_id=folder.name,
        folder=folder,
        measured_by="suite",
        statuses={"ok": 2, "interrupted": 1, "skipped": 3, "not run": 12},
        stopped_by=128 + signal.SIGTERM,
        stopped_reason=f"stopped by {by}",
        left_for_time=3,
    )


@pytest.mark.parametrize("by", ["the file STOP", "SIGINT"])
def test_a_stopped_session_says_by_what_after_how_much_and_what_next(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert finish(stopped(tmp_path / "s", by), load=True, as_json=False) == 143
    said = capsys.readouterr().err
    assert said.startswith(f"stopped by {by} after 2 of 18 runs; everything measured is kept. Run `")
    assert f" load {tmp_path}` first: until then `bench summary` and `bench sql` answer without it. `" in said
    assert said.endswith(f" suite --resume s --results {tmp_path}` finishes the session.\n")


@pytest.mark.parametrize("kind", ["json", "txt"])
def test_in_a_batch_script_that_does_what_is_next_nothing_else_is_said(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    (tmp_path / f"slurm-job-7.{kind}").touch()
    assert finish(stopped(tmp_path, "the file STOP"), load=False, as_json=False) == 143
    assert (
        capsys.readouterr().err
        == "stopped by the file STOP after 2 of 18 runs; everything measured is kept.\n"
    )


HOLD = (
    "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); "
    "print('open', flush=True); sys.stdin.read()"
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder without sessions, and its database."""
    results = tmp_path_factory.mktemp("loaded")
    load(results)
    return results


@pytest.fixture
def held(loaded: Path, tmp_path: Path) -> Iterator[Path]:
    """A results folder whose database another process reads."""
    results = Path(shutil.copytree(loaded, tmp_path / "r"))
    command = [sys.executable, "-c", HOLD, str(results / "results.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"open\n"
        yield results
        holder.stdin.close()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_suite_whose_database_is_in_use_says_where_the_results_lie_and_what_loads_them(
    as_json: bool, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_session(held, [Case(name="ddp", step_ms={1: 20.0})], session_id="s")
    ended = SessionResult(session_id="s", folder=folder, measured_by="suite", statuses={"ok": 3})
    assert finish(ended, load=True, as_json=as_json) == 1
    out, err = capsys.readouterr()
    assert "in use by process" in err
    assert "repeat" not in err
    assert (
        f"the result files are complete; load them later with `{SessionResult.command('load', str(held))}`"
        in err
    )
    if as_json:
        answer = json.loads(out)
        assert (answer["exit_code"], answer["results"], "scaling" in answer) == (1, str(folder), False)
    else:
        assert out == f"results: {folder}\n"


def test_what_a_load_left_out_is_on_stderr_if_stdout_is_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_session(tmp_path, [Case(name="ddp", step_ms={1: 20.0})], session_id="s")
    file = next(folder.rglob("run.json"))
    run = json.loads(file.read_text())
    run["outcome"]["tokens_per_example"] = -7
    file.write_text(json.dumps(run))
    ended = SessionResult(session_id="s", folder=folder, measured_by="suite", statuses={"ok": 3})
    assert finish(ended, load=True, as_json=True) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["exit_code"] == 1
    assert err.startswith(
        f"left out: {file.relative_to(tmp_path)}: outcome.tokens_per_example is -7, not a number"
    )


def test_an_import_whose_database_is_in_use_is_made_once_all_the_same(held: Path) -> None:
    table = Path(__file__).parents[3] / "docs/examples/published_table.txt"
    done = CliRunner().invoke(
        import_module("bench.cli.import").command,
        [str(table), "--suite", "raven", "--session", "S", "--results", str(held)],
        standalone_mode=False,
    )
    assert (done.exception, done.return_value) == (None, 1)
    assert done.stdout == f"results: {held / 'S'}\n"
    assert "load them later with" in done.stderr
    assert (held / "S" / "session.json").is_file()
