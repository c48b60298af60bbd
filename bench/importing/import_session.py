"""`bench import`: read files, detect their format, parse and check their rows, and write them as a session."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.common.errors import InputError
from bench.common.files import write_json
from bench.common.paths import refuse_other_than_utf8, writable_results_folder
from bench.common.tags import check_tags
from bench.importing.checks import check, number_repeats
from bench.importing.formats import (
    collectives,
    csv_file,
    nccl_json,
    nccl_text,
    published,
    slurm_log,
    table,
)
from bench.importing.formats.collectives import CollectiveRun
from bench.importing.measurement import Measurement
from bench.importing.parse_cells import MAX_BYTES_OF_TABLES, BadValueError, Source, read_source
from bench.records.run_outcome import RunOutcome
from bench.records.session_head import PlanEntry, SessionHead
from bench.records.vocabulary import SCHEMA_VERSION
from bench.session.folder import SessionFolder, new_session_id, utc_now
from bench.suite.find import OF_A_NAME, SUITE_NAME

_SEVERAL_FILES = ("log", "nccl")
"""Formats of which one import may read several files: each file is one run."""
Rows = Measurement | CollectiveRun
UNKNOWN_STRATEGY = "unknown"
"""Views group rows by strategy, so it cannot be null."""


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Options of `bench import`, by their names; null if not given."""

    files: tuple[str, ...]
    suite: str
    results: str | None = None
    session: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    kind: str = "auto"
    """A format, or `auto`."""
    case: str | None = None
    strategy: str | None = None
    workload: str | None = None
    examples: int | None = None
    world: int | None = None


@dataclass(frozen=True, kw_only=True)
class Imported:
    """Everything that an import read, checked."""

    format: str
    """csv, table, log, nccl or published."""
    sources: tuple[Source, ...]
    rows: tuple[Rows, ...]
    title: str | None = None
    """The file's own."""
    began_at: str | None = None
    """When the figures were published or measured; null: unknown."""
    facts: dict[str, str] = field(default_factory=dict)
    """Facts about the origin of the figures, from the files."""


def import_session(request: ImportRequest) -> Path:
    """Import files as a new session. Returns its folder. Raises InputError if anything is wrong, and writes nothing."""
    if not SUITE_NAME.fullmatch(request.suite):
        raise InputError(f"--suite {request.suite[:60]!r} is not a suite's name: {OF_A_NAME}")
    check_tags(request.tags)
    for given in (*request.tags, request.title or ""):
        refuse_other_than_utf8(given, "argument")
    for option, text, check_name in (
        ("--case", request.case, csv_file.case),
        ("--strategy", request.strategy, csv_file.word),
        ("--workload", request.workload, csv_file.word),
    ):
        try:
            if text is not None:
                check_name(text)
        except BadValueError as problem:
            raise InputError(f"{option} {problem}") from None
    results = writable_results_folder(request.results)
    session_id = new_session_id(request.suite) if request.session is None else request.session
    session = SessionFolder(results, session_id)
    imported = read_files(request)
    _create_whole(session, lambda folder: _write(folder, session_id, request, imported))
    return session.path


def read_files(request: ImportRequest) -> Imported:
    """Read, parse and check every file of the request. Raises InputError."""
    paths = _paths(request.files)
    sources = [read_source(path) for path in paths]
    formats = [_format_of(source) if request.kind == "auto" else request.kind for source in sources]
    kind = formats[0]
    for source in sources:
        if kind != "log" and source.size_bytes > MAX_BYTES_OF_TABLES:
            raise InputError(
                f"{source.name}: larger than {MAX_BYTES_OF_TABLES >> 20} MiB: only logs may be; import parts of it"
            )
    if len(sources) > 1 and (kind not in _SEVERAL_FILES or set(formats) != {kind}):
        raise InputError(
            f"{len(sources)} files: only logs or output of nccl-tests can be imported together; "
            "import each of the others separately"
        )
    _refuse_unused_options(kind, request)
    if kind == "published":
        found = published.read(sources[0])
        check(sources[0].name, found.rows)
        return Imported(
            format=kind,
            sources=tuple(sources),
            rows=found.rows,
            title=found.title,
            began_at=f"{found.date}T00:00:00+00:00",
            facts=found.facts,
        )
    rows = _parse(kind, sources, request)
    return Imported(format=kind, sources=tuple(sources), rows=tuple(rows))


