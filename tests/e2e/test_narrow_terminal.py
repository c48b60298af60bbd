"""The real command line on a terminal of 80 columns: no line is wider, no word is broken, no two rows look alike."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from processes import BENCH
from rich.cells import cell_len

from tests.terminals import Terminal

SUITE = ("suite", "smoke", "--quick", "--world", "1,2,4,8,16", "--repeats", "2", "--ranks-per-node", "2")
PROGRESS = re.compile(r"\[ ?(\d+)/(\d+)\] (\S+) +ok +[\d.]+ s  loss [\d.e+-]+, \S+ ms")


def check(done: subprocess.CompletedProcess[str]) -> None:
    """`bench compare` may find a regression: the runs take milliseconds."""
    assert done.returncode in ((0, 3) if "compare" in done.args else (0,)), done


class Shell:
    """Calls `bench` in a folder, on a terminal or into a pipe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "BENCH_RESULTS", "NO_COLOR")
        } | {"TERM": "xterm-256color"}

    def on_terminal(self, *arguments: str, columns: int = 80) -> list[str]:
        with Terminal(columns) as terminal:
            done = subprocess.run(
                [*BENCH, *arguments], cwd=self._folder, env=self._environment, check=False,
                stdin=terminal.stream, stdout=terminal.stream, stderr=terminal.stream,
            )  # fmt: skip
            check(done)
            return terminal.lines()

    def into_a_pipe(self, *arguments: str) -> list[str]:
        done = subprocess.run(
            [*BENCH, *arguments],
            cwd=self._folder,
            env=self._environment,
            check=False,
            capture_output=True,
            text=True,
        )
        check(done)
        return done.stdout.splitlines()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("narrow"))


@pytest.fixture(scope="module")
def session(shell: Shell) -> list[str]:
    """All that a session prints."""
    return shell.on_terminal(*SUITE, "--session", "first")


def test_a_session_has_a_line_per_run_and_one_for_all_skipped_sizes(session: list[str]) -> None:
    found = [PROGRESS.match(line) for line in session if re.match(r"\[ ?\d+/", line)]
    runs = [match for match in found if match is not None]
    assert len(runs) == len(found) == 18  # five cases on one rank, four of them on two, twice each
    assert [int(match[1]) for match in runs] == list(range(1, 19))
    assert {match[2] for match in runs} == {"18"}
    assert len({match[3] for match in runs}) == 18
    skipped = [line for line in session if "skipped:" in line and not re.match(r".* and \d+ more", line)]
    assert skipped == ["12 sizes skipped: they need more than 2 slots; --oversubscribe runs them"]


def test_a_sessions_table_fits_and_no_two_rows_look_alike(session: list[str]) -> None:
    assert max(map(cell_len, session)) <= 80
    (heading,) = [place for place, line in enumerate(session) if line.startswith("case ")]
    assert re.split(r"  +", re.sub(r" (%|\[95 %\])", "", session[heading])) == [
        "case", "ranks", "examples/s", "speedup", "efficiency", "verdict",
    ]  # fmt: skip
    rows = [
        tuple(line.split()[:2])
        for line in session[heading + 2 : heading + 40]
        if re.match(r"\w+ +\d+  ", line)
    ]
    assert len(rows) == len(set(rows)) == 9


def test_commands_keep_within_80_columns(shell: Shell, session: list[str]) -> None:
    for arguments in [
        ("summary",),
        ("summary", "--wide", "--runs"),
        ("show", "smoke", "--world", "1,2,4,8,16"),
        ("show", "comm_options"),
        ("suite", "smoke", "--dry-run"),
        ("list",),
        ("history",),
        ("compare", "first:ddp_strong", "first:ddp_weak"),
        ("sql", "FROM scaling"),
        ("sql", "FROM diagnosis"),
    ]:
        lines = shell.on_terminal(*arguments)
        assert max(map(cell_len, lines)) <= 80, arguments


def test_no_word_is_broken(shell: Shell, session: list[str]) -> None:
    for arguments in [
        ("summary", "--wide", "--runs"),
        ("list",),
        ("history",),
        ("compare", "first:ddp_strong", "first:ddp_weak"),
        ("sql", "FROM diagnosis", "--full", "--rows", "3"),
    ]:
        words = {word for line in shell.on_terminal(*arguments) for word in line.split()}
        whole = {word for line in shell.into_a_pipe(*arguments) for word in line.split()}
        assert {word for word in words - whole if set(word) - set("\\─-")} <= {"row"} | set("0123456789"), (
            arguments
        )


def test_a_wider_terminal_shows_more_of_a_query(shell: Shell, session: list[str]) -> None:
    narrow = shell.on_terminal("sql", "FROM scaling")
    wide = shell.on_terminal("sql", "FROM scaling", columns=160)
    assert len(narrow[0].split()) < len(wide[0].split())
    assert re.search(r"\d+ more columns are not shown: --full shows all\)", "\n".join(narrow))
    assert len(shell.into_a_pipe("sql", "FROM scaling")[0].split()) > 70
