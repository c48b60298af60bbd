"""What `bench import` was asked for."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.errors import InputError
from bench.importing import csv_file
from bench.importing.formats import Wishes, measurements
from bench.importing.values import BadValueError
from bench.importing.write import Head, write
from bench.launch.session import SessionFolder, new_session_id
from bench.paths import writable_results_folder
from bench.tags import check_tags

_SUITE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")


@dataclass(frozen=True, kw_only=True)
class Request:
    """The command line's wishes, by the names of its options."""

    files: tuple[str, ...]
    suite: str
    results: str | None
    session: str | None
    title: str | None
    tags: tuple[str, ...]
    kind: str
    case: str | None
    strategy: str | None
    workload: str | None
    examples: int | None
    world: int | None

    def carry_out(self) -> Path:
        """The new session's folder. Raises InputError where anything is wrong; then nothing was written."""
        self._check_names()
        session = SessionFolder(
            writable_results_folder(self.results),
            new_session_id(self.suite) if self.session is None else self.session,
        )
        wishes = Wishes(
            suite=self.suite, case=self.case, strategy=self.strategy, examples=self.examples, world=self.world,
            kind=self.kind,
        )  # fmt: skip
        head = Head(
            suite=self.suite,
            workload=self.workload,
            title=self.title,
            tags=self.tags,
            command=["bench", *sys.argv[1:]],
        )
        write(session, head, measurements(self.files, wishes))
        return session.path

    def _check_names(self) -> None:
        if not _SUITE.fullmatch(self.suite):
            raise InputError(
                f"--suite {self.suite[:60]!r} is no suite's name: letters, digits, '_', '.' and '-', 81 at most"
            )
        check_tags(self.tags)
        named = (("--case", self.case, csv_file.case), ("--strategy", self.strategy, csv_file.word),
                 ("--workload", self.workload, csv_file.word))  # fmt: skip
        for option, text, check in named:
            try:
                if text is not None:
                    check(text)
            except BadValueError as problem:
                raise InputError(f"{option} {problem}") from None
