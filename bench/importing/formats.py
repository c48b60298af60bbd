"""Which of the formats a file has, and what is read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.errors import InputError
from bench.importing import csv_file, exchanges, nccl_json, nccl_text, slurm_log, table
from bench.importing.check import check
from bench.importing.exchanges import Exchanges
from bench.importing.found import Measurement
from bench.importing.text import MAX_BYTES_OF_TABLES, Source, read

FORMATS = ("csv", "table", "log", "nccl")
_IN_SEVERAL = ("log", "nccl")
"""Each file of these is one run."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What the command line says beside the files."""

    suite: str
    case: str | None = None
    strategy: str | None = None
    examples: int | None = None
    world: int | None = None
    kind: str = "auto"


@dataclass(frozen=True, kw_only=True)
class Found:
    """All that a call imports."""

    kind: str
    sources: tuple[Source, ...]
    rows: tuple[Measurement | Exchanges, ...]


def measurements(paths: Sequence[str], wishes: Wishes) -> Found:
    """Sound rows of all files. Raises InputError."""
    sources = tuple(read(path) for path in _files(paths))
    kinds = [_kind(source) if wishes.kind == "auto" else wishes.kind for source in sources]
    kind = kinds[0]
    _refuse_large(kind, sources)
    if len(sources) > 1 and (kind not in _IN_SEVERAL or set(kinds) != {kind}):
        raise InputError(
            f"{len(sources)} files: only logs, or files of nccl-tests, come in several; import each of the others by "
            "its own call"
        )
    _refuse_idle_options(kind, wishes)
    if kind == "nccl":
        return Found(
            kind=kind, sources=sources, rows=tuple(exchanges.checked([_nccl(one) for one in sources]))
        )
    rows = [_completed(one, wishes) for one in _read(kind, sources, wishes)]
    check(sources[0].name if len(sources) == 1 else f"{len(sources)} logs", rows)
    return Found(kind=kind, sources=sources, rows=tuple(rows))


def _files(paths: Sequence[str]) -> list[Path]:
    """Each once; a pattern that no shell has expanded stands for the files it matches, in order of name."""
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text)
        matches = [] if path.exists() or not _is_pattern(path.name) else _matches(path)
        found |= dict.fromkeys(matches or [path])
    return list(found)


def _matches(pattern: Path) -> list[Path]:
    try:
        return sorted(pattern.parent.glob(pattern.name))
    except ValueError:  # what Python takes for no pattern, as a**b
        return []


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _kind(source: Source) -> str:
    if source.size_bytes > MAX_BYTES_OF_TABLES:
        return "log"  # nothing else may be as large
    if nccl_json.looks_like_one(source) or nccl_text.looks_like_one(source):
        return "nccl"
    if csv_file.looks_like_one(source.text):
        return "csv"
    if slurm_log.looks_like_one(source):
        return "log"
    if table.looks_like_one(source):
        return "table"
    raise InputError(
        f"{source.name}: neither a CSV (first line {','.join(csv_file.REQUIRED)}), nor a table (a line of headings "
        "such as `GPUs  Time (s)`), nor a log (a line `Total training time: 362.45 s`), nor output of nccl-tests (its "
        "JSON or its table); --format says which it is meant to be"
    )


def _refuse_large(kind: str, sources: Sequence[Source]) -> None:
    for source in sources:
        if kind != "log" and source.size_bytes > MAX_BYTES_OF_TABLES:
            raise InputError(
                f"{source.name}: larger than {MAX_BYTES_OF_TABLES >> 20} MiB: logs alone may be; import parts of it"
            )


def _refuse_idle_options(kind: str, wishes: Wishes) -> None:
    """An option that would change nothing must not be passed over in silence."""
    of_timings = (("--case", wishes.case), ("--examples", wishes.examples), ("--world", wishes.world))
    idle = {
        "csv": of_timings,
        "table": (("--world", wishes.world),),
        "log": (),
        "nccl": (*of_timings, ("--strategy", wishes.strategy)),
    }[kind]
    if given := [name for name, value in idle if value is not None]:
        name = {"csv": "a CSV", "nccl": "output of nccl-tests"}.get(kind, f"a {kind}")
        raise InputError(f"{', '.join(given)}: {name} says that itself: leave it out")


def _read(kind: str, sources: Sequence[Source], wishes: Wishes) -> list[Measurement]:
    default_case = table.case_of(wishes.suite) or "imported"
    if kind == "csv":
        return csv_file.read(sources[0])
    if kind == "table":
        return table.read(sources[0], wishes.case, default_case)
    return slurm_log.read(sources, wishes.case or default_case, wishes.world)


def _nccl(source: Source) -> Exchanges:
    return nccl_json.read(source) if nccl_json.looks_like_one(source) else nccl_text.read(source)


def _completed(one: Measurement, wishes: Wishes) -> Measurement:
    """With what the command line knows and the file does not."""
    return replace(
        one,
        strategy=one.strategy or wishes.strategy,
        examples=wishes.examples if one.examples is None else one.examples,
    )
