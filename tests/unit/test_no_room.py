"""If the disk becomes full while a command writes a file for its user, the file is whole or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.loading.load import load
from bench.cli import run_command
from tests.disks import Disk
from tests.factory import Case, make_session

PUBLISHED = Path(__file__).parents[2] / "docs/examples/published_table.txt"
ROOM_BYTES = 4096
"""Free space: enough for the beginning of each file."""


def bench(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of a `bench` with these arguments."""
    monkeypatch.setattr(sys, "argv", ["bench", *map(str, arguments)])
    return run_command()


def files(folder: Path) -> dict[str, bytes | None]:
    """Everything in it, by path."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


def test_what_there_is_no_room_for_is_not_half_written(
    tmp_path: Path,
    disk: Callable[[str, str], Disk],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "source"
    make_session(source, [Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)], session_id="a")
    load(source)
    small = disk("full", "256k")
    full = small.folder
    for folder in ("pages", "r"):
        (full / folder).mkdir()
    for name in ("rows.csv", "steps.json", "pages/a.html"):
        (full / name).write_text("earlier\n")
    query = ("sql", "FROM steps", "--format", "csv", "--out", full / "rows.csv")
    export = ("export", "a", "--format")
    commands: dict[str, tuple[object, ...]] = {
        "rows": (*query, "--results", source),
        "rows of files": (*query, "--direct", "--results", source),
        "table": (*export, "json", "--view", "steps", "--out", full / "steps.json", "--results", source),
        "picture": (*export, "svg", "--chart", "throughput", "--out", full / "t.svg", "--results", source),
        "page": ("report", "a", "--out", full / "pages", "--results", source),
        "imported": ("import", PUBLISHED, "--suite", "s", "--no-load", "--results", full / "r"),
    }
    small.fill()
    os.truncate(full / "filling", (full / "filling").stat().st_size - ROOM_BYTES)
    before = files(full)
    for what, command in commands.items():
        capfd.readouterr()
        assert bench(monkeypatch, *command) == 2, what
        said = capfd.readouterr()
        assert all(words in said.err for words in ("No space left on device", str(full), "another")), (
            what,
            said,
        )
        assert said.out == ""
        assert files(full) == before, what
