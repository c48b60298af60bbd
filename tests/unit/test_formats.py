"""--format json, and --json for short, of every command that prints facts; the format of a file from its name."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from bench.cli import group
from bench.common.errors import InputError

CALLS = {
    "compare": ["old-x", "mid-x"],
    "doctor": [],
    "findings": [],
    "history": ["smoke"],
    "list": [],
    "losses": [],
    "predict": ["smoke", "--quick"],
    "reference": ["list"],
    "run": ["--dry-run", "--world", "1", "--", "python", "--version"],
    "sessions": [],
    "show": ["smoke", "--quick"],
    "slow-ranks": [],
    "sql": ["FROM scaling"],
    "suite": ["smoke", "--quick", "--dry-run"],
    "summary": ["@-1"],
}
IMPORT_TORCH = {"doctor", "predict"}
"""One call is enough, because each imports torch; tests/e2e reads their text."""
PRINT_NO_FACTS = {"batch", "export", "import", "load", "report", "schema"}


def call(results: Path, name: str, *words: str) -> Result:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    place = ["--results", str(results)] if any(one.name == "results" for one in command.params) else []
    return CliRunner().invoke(group, [name, *place, *words], prog_name="bench")


@pytest.mark.parametrize("name", sorted({*group.list_commands(click.Context(group))} - PRINT_NO_FACTS))
def test_json_is_short_for_format_json(name: str, three_days: Path) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    default, short, long = (
        command.make_context(name, [*option, *CALLS[name]]).params
        for option in ([], ["--json"], ["--format", "json"])
    )
    assert short == long
    assert default["form"] != short["form"] == "json"
    assert isinstance(json.loads(call(three_days, name, "--json", *CALLS[name]).stdout), list | dict)
    if name in IMPORT_TORCH:
        return
    said = call(three_days, name, *CALLS[name]).stdout
    assert said
    with pytest.raises(ValueError, match=r"Expecting|Extra"):
        json.loads(said)


def test_the_history_as_csv_has_a_row_for_each_case_and_session(three_days: Path) -> None:
    rows = list(csv.DictReader(call(three_days, "history", "smoke", "--format", "csv").stdout.splitlines()))
    assert [(row["session_id"], row["placement"]) for row in rows] == [
        (session, placement) for placement in ("1x1", "1x2") for session in ("old-x", "mid-x", "new-x")
    ]


@pytest.mark.parametrize(
    ("name", "form"),
    [("t.csv", "csv"), ("t.tex", "latex"), ("t.MD", "markdown"), ("t.json", "json")],
)
def test_the_ending_of_a_file_is_its_format(name: str, form: str, three_days: Path, tmp_path: Path) -> None:
    done = call(three_days, "export", "old-x", "--out", str(tmp_path / name))
    assert done.exit_code == 0, done.exception
    assert (tmp_path / name).read_text() == call(three_days, "export", "old-x", "--format", form).stdout


@pytest.mark.parametrize("words", [["--out", "table"], []])
def test_without_a_known_ending_the_formats_are_listed(words: list[str], three_days: Path) -> None:
    done = call(three_days, "export", *words)
    assert isinstance(done.exception, InputError)
    assert "give --format csv|json|latex" in str(done.exception)
