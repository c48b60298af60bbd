"""The published tables that ship, in suites/published, and their sessions: `bench reference`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.common.errors import InputError
from bench.common.files import read_json
from bench.common.nearest import did_you_mean
from bench.common.paths import suites_folder
from bench.importing.formats import published
from bench.importing.formats.published import TAG, Table
from bench.importing.import_session import ImportRequest, import_session
from bench.importing.parse_cells import read_source


@dataclass(frozen=True)
class Reference:
    """A published table that ships."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def session_id(self) -> str:
        """Its session in every results folder, so that it is there at most once."""
        return f"{TAG}-{self.name}"

    @cached_property
    def table(self) -> Table:
        return published.read(read_source(self.path))

    @property
    def cases(self) -> int:
        return len({row.case for row in self.table.rows})

    @property
    def curves(self) -> int:
        """Number of cases with two sizes or more."""
        named = [row.case for row in self.table.rows]
        return sum(named.count(case) > 1 for case in set(named))

    def is_in(self, results: Path) -> bool:
        """Whether the folder has its session, of this version of the table or another."""
        return (results / self.session_id / "session.json").is_file()

    def is_outdated_in(self, results: Path) -> bool:
        """Whether the folder has its session, of another version of the table."""
        if not self.is_in(results):
            return False
        try:
            (file,) = read_json(results / self.session_id / "session.json")["imported"]["files"]
            return bool(file["sha256"] != hashlib.sha256(self.path.read_bytes()).hexdigest())
        except (OSError, ValueError, LookupError, TypeError):
            return True  # not written by `bench reference`


def references() -> list[Reference]:
    """All that ship, by name."""
    return [Reference(path) for path in sorted((suites_folder() / TAG).glob("*.toml"))]


def named(names: Iterable[str]) -> list[Reference]:
    """The references of these names, each once [default: all]. Raises InputError for an unknown name."""
    known = {each.name: each for each in references()}
    for name in names:
        if name not in known:
            raise InputError(
                f"bench reference: no table {name[:60]!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def check(chosen: Iterable[Reference], results: Path) -> None:
    """Raises InputError if the folder has sessions of other versions of these tables."""
    problems = [
        f"{results / each.session_id} is of another version of this table: remove this folder, then load {each.name} "
        "again"
        for each in chosen
        if each.is_outdated_in(results)
    ]
    if problems:
        raise InputError("\n".join(problems))


def add(reference: Reference, results: Path) -> bool:
    """Write its session into a results folder; false if it is there. Raises InputError."""
    check([reference], results)
    if reference.is_in(results):
        return False
    if (results / reference.session_id).exists():
        raise InputError(
            f"{results / reference.session_id} exists and is no session: remove it, then load again"
        )
    import_session(
        ImportRequest(
            files=(str(reference.path),),
            suite=reference.session_id,
            results=str(results),
            session=reference.session_id,
            kind=TAG,
        )
    )
    return True
