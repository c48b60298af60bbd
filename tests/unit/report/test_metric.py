"""The score of validation has the name that the workload gives it, wherever results are shown."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.report import write
from analysis.report.html.files import compare_name, page_name
from analysis.wording.metric import metric_of
from tests.factory import Case, make_session

HOSTILE = "<script>|`x`"


def case(name: str, metric: str | None, step_ms: float = 10.0) -> Case:
    sizes = {1: step_ms, 2: 6.0}
    return Case(name=name, step_ms=sizes, outcome={"metric": metric}, validate_every=4)


def write_sessions(results: Path) -> None:
    for name, cases in {
        "dice": [case("net", "Dice")],
        "later": [case("net", "Dice", 11.0)],
        "both": [case("net", "Dice"), case("other", None)],
        "odd": [case("net", HOSTILE)],
    }.items():
        make_session(results, cases, session_id=name, suite=f"metric {name}")


@pytest.fixture(scope="module")
def report(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of each session, and one that compares two."""
    folder: Path = tmp_path_factory.mktemp("report")
    write(shared, ["dice", "later"], folder, compare=True)
    write(shared, ["both", "odd"], folder)
    return folder


def run(command: str, *arguments: str, results: Path) -> str:
    from bench.cli import group

    done = CliRunner().invoke(group, [command, *arguments, "--results", str(results)])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("session", "name"), [("dice", "Dice"), ("both", "Dice or accuracy"), ("odd", "score")]
)
def test_page_summary_and_export_name_it(shared: Path, report: Path, session: str, name: str) -> None:
    page = html.unescape((report / page_name(session)).read_text())
    for said in (
        f"How fast does the validation {name} rise?",
        f"validation {name} (%)",
        f"best validation {name}",
    ):
        assert said in page
    assert f"best val {name}" in run("summary", session, "--wide", results=shared)
    assert "validation accuracy" not in page
    svg = run("export", session, "--format", "svg", "--chart", "validation_accuracy", results=shared)
    assert f"How fast does the validation {name} rise?" in svg


def test_a_comparison_names_it(report: Path) -> None:
    assert "validation Dice (%)" in (report / compare_name(["dice", "later"])).read_text()


def test_without_a_name_it_is_accuracy() -> None:
    assert metric_of([]) == metric_of([None, None]) == "accuracy"
    assert metric_of(["a", "b", "c", "d"]) == metric_of(["x" * 33]) == metric_of(["a  b"]) == "score"