def _paths(files: Sequence[str]) -> list[Path]:
    """Each file once. A pattern that no shell expanded is replaced by the matching files, sorted by name."""
    found: dict[Path, None] = {}
    for text in files:
        path = Path(text)
        matches: list[Path] = []
        if not path.exists() and any(sign in path.name for sign in "*?["):
            try:
                matches = sorted(path.parent.glob(path.name))
            except ValueError:  # not a pattern that Python accepts, such as a**b
                matches = []
        found |= dict.fromkeys(matches or [path])
    return list(found)


def _format_of(source: Source) -> str:
    """The format of a file. Raises InputError if it has none of them."""
    if source.size_bytes > MAX_BYTES_OF_TABLES:
        return "log"  # only logs may be as large
    if published.matches(source):
        return "published"
    if nccl_json.matches(source) or nccl_text.matches(source):
        return "nccl"
    if csv_file.matches(source):
        return "csv"
    if slurm_log.matches(source):
        return "log"
    if table.matches(source):
        return "table"
    raise InputError(
        f"{source.name}: neither a CSV (first line {','.join(csv_file.REQUIRED)}), nor a table (a line of headings "
        "such as `GPUs  Time (s)`), nor a log (a line `Total training time: 362.45 s`), nor output of nccl-tests (its "
        "JSON or its table), nor a published table (a .toml file); choose one with --format"
    )


_NAMES = {"csv": "a CSV", "nccl": "output of nccl-tests", "published": "a published table"}


def _refuse_unused_options(kind: str, request: ImportRequest) -> None:
    """Raises InputError for a given option that this format would ignore."""
    of_timings = (("--case", request.case), ("--examples", request.examples), ("--world", request.world))
    unused = {
        "csv": of_timings,
        "table": (("--world", request.world),),
        "log": (),
        "nccl": (*of_timings, ("--strategy", request.strategy)),
        "published": (*of_timings, ("--strategy", request.strategy), ("--workload", request.workload)),
    }[kind]
    if given := [name for name, value in unused if value is not None]:
        name = _NAMES.get(kind, f"a {kind}")
        raise InputError(f"{', '.join(given)}: {name} already says that: leave it out")


def _parse(
    kind: str, sources: Sequence[Source], request: ImportRequest
) -> Sequence[Measurement] | Sequence[CollectiveRun]:
    """The checked rows of all files, with the values that the request adds."""
    if kind == "nccl":
        runs = [
            nccl_json.read(source) if nccl_json.matches(source) else nccl_text.read(source)
            for source in sources
        ]
        collectives.check(runs)
        return number_repeats(runs)
    default_case = table.case_of(request.suite) or "imported"
    if kind == "csv":
        rows = csv_file.read(sources[0])
    elif kind == "table":
        rows = number_repeats(table.read(sources[0], request.case, default_case))
    else:
        rows = number_repeats(slurm_log.read(sources, request.case or default_case, request.world))
    rows = [
        replace(
            one,
            strategy=one.strategy or request.strategy,
            examples=request.examples if one.examples is None else one.examples,
        )
        for one in rows
    ]
    check(sources[0].name if len(sources) == 1 else f"{len(sources)} logs", rows)
    return rows


def _write(folder: Path, session_id: str, request: ImportRequest, imported: Imported) -> None:
    specs = [_spec(one, session_id, request) for one in imported.rows]
    for one, spec in zip(imported.rows, specs, strict=True):
        run = folder / spec["run_id"]
        run.mkdir()
        _write_run(run, one, spec)
    now = utc_now()
    tags = dict.fromkeys([*request.tags, *(one.tag for one in imported.rows if one.tag)])
    several = "logs" if imported.format == "log" else "files"
    sources = imported.sources
    names = sources[0].name if len(sources) == 1 else f"{len(sources)} {several}"
    head = SessionHead(
        session_id=session_id,
        suite=request.suite,
        title=request.title or imported.title or f"{request.suite}: imported from {names}",
        created_at=imported.began_at or now,
        finished_at=now,
        command=["bench", *sys.argv[1:]],
        tags=list(tags),
        plan=[PlanEntry(**{key: spec[key] for key in PlanEntry.names() if key in spec}) for spec in specs],
        imported={
            "format": imported.format,
            "files": [{"name": source.name, "sha256": source.sha256} for source in sources],
            **imported.facts,
        },
    )
    write_json(folder / "session.json", head.to_json())


