"""The Tab key in real interactive shells, set up by the lines of docs/commands.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terminals import Terminal

ROOT = Path(__file__).parents[2]
# Only the shell's completion asks bench; a line that was entered leaves its words.
PROGRAM = f"""#!/bin/bash
if [ -n "$_BENCH_COMPLETE" ]; then exec {sys.executable} -m bench "$@"; fi
printf '%s\\n' "$@" >words.new && mv words.new words
"""
SETUP = {
    shell: (file, line.replace("\\|", "|"))
    for shell, file, line in re.findall(
        r"^\| (bash|zsh|fish)[^|]*\| `~/([^`]+)` \| `(.+)` \|$",
        (ROOT / "docs/commands.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
}
"""Shell -> its start file and the line for it."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with `bench` and a suite."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/mine.yaml").write_text("title: My own suite\n")
    program = tmp_path / "bin/bench"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("keys", "words"), [("bench ru\t", ["run"]), ("bench suite mi\t--quick", ["suite", "mine", "--quick"])]
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab_completes_a_command_and_a_suite(
    shell: str, keys: str, words: list[str], home: Path, require_program: Callable[[str], str]
) -> None:
    program = require_program(shell)
    file, line = SETUP[shell]
    start = home / file
    start.parent.mkdir(parents=True, exist_ok=True)
    start.write_text(f"{line}\n")
    kept = {
        name: text for name, text in os.environ.items() if not name.startswith(("BENCH_", "XDG_", "ZDOTDIR"))
    }
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**kept, "HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    with Terminal(100) as terminal:
        tty = terminal.stream.fileno()
        started = subprocess.Popen(
            ["setsid", "--ctty", program, "-i"], stdin=tty, stdout=tty, stderr=tty, cwd=home, env=environment
        )
        try:
            terminal.type(f"{keys}\rexit\r")
            started.wait(timeout=120)
        finally:
            started.kill()
            started.wait()
        shown = terminal.lines()
    assert (home / "words").exists(), shown
    assert (home / "words").read_text().splitlines() == words, shown
