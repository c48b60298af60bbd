"""Commands in the documents, and the example files that they tell a reader to save."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
_INLINE = re.compile(
    r"`((?:time |python |\.venv/bin/\w+ |bench )[^`\n]+|ci/(?:quickstart|test|docs)(?: [^`\n]+)?)`"
)
_SAVED = re.compile(r"[Ss]ave\s[^`]*`([\w./-]+)`|the chart as `([\w./-]+)`")


def shown_commands() -> list[str]:
    """Every distinct command from a console block or from code in a line, in the order of the pages."""
    found: dict[str, None] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language, block in _FENCE.findall(text):
            if language == "console":
                found |= dict.fromkeys(_typed(block))
        found |= dict.fromkeys(_INLINE.findall(_FENCE.sub("", text)))
    return list(found)


def _typed(block: str) -> Iterator[str]:
    """Text after each prompt, with the lines below while a quote is open or a backslash ends them."""
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line.removeprefix("$ ")
            while not _complete(command):
                command += "\n" + next(lines)
            yield command


def _complete(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")


def needs_a_cluster(command: str) -> bool:
    """Whether it calls Slurm or Apptainer."""
    return re.search(r"\b(apptainer|sbatch)\b|--launcher srun", command) is not None


def saved_examples(page: Path) -> dict[str, str]:
    """Path -> text of every fenced block that the sentence before it says to save."""
    found = {}
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.finditer(text):
        before = text[: block.start()].rstrip().rsplit("\n\n", 1)[-1].rsplit("```", 1)[-1]
        names = [one or other for one, other in _SAVED.findall(before)]
        if names:
            found[names[-1]] = block[2]
    return found


def copy_of_the_checkout(folder: Path) -> None:
    """Copy its present files, with what Python has compiled of them and without .git; link the environment."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, folder / name
        if source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            if source.suffix == ".py":
                _copy_compiled(source, target)
    (folder / ".venv").symlink_to(ROOT / ".venv")


def _copy_compiled(source: Path, target: Path) -> None:
    """It is valid for the copy, too, if that has the time of the source."""
    compiled, copy = Path(cache_from_source(str(source))), Path(cache_from_source(str(target)))
    if compiled.exists():
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(compiled, copy)