def _spec(one: Rows, session_id: str, request: ImportRequest) -> dict[str, Any]:
    """The fields of bench.records.run_spec.RunSpec that are known of an imported run."""
    ranks = one.world_size // one.nodes
    default_workload = collectives.WORKLOAD if isinstance(one, CollectiveRun) else "imported"
    batch: dict[str, int | None] = {}
    if isinstance(one, Measurement):
        default_workload = one.workload or default_workload
        batch = {"batch_per_rank": one.batch_per_rank, "global_batch": one.global_batch}
    return {
        "session_id": session_id,
        "run_id": f"{one.case}.{one.nodes}x{ranks}.r{one.repeat}",
        "attempt": 0,
        "suite": request.suite,
        "case_name": one.case,
        "workload": request.workload or default_workload,
        "train": {"precision": one.precision} if isinstance(one, Measurement) and one.precision else {},
        "measure": {},
        "strategy": one.strategy or UNKNOWN_STRATEGY,
        "scaling": one.scaling,
        "axis": "ranks",
        "workers": one.world_size,
        "world_size": one.world_size,
        "nodes": one.nodes,
        "ranks_per_node": ranks,
        "threads": 1,
        "oversubscribed": False,
        "repeat": one.repeat,
        **({"round": one.round, "position": one.position} if isinstance(one, Measurement) else {}),
        "probe": False,
        "tags": list(dict.fromkeys([*request.tags, *([one.tag] if one.tag else [])])),
        **({"device_type": one.device_type} if one.device_type else {}),
        **{key: value for key, value in batch.items() if value},
    }


def _write_run(folder: Path, one: Rows, spec: dict[str, Any]) -> None:
    """run.json, and the run's collectives or its one validation as Parquet."""
    owner = {name: str(spec[name]) for name in ("session_id", "run_id", "attempt")}
    owner |= {"node": "0", "schema_version": str(SCHEMA_VERSION)}
    imported: dict[str, Any] = {"place": one.place}
    if isinstance(one, CollectiveRun):
        collectives.write_rows(folder, one, owner)
    else:
        imported |= {"seconds": one.seconds, "examples": one.examples, "epochs": one.epochs}
        imported |= {"throughput": one.throughput, "throughput_unit": one.throughput_unit}
        if one.val_loss is not None or one.val_accuracy is not None:
            _write_best_validation(folder, one, owner)
    outcome = RunOutcome(
        status="ok",
        elapsed_s=one.seconds,
        slurm_job_id=one.job_id,
        device_name=one.device_name,
    )
    if isinstance(one, Measurement):
        outcome = replace(outcome, parameters=one.parameters, tokens_per_example=one.tokens_per_example)
    run = {
        "schema_version": SCHEMA_VERSION,
        "session_id": spec["session_id"],
        "run_id": spec["run_id"],
        "attempt": 0,
        "spec": spec,
        "outcome": outcome.to_json(),
        "fingerprint": {} if isinstance(one, Measurement) else one.fingerprint,
        "imported": imported,
    }
    write_json(folder / "run.json", run)


def _write_best_validation(folder: Path, one: Measurement, owner: dict[str, str]) -> None:
    """evals.parquet with one validation at an unknown step: the best of the training."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bench.measure.write_parquet import arrow_schema

    rows = [{"val_loss": one.val_loss, "val_accuracy": one.val_accuracy}]
    table = pa.Table.from_pylist(rows, schema=arrow_schema("evals", owner))
    pq.write_table(table, folder / "evals.parquet")


_TEMPORARY = ".import-"
_STALE_S = 86_400.0
"""Age after which a temporary folder is left over from a killed import; a younger one may still be in use."""


def _create_whole(session: SessionFolder, fill: Callable[[Path], None]) -> None:
    """Create a session's folder, complete or not at all: `fill` writes into a temporary folder, which is then renamed.

    Raises InputError if the session exists or the folder cannot be written; nothing is left behind then."""
    results = session.path.parent
    if session.path.exists():
        raise InputError(
            f"session {session.session_id} exists in {results}: choose another --session, or leave it out for a new one"
        )
    temporary = None
    try:
        results.mkdir(parents=True, exist_ok=True)
        for stale in results.glob(f"{_TEMPORARY}*"):
            if time.time() - stale.stat().st_mtime > _STALE_S:
                shutil.rmtree(stale, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=results))
        umask = os.umask(0o077)  # can only be read by setting it
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)  # mkdtemp's folder is for its owner alone, a session's is not
        fill(temporary)
        temporary.rename(session.path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and session.path.exists():
            raise InputError(
                f"session {session.session_id} has just been created by another process"
            ) from error
        raise InputError(f"results cannot be written: {error}; --results names another folder") from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
