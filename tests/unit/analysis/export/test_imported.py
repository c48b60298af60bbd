"""bench export of timings from elsewhere, which have no steps, no device, no examples: nothing breaks on nulls."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group

PUBLISHED = Path(__file__).parents[4] / "docs/examples/published_table.txt"


def write_sessions(results: Path) -> None:
    _call(results, "import", str(PUBLISHED), "--suite", "published", "--session", "P", "--no-load")


def _call(results: Path, *arguments: str) -> str:
    done = CliRunner().invoke(group, [*arguments, "--results", str(results)])
    assert done.exit_code == 0, done.exception
    return done.stdout


@pytest.fixture(scope="module")
def run(shared):
    return functools.partial(_call, shared)


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("markdown", "| `published` | 8 | 2 | 0.0175 | 6.34 | 79.3 % | one repeat |"),
        ("latex", r"\texttt{published} & 8 & 2 & 0.0175 & 6.34 & 79.3 \% & one repeat \\"),
    ],
)
def test_tables_have_what_is_known(run, form, row):
    written = run("export", "P", "--format", form)
    assert row in " ".join(written.split())
    assert "session" in written.splitlines()[-1] or form == "latex"
    assert "None" not in written


def test_rows_have_nulls_and_the_published_figures(run):
    rows = json.loads(run("export", "P", "--format", "json"))
    assert [(row["device_name"], row["step_ms"]) for row in rows] == [(None, None)] * 3
    assert [round(row["speedup"], 2) for row in rows] == [1.0, 3.81, 6.34]
    assert len(run("export", "P", "--format", "csv").splitlines()) == 4


def test_charts_are_those_that_whole_runs_have(run, tmp_path):
    run("export", "P", "--format", "svg", "--out", str(tmp_path))
    names = {path.stem for path in tmp_path.iterdir()}
    assert {"speedup", "efficiency", "throughput"} <= names
    assert not names & {"phases", "loss", "step_time_by_rank"}
    assert "Ring: across several nodes." in (tmp_path / "speedup.svg").read_text()
