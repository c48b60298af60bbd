"""bench export --format csv and json: every digit of any view, nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import polars as pl
import pytest

from analysis.errors import AnalysisError
from tests.unit.analysis.conftest import ask
from tests.unit.analysis.export.conftest import FAILURES, HOSTILE, MANY, NAMES, ORDINARY

FIGURES = (
    "throughput",
    "throughput_lo",
    "speedup",
    "efficiency_hi",
    "karp_flatt",
    "step_ms_std",
    "elapsed_s",
)


def _by_place(rows):
    return {(row["case_name"], row["workers"]): row for row in rows}


def test_csv_read_again_is_the_view_bit_for_bit(export, results):
    written = export(ORDINARY, "--format", "csv").stdout_bytes
    view = _by_place(ask(results, f"FROM scaling WHERE session_id = '{ORDINARY}'"))
    read = pl.read_csv(io.BytesIO(written), infer_schema_length=None)
    assert set(next(iter(view.values()))) <= set(read.columns)
    again = _by_place(read.to_dicts())
    assert again.keys() == view.keys()
    for place, row in view.items():
        assert {name: again[place][name] for name in FIGURES} == {name: row[name] for name in FIGURES}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_stand_in_the_order_of_the_suite(export, form):
    written = export(ORDINARY, "--format", form).stdout
    rows = json.loads(written) if form == "json" else csv.DictReader(io.StringIO(written))
    assert [(row["case_name"], int(row["workers"])) for row in rows] == [
        ("single", 1),
        ("ddp", 1),
        ("ddp", 4),
        ("ddp", 8),
    ]


def test_csv_is_as_rfc_4180_says(export):
    lines = export(HOSTILE, "--format", "csv").stdout_bytes.split(b"\r\n")
    assert lines[-1] == b""
    assert b",throughput," in lines[0]
    read = list(csv.reader(io.StringIO("\n".join(line.decode() for line in lines[:-1]))))
    assert {len(row) for row in read} == {len(read[0])}


def test_text_that_a_spreadsheet_would_run_has_an_apostrophe_and_numbers_have_none(export):
    rows = list(
        csv.DictReader(io.StringIO(export(HOSTILE, "--format", "csv").stdout_bytes.decode(), newline=""))
    )
    guarded = {name: f"'{name}" if name[0] in "=+-@" else name for name in NAMES}
    assert {row["case_name"] for row in rows} == set(guarded.values())
    assert float(rows[1]["karp_flatt"]) > 0
    losses = export(ORDINARY, "--format", "csv", "--view", "scaling").stdout
    assert "'" not in losses


def test_json_has_every_name_and_no_constant_that_json_lacks(export, results):
    def refuse(constant):
        raise AssertionError(constant)

    rows = json.loads(export(HOSTILE, "--format", "json").stdout_bytes, parse_constant=refuse)
    assert {row["case_name"] for row in rows} == set(NAMES)
    view = _by_place(ask(results, "FROM scaling"))
    row = next(row for row in rows if row["workers"] == 2)
    assert row["speedup_lo"] == view[row["case_name"], 2]["speedup_lo"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_session_of_failures_has_its_rows_with_reasons(export, form):
    written = export(FAILURES, "--format", form).stdout
    rows = json.loads(written) if form == "json" else list(csv.DictReader(io.StringIO(written)))
    assert [row["reasons"] for row in rows] == ["RuntimeError: broken", "CUDA out of memory"]
    assert [row["throughput"] or None for row in rows] == [None, None]


@pytest.mark.parametrize("view", ["steps", "run_summary", "coverage", "environment"])
def test_any_table_or_view_can_be_had_of_one_session(export, results, view):
    rows = json.loads(export(ORDINARY, "--format", "json", "--view", view).stdout)
    assert {row["session_id"] for row in rows} == {ORDINARY}
    (count,) = ask(results, f"SELECT count(*) AS n FROM {view} WHERE session_id = '{ORDINARY}'")
    assert len(rows) == count["n"]
    assert export(ORDINARY, "--format", "json", "--table", view).stdout_bytes == (
        export(ORDINARY, "--format", "json", "--view", view).stdout_bytes
    )


def test_structures_are_json_in_a_csv_cell(export):
    written = export(ORDINARY, "--format", "csv", "--view", "runs").stdout
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [json.loads(row["config"])["case_name"] for row in rows] == [row["case_name"] for row in rows]
    assert {row["tags"] for row in rows} == {"[]"}


def test_many_cases_are_as_many_rows(export):
    assert len(json.loads(export(MANY, "--format", "json").stdout)) == 70


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ordinry", "--format", "csv"], "no session 'ordinry': did you mean ordinary"),
        (
            ["--format", "csv", "--view", "scalin"],
            "no table or view 'scalin' of sessions: there are ",
        ),
        (["--format", "json", "--view", 'x" UNION'], "no table or view 'x\" UNION' of sessions"),
        (["--format", "json", "--view", "device_peaks"], "no table or view 'device_peaks' of sessions"),
        (["--format", "latex", "--view", "steps"], "--view is for csv and json, not for latex"),
        (["--format", "csv", "--chart", "speedup"], "--chart is for pdf, png and svg, not for csv"),
    ],
)
def test_what_does_not_exist_is_said_with_what_there_is(export, arguments, said):
    done = export(*arguments)
    assert isinstance(done.exception, AnalysisError)
    assert done.exception.exit_code == 2
    assert said in str(done.exception)


def test_an_unknown_format_is_named_with_all_there_are(export):
    done = export("--format", "excel")
    assert done.exit_code == 2
    assert "'excel' is not one of csv, json, latex, markdown, pdf, png, svg" in done.output


def test_a_file_is_whole_or_not_there(export, tmp_path):
    out = tmp_path / "summary.csv"
    assert export("--format", "csv", "--out", str(out)).stdout == f"{out}\n"
    assert out.read_bytes() == export("--format", "csv").stdout_bytes
    export("--format", "csv", "--view", "nothing", "--out", str(out))
    assert out.read_bytes() == export("--format", "csv").stdout_bytes
    assert [path.name for path in tmp_path.iterdir()] == ["summary.csv"]


def test_a_reader_who_has_enough_ends_the_command_quietly(results):
    command = [sys.executable, "-m", "bench", "export", ORDINARY, "--format", "csv", "--view", "steps"]
    with subprocess.Popen(
        [*command, "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pipesize=4096,  # less than the command writes
    ) as running:
        assert running.stdout.readline().startswith(b"session_id,run_id,")
        running.stdout.close()
        assert running.stderr.read() == b""


def test_a_folder_is_no_file(export, tmp_path):
    done = export("--format", "csv", "--out", str(tmp_path))
    assert "is a folder: name a file in it" in str(done.exception)


def test_a_file_is_no_folder(export, tmp_path):
    (tmp_path / "notes").write_text("mine")
    done = export("--format", "csv", "--out", str(tmp_path / "notes/x.csv"))
    assert str(done.exception) == f"--out {tmp_path}/notes/x.csv: Not a directory: choose another place"
