"""Apptainer's recipe as text; the cluster tests build it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELL = ("post", "environment", "runscript", "test")


def _sections() -> dict[str, str]:
    """By name; `` has the lines before the first one."""
    _, *found = re.split(r"^%(?=\w)", (ROOT / "apptainer.def").read_text(), flags=re.MULTILINE)
    return dict(section.split("\n", 1) for section in found)


def _filled(section: str) -> str:
    """The section with the defaults of the arguments. Apptainer refuses one that has none."""
    found = _sections()
    defaults = dict(line.strip().split("=", 1) for line in found["arguments"].split("\n") if line.strip())
    return re.sub(r"\{\{ (\w+) \}\}", lambda name: defaults[name[1]], found[section])


def test_every_part_is_there_and_every_program_is_sh() -> None:
    assert _sections().keys() == {"arguments", "files", "labels", "help", *SHELL}
    for section in SHELL:
        parsed = subprocess.run(
            ["sh", "-n"], input=_filled(section), text=True, capture_output=True, check=False
        )
        assert parsed.returncode == 0, parsed.stderr
    _filled("labels")


def test_every_file_that_is_copied_exists() -> None:
    copied = [line.split()[0] for line in _sections()["files"].splitlines() if line.strip()]
    assert [path for path in copied if not (ROOT / path).exists()] == []
