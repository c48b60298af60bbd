"""Which file a suite's name means, and which suites there are; light enough for `bench list`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.errors import InputError
from bench.paths import suites_folder
from bench.suite.nearest import did_you_mean
from bench.suite.source import MAX_BYTES

_ENDINGS = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A suite as `bench list` shows it."""

    name: str
    path: Path

    @property
    def title(self) -> str:
        """Its `title:` as it is written: checking a whole suite takes longer than listing all of them may."""
        try:
            with self.path.open(encoding="utf-8-sig") as text:
                return _top_level_text(text.read(MAX_BYTES), "title") or "(no title)"
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return "(cannot be read; `bench show` says why)"


def find(name: str) -> Path:
    """The file that NAME or FILE means: a path as it is; else ./suites/NAME.yaml, else the suite that ships.

    Raises InputError with the nearest name where there is none.
    """
    path = Path(name)
    if path.suffix in _ENDINGS or "/" in name:
        if not path.is_file():
            raise InputError(f"{name} is no file; `bench list` shows the suites there are")
        return _named(path)
    found = {suite.name: suite.path for suite in _files()}
    if name not in found:
        raise InputError(
            f"unknown suite {name!r}{did_you_mean(name, found)}; there are {', '.join(sorted(found))}, "
            "or give the path of a YAML file"
        )
    return found[name]


def listed() -> list[Listed]:
    """Suites that ship and those in ./suites, by name; one of ./suites hides a shipped one of its name."""
    by_name = {suite.name: suite for suite in _files()}
    return [by_name[name] for name in sorted(by_name)]


def _files() -> Iterator[Listed]:
    shipped, local = suites_folder(), Path("suites")
    folders = [shipped] if local.resolve() == shipped.resolve() else [shipped, local]
    for folder in folders:
        for path in sorted(folder.glob("*")) if folder.is_dir() else []:
            if path.suffix in _ENDINGS and path.is_file():
                yield Listed(name=path.stem, path=path)


def _named(path: Path) -> Path:
    if not _NAME.fullmatch(path.stem):
        raise InputError(
            f"{path}: the file's name becomes the suite's: rename it to letters, digits, '_', '.' and '-', 80 at most"
        )
    return path


def _top_level_text(text: str, key: str) -> str | None:
    """The scalar that a top-level key has; events come one by one, so that the rest is never parsed."""
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
            if not expecting_key and last == key:
                return " ".join(event.value.split())
            last, expecting_key = event.value, not expecting_key
    return None
