"""Find suite files, by name and all; light enough for `bench list`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.common.paths import suites_folder
from bench.suite.yaml_nodes import MAX_BYTES

_ENDINGS = (".yaml", ".yml")
SUITE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
OF_A_NAME = "letters, digits, '_', '.' and '-', 80 at most"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A suite as `bench list` shows it."""

    name: str
    path: Path

    @property
    def title(self) -> str:
        """Its `title:` as written. The rest of the file is not checked: that would make listing slow."""
        try:
            with self.path.open(encoding="utf-8-sig") as text:
                return _title(text.read(MAX_BYTES)) or "(no title)"
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return "(cannot be read; `bench show` says why)"


def find(name: str) -> Path:
    """The file of a suite: FILE itself, else ./suites/NAME.yaml, else the shipped suite NAME.

    Raises InputError with the nearest name if there is none."""
    path = Path(name)
    if path.suffix in _ENDINGS or "/" in name:
        if not path.is_file():
            raise InputError(f"{name} is not a file; `bench list` shows the suites")
        if not SUITE_NAME.fullmatch(path.stem):
            raise InputError(f"{path}: the file's name becomes the suite's: rename it to {OF_A_NAME}")
        return path
    found = {suite.name: suite.path for suite in _files()}
    if name not in found:
        near = did_you_mean(name, found).removeprefix("; ")
        there_are = f"{near}{' There' if near else 'there'} are {', '.join(sorted(found))}"
        raise InputError(f"unknown suite {name!r}: {there_are}; or give the path of a YAML file")
    return found[name]


def is_suite(name: str) -> bool:
    """Whether a suite has this name, or it is the path of a YAML file."""
    return Path(name).suffix in _ENDINGS or name in {suite.name for suite in _files()}


def listed() -> list[Listed]:
    """Shipped suites and those in ./suites, by name; a suite in ./suites hides a shipped one of the same name."""
    by_name = {suite.name: suite for suite in _files()}
    return [by_name[name] for name in sorted(by_name)]


def _files() -> Iterator[Listed]:
    shipped, local = suites_folder(), Path("suites")
    folders = [shipped] if local.resolve() == shipped.resolve() else [shipped, local]
    for folder in folders:
        for path in sorted(folder.glob("*")) if folder.is_dir() else []:
            if path.suffix in _ENDINGS and path.is_file():
                yield Listed(name=path.stem, path=path)


def _title(text: str) -> str | None:
    """The scalar of the top-level key `title`. Events are read one by one, so the rest of the file is not parsed."""
    depth, expecting_key, last = 0, True, ""
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            expecting_key = True
        elif isinstance(event, yaml.AliasEvent) and depth == 1:
            expecting_key = not expecting_key
        elif isinstance(event, yaml.ScalarEvent) and depth == 1:
            if not expecting_key and last == "title":
                return " ".join(event.value.split())
            last, expecting_key = event.value, not expecting_key
    return None
