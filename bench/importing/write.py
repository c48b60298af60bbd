"""The folder of an imported session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.files import write_json
from bench.importing import exchanges
from bench.importing.aside import place
from bench.importing.exchanges import Exchanges
from bench.importing.formats import Found
from bench.importing.found import Measurement
from bench.launch.session import SessionFolder, utc_now
from bench.records.run_outcome import RunOutcome
from bench.records.session_head import PlanEntry, SessionHead
from bench.records.vocabulary import SCHEMA_VERSION

UNKNOWN_STRATEGY = "unknown"
"""Rows of views are told apart by strategy, so it cannot be null."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """What the session is called."""

    suite: str
    workload: str | None
    """Null: `imported`, or what our own measurements of this kind are called."""
    title: str | None
    tags: tuple[str, ...]
    command: Sequence[str]


def write(session: SessionFolder, head: Head, found: Found) -> None:
    """Raises InputError where the session exists or the folder cannot be written; nothing is left behind then."""
    place(session, lambda folder: _write(folder, session.session_id, head, found))


def _write(folder: Path, session_id: str, head: Head, found: Found) -> None:
    specs = [_spec(one, session_id, head) for one in found.rows]
    for one, spec in zip(found.rows, specs, strict=True):
        run = folder / spec["run_id"]
        run.mkdir()
        _write_tables(run, one, spec)
        write_json(run / "run.json", _run(one, spec))
    write_json(folder / "session.json", _session(session_id, head, found, specs))


def _session(session_id: str, head: Head, found: Found, specs: list[dict[str, Any]]) -> dict[str, Any]:
    now = utc_now()
    tags = dict.fromkeys([*head.tags, *(one.tag for one in found.rows if one.tag)])
    several = "logs" if found.kind == "log" else "files"
    names = found.sources[0].name if len(found.sources) == 1 else f"{len(found.sources)} {several}"
    return SessionHead(
        session_id=session_id,
        suite=head.suite,
        title=head.title or f"{head.suite}: imported from {names}",
        created_at=now,
        finished_at=now,
        command=list(head.command),
        tags=list(tags),
        plan=[PlanEntry(**{key: spec[key] for key in PlanEntry.names() if key in spec}) for spec in specs],
        imported={
            "format": found.kind,
            "files": [{"name": source.name, "sha256": source.sha256} for source in found.sources],
        },
    ).to_json()


def _spec(one: Measurement | Exchanges, session_id: str, head: Head) -> dict[str, Any]:
    """What bench.records.run_spec.RunSpec has of a run, as far as it is known."""
    ranks = one.world_size // one.nodes
    return {
        "session_id": session_id,
        "run_id": f"{one.case}.{one.nodes}x{ranks}.r{one.repeat}",
        "attempt": 0,
        "suite": head.suite,
        "case_name": one.case,
        "workload": head.workload or ("imported" if isinstance(one, Measurement) else exchanges.WORKLOAD),
        "train": {},
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
        "probe": False,
        "tags": list(dict.fromkeys([*head.tags, *([one.tag] if one.tag else [])])),
        **({"device_type": "cuda"} if isinstance(one, Exchanges) else {}),
    }


def _run(one: Measurement | Exchanges, spec: dict[str, Any]) -> dict[str, Any]:
    device_name = one.device_name if isinstance(one, Exchanges) else None
    outcome = RunOutcome(status="ok", elapsed_s=one.seconds, slurm_job_id=one.job_id, device_name=device_name)
    imported: dict[str, Any] = {"place": one.place}
    if isinstance(one, Measurement):
        imported |= {"seconds": one.seconds, "examples": one.examples, "epochs": one.epochs}
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": spec["session_id"],
        "run_id": spec["run_id"],
        "attempt": 0,
        "spec": spec,
        "outcome": outcome.to_json(),
        "fingerprint": one.fingerprint if isinstance(one, Exchanges) else {},
        "imported": imported,
    }


def _write_tables(folder: Path, one: Measurement | Exchanges, spec: dict[str, Any]) -> None:
    owner = {name: str(spec[name]) for name in ("session_id", "run_id", "attempt")}
    owner |= {"node": "0", "schema_version": str(SCHEMA_VERSION)}
    if isinstance(one, Exchanges):
        exchanges.write_rows(folder, one, owner)
    else:
        _write_evals(folder, one, owner)


def _write_evals(folder: Path, one: Measurement, owner: dict[str, str]) -> None:
    """One validation at an unknown step: the best of the training."""
    if one.val_loss is None and one.val_accuracy is None:
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("val_loss", pa.float64()), ("val_accuracy", pa.float64())], metadata=owner)
    rows = [{"val_loss": one.val_loss, "val_accuracy": one.val_accuracy}]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "evals.parquet")
