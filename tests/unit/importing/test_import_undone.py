"""A refused, failed or killed bench import leaves nothing behind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench.common.errors import InputError
from tests.unit.importing.conftest import TABLE, Take, ask, imported


def test_a_name_that_is_taken_is_refused(take: Take, tmp_path: Path) -> None:
    imported(take, str(TABLE), "--suite", "raven", "--session", "S", "--no-load")
    before = sorted(path for path in (tmp_path / "r").rglob("*"))
    done = take(str(TABLE), "--suite", "raven", "--session", "S")
    assert str(done.exception) == (
        f"session S exists in {tmp_path}/r: choose another --session, or leave it out for a new one"
    )
    assert sorted(path for path in (tmp_path / "r").rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--suite", "../up"], "--suite '../up' is not a suite's name: letters"),
        (["--suite", "s", "--session", "../up"], "session '../up' is not a valid session name"),
        (["--suite", "s", "--session", ""], "session '' is not a valid session name"),
        (["--suite", "s", "--case", "A b"], "--case 'A b' is not a case name"),
        (["--suite", "s", "--strategy", "a\nb"], r"--strategy 'a\nb' is not a name"),
        (["--suite", "s", "--tag", " "], "--tag is empty"),
        (["--suite", "s", "--world", "4"], "--world: a table already says that"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(
    take: Take, tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = take(str(TABLE), *arguments)
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(said)
    assert not (tmp_path / "r").exists()


def test_a_bad_file_leaves_nothing_behind(take: Take, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text(TABLE.read_text() + "123459  16 GPUs  16  2  fast  -  -  -\n")
    done = take(str(bad), "--suite", "raven")
    assert str(done.exception) == (
        "bad.txt: 1 problem, nothing was imported:\n  line 6, column Time (s): 'fast' is not a number"
    )
    assert not (tmp_path / "r").exists()


def test_a_disk_that_cannot_be_written_leaves_nothing_behind(take: Take, tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a file, no folder")
    done = take(str(TABLE), "--suite", "raven")
    assert isinstance(done.exception, InputError)
    assert "results cannot be written" in str(done.exception)
    assert (tmp_path / "r").read_text() == "a file, no folder"


def test_a_folder_that_is_still_being_made_is_no_session(take: Take, tmp_path: Path) -> None:
    imported(take, str(TABLE), "--suite", "raven", "--session", "S", "--no-load")
    shutil.copytree(tmp_path / "r/S", tmp_path / "r/.import-x")
    done = imported(take, str(TABLE), "--suite", "raven", "--session", "T")
    assert "left out" not in done.output
    assert ask(tmp_path / "r", "SELECT session_id FROM sessions ORDER BY 1") == [("S",), ("T",)]


def test_what_a_killed_import_left_goes_away_after_a_day(take: Take, tmp_path: Path) -> None:
    old, new = tmp_path / "r/.import-old", tmp_path / "r/.import-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    imported(take, str(TABLE), "--suite", "raven", "--no-load")
    assert not old.exists()
    assert new.exists()
