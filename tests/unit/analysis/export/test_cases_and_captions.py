"""bench export --case and --caption, tokens/s, and the commit of the training code: what a paper needs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from analysis.errors import AnalysisError
from bench.cli.export import command
from tests.factory import Case, make_session
from tests.unit.analysis.export.conftest import MANY, ORDINARY

SVG = "{http://www.w3.org/2000/svg}"
CAPTION = "50 % of A_b & $x$ \\input{x}\n on *two* H200"
IN_LATEX = (
    r"\caption{50 \% of A\_b \& \texttt{\char36}x\texttt{\char36} \texttt{\char92}input\texttt{\char123}x"
    r"\texttt{\char125} on *two* H200}\label{tab:ordinary}"
)


def _texts(svg: bytes) -> str:
    return " ".join("".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))


TOKENS = Case(name="lm", step_ms={1: [400.0, 404.0, 396.0], 2: [200.0, 202.0, 198.0]}, tokens_per_example=128)
IMAGES = Case(name="cnn", step_ms={1: 400.0})
COMMIT = "0a1b2c3d4e5f"
SESSIONS = {
    "matrix": [
        Case(name=name, step_ms={1: 3.0}, steps=3) for name in ("a~precision=fp32", "a~precision=bf16", "b")
    ],
    "tokens": [TOKENS],
    "both": [TOKENS, IMAGES],
    "images": [IMAGES],
    "commit": [IMAGES],
    "planned": [Case(name="ran", step_ms={1: 3.0}), Case(name="not", step_ms={1: 3.0}, repeats=1)],
}


def write_sessions(results: Path) -> None:
    for name, cases in SESSIONS.items():
        facts = {"hostname": "n", "user_commit": COMMIT} if name == "commit" else None
        make_session(results, cases, session_id=name, suite=name, environment=facts and {"0": facts})
    (run,) = (results / "planned").glob("not.*")
    shutil.rmtree(run)


@pytest.fixture(scope="module")
def exported(shared: Path) -> Callable[..., Result]:
    """`exported("tokens", "--format", "csv")`: the command on one of SESSIONS."""

    def run_export(session: str, *arguments: str) -> Result:
        return CliRunner().invoke(command, [session, *arguments, "--results", str(shared)])

    return run_export


@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_are_those_of_the_chosen_cases_in_the_order_of_the_suite(export, form):
    def cases(*arguments):
        written = export(MANY, "--format", form, *arguments).stdout
        rows = json.loads(written) if form == "json" else list(csv.DictReader(io.StringIO(written)))
        return [row["case_name"] for row in rows]

    assert cases("--case", "case_60", "--case", "case_9") == ["case_9", "case_60"]
    assert cases("--case", "case_1?") == [f"case_1{last}" for last in range(10)]
    assert cases("--case", "case_60", "--view", "runs") == ["case_60"]


@pytest.mark.parametrize("view", ["steps", "run_summary", "planned_runs", "coverage", "samples"])
def test_any_view_has_only_the_rows_of_the_chosen_case(export, view):
    def rows(*arguments):
        return json.loads(export(ORDINARY, "--format", "json", "--view", view, *arguments).stdout)

    of_case = [
        row for row in rows() if row.get("case_name", row.get("run_id", "").partition(".")[0]) == "single"
    ]
    assert 0 < len(of_case) < len(rows())
    assert rows("--case", "single") == of_case


def test_a_case_that_was_planned_but_never_ran_keeps_its_row(exported):
    arguments = ["--format", "json", "--view", "coverage", "--case", "not"]
    (row,) = json.loads(exported("planned", *arguments).stdout)
    assert (row["case_name"], row["missing"]) == ("not", 1)


def test_where_no_chart_has_rows_it_is_said_and_nothing_is_written(exported, tmp_path):
    done = exported("planned", "--format", "svg", "--case", "not", "--out", str(tmp_path / "all"))
    assert isinstance(done.exception, AnalysisError)
    assert str(done.exception) == "session 'planned' has no data for any chart"
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_case_with_a_matrix_selects_all_combinations(exported):
    rows = json.loads(exported("matrix", "--format", "json", "--case", "a").stdout)
    assert [row["case_name"] for row in rows] == ["a~precision=fp32", "a~precision=bf16"]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_tables_reasons_and_sentence_are_of_the_chosen_cases(export, form):
    written = export(ORDINARY, "--format", form, "--case", "single").stdout
    assert "single" in written
    assert "ddp" not in written
    assert "nothing ran at a second size" in written
    assert "oom" not in written


def test_charts_are_of_the_chosen_cases_in_the_colours_of_the_whole_session(export, tmp_path):
    assert export(ORDINARY, "--format", "svg", "--case", "ddp", "--out", str(tmp_path)).exit_code == 0
    for path in tmp_path.iterdir():
        assert not re.search(r"\bsingle\b(?! repeat)", _texts(path.read_bytes())), path.name
    drawn = export(ORDINARY, "--format", "svg", "--chart", "speedup", "--case", "ddp").stdout
    whole = export(ORDINARY, "--format", "svg", "--chart", "speedup").stdout
    assert _stroke(drawn) == _stroke(whole)


def _stroke(svg: str) -> list[str]:
    return re.findall(r'<path aria-label="[^"]*ddp[^"]*"[^>]*stroke="(#\w+)"', svg)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "csv", "--case", "dpp"], "--case dpp: it matches no case; did you mean ddp?"),
        (
            ["--format", "svg", "--chart", "loss", "--case", "x" * 9],
            "it matches no case; there are ddp, single",
        ),
        (
            ["--format", "csv", "--view", "environment", "--case", "ddp"],
            "--case: the rows of environment have no case",
        ),
        (
            ["--format", "csv", "--caption", "a"],
            "--caption is for tables and pictures, not for csv",
        ),
        (
            ["--format", "json", "--caption", "a"],
            "--caption is for tables and pictures, not for json",
        ),
        (
            ["--format", "svg", "--out", "x", "--caption", "a"],
            "--caption is for one picture: name it with --chart",
        ),
        (["--format", "latex", "--caption", " \n"], "--caption is empty: give it a text, or leave it out"),
    ],
)
def test_a_wrong_choice_is_named_with_its_remedy(export, arguments, said):
    done = export(ORDINARY, *arguments)
    assert isinstance(done.exception, AnalysisError)
    assert done.exception.exit_code == 2
    assert said in str(done.exception)
    assert done.stdout == ""


def test_a_caption_in_latex_is_text_and_the_sentence_is_a_note(export):
    written = export(ORDINARY, "--format", "latex", "--caption", CAPTION).stdout
    assert IN_LATEX in written.splitlines()
    assert re.search(r"\\raggedright\n\\texttt\{ddp\} on 8 ranks is 6\.34 times as fast .*\\par\n", written)
    assert written.count("6.34 times as fast") == 1


def test_a_caption_of_a_long_table_is_text_too(export):
    written = export(MANY, "--format", "latex", "--caption", "70 % of_it").stdout
    assert r"\caption{70 \% of\_it}\label{tab:many}\\" in written.splitlines()


def test_a_caption_in_markdown_is_its_first_line_without_markup(export):
    lines = export(ORDINARY, "--format", "markdown", "--caption", CAPTION).stdout.splitlines()
    assert lines[0] == r"**50 % of A\_b \& \$x\$ \\input{x} on \*two\* H200**"
    assert any(line.startswith("- `ddp` on 8 ranks is 6.34 times as fast") for line in lines)


def test_a_caption_is_the_title_of_a_picture(export):
    written = export(ORDINARY, "--format", "svg", "--chart", "speedup", "--caption", CAPTION).stdout_bytes
    assert "50 % of A_b & $x$ \\input{x} on *two* H200" in _texts(written)
    title = ElementTree.fromstring(written).find(f"{SVG}title")
    assert title is not None
    assert title.text == "50 % of A_b & $x$ \\input{x} on *two* H200"


def test_a_long_caption_of_a_picture_is_wrapped_and_whole(export):
    caption = "words and " * 30
    plain, written = (
        ElementTree.fromstring(export(ORDINARY, "--format", "svg", "--chart", "speedup", *more).stdout_bytes)
        for more in ((), ("--caption", caption))
    )
    assert written.get("width") == plain.get("width")
    assert "".join(caption.split()) in "".join(_texts(ElementTree.tostring(written)).split())


@pytest.mark.parametrize(("form", "heading"), [("markdown", "| tokens/s |"), ("latex", "& tokens/s &")])
def test_a_session_of_text_shows_tokens_in_place_of_examples(exported, form, heading):
    written = exported("tokens", "--format", form).stdout
    assert heading in written
    assert "examples/s" not in written
    assert "20,481" in written  # 128 tokens x 64 / 0.4 s, the mean over repeats that vary


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_session_of_text_and_images_shows_both(exported, form):
    written = exported("both", "--format", form).stdout
    assert "examples/s" in written
    assert "tokens/s" in written


def test_without_tokens_there_is_no_column_of_tokens(exported):
    assert "tokens" not in exported("images", "--format", "markdown").stdout


def test_rows_have_examples_and_tokens(exported):
    rows = json.loads(exported("tokens", "--format", "json").stdout)
    assert [row["tokens_per_s"] / row["throughput"] for row in rows] == [128, 128]


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_the_source_names_the_commit_of_the_training_code(exported, form):
    written = exported("commit", "--format", form).stdout
    assert re.search(rf"commit of the training code [`\\a-z{{]*{COMMIT}", written)


def test_without_a_commit_the_source_names_none(exported):
    assert "training code" not in exported("images", "--format", "markdown").stdout
