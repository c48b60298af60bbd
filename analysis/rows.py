"""From session.json and run.json to rows of `sessions`, `planned_runs`, `environment` and `runs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from analysis.fetched import Row
from analysis.fields import BadFileError, Fields
from bench.records.run_outcome import RunOutcome
from bench.records.session_head import PlanEntry, SessionHead
from bench.records.vocabulary import AXES, SCALINGS, SCHEMA_VERSION

T = TypeVar("T")

_NOT_OF_SESSIONS = ("session_id", "command", "plan", "environment", "begun", "schema_version")
"""Of a session's head, what is checked in another way, or has a table of its own."""
_NOT_OF_RUNS = ("skipped_for", "finalised")
"""Of an outcome, what only a resume and a load ask for."""
_SIZES = ("workers", "world_size", "nodes", "ranks_per_node", "threads")


def check_version(version: int) -> None:
    """Raises BadFileError where the file was written for a later version of this program."""
    if version > SCHEMA_VERSION:
        raise BadFileError(
            f"written by a newer scalebench (schema {version}; this one reads up to {SCHEMA_VERSION}): upgrade"
        )


def check_name(fields: Fields, name: str, folder: str) -> str:
    """The id in a file, which must be its folder's name. Raises BadFileError."""
    found = fields.text(name)
    if found != folder:
        raise BadFileError(
            f"{name} is {found!r} but its folder is {folder!r}: give the folder its name back, or remove it"
        )
    return found


def session_row(session: Fields, folder: str) -> Row:
    check_version(session.integer("schema_version"))
    return session.checked(SessionHead, without=_NOT_OF_SESSIONS) | {
        "session_id": check_name(session, "session_id", folder),
        "command": _begun_with(session).texts("command"),
    }


def _begun_with(session: Fields) -> Fields:
    """What has the command line of the session's beginning: a resume keeps it aside, and its own says less."""
    earlier = session.optional(session.objects, "begun")
    return earlier[0] if earlier else session


def planned_rows(session: Fields) -> list[Row]:
    session_id = session.text("session_id")
    return [
        {"session_id": session_id, **run.checked(PlanEntry, without=("probe",)), "probe": _is_probe(run)}
        for run in session.objects("plan")
    ]


def environment_rows(session: Fields) -> list[Row]:
    nodes = session.object("environment")
    return [
        {
            "session_id": session.text("session_id"),
            "node": _node_number(node),
            "key": key,
            "value": facts.text(key),
        }
        for node in nodes.value
        for facts in [nodes.object(node)]
        for key in facts.value
    ]


def _node_number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 8:
        return int(text)
    raise BadFileError(f"environment has {text[:60]!r} where a node's number belongs")


def run_row(run: Fields, session_id: str, run_id: str, aside: int | None) -> Row:
    """`aside` is the N of an `attemptN` folder; null for the run's own folder."""
    check_version(run.integer("schema_version"))
    check_name(run, "session_id", session_id)
    check_name(run, "run_id", run_id)
    attempt = run.integer("attempt")
    if aside is not None and attempt != aside:
        raise BadFileError(
            f"attempt is {attempt} but its folder is 'attempt{aside}': give the folder its name back"
        )
    imported = run.optional(run.object, "imported")
    return {
        "session_id": session_id,
        "run_id": run_id,
        "attempt": attempt,
        **_from_spec(run.object("spec"), imported=imported is not None),
        **run.object("outcome").checked(RunOutcome, without=_NOT_OF_RUNS),
        **_from_elsewhere(imported or Fields({}, "")),
        "fingerprint": run.object("fingerprint").json(),
        "config": run.object("spec").json(),
    }


def _from_spec(spec: Fields, *, imported: bool) -> Row:
    train, measure = spec.object("train"), spec.object("measure")
    batch = _perhaps(spec.count, spec, imported)
    return {
        "suite": spec.text("suite"),
        "case_name": spec.text("case_name"),
        "workload": _workload(spec.text("workload")),
        "strategy": spec.text("strategy"),
        "scaling": spec.one_of("scaling", *SCALINGS),
        "axis": spec.one_of("axis", *AXES),
        **{name: spec.integer(name) for name in _SIZES},
        "oversubscribed": spec.boolean("oversubscribed"),
        "repeat": spec.integer("repeat"),
        "device_type": _perhaps(spec.text, spec, imported)("device_type"),
        "precision": _perhaps(train.text, train, imported)("precision"),
        "batch_per_rank": batch("batch_per_rank") or None,  # 0 while find_batch has not found it
        "global_batch": batch("global_batch") or None,
        "examples_per_step": batch("global_batch") or None,
        "accumulate": _perhaps(train.integer, train, imported)("accumulate"),
        "baseline": spec.optional(spec.text, "baseline"),
        "probe": _is_probe(spec),
        "memory_limit_bytes": measure.optional(measure.size, "memory_limit_bytes"),
        "until": measure.optional(measure.number, "until"),
        "tags": spec.texts("tags"),
    }


def _is_probe(fields: Fields) -> bool:
    """Sessions from before find_batch do not say."""
    return bool(fields.optional(fields.boolean, "probe"))


def _perhaps(read: Callable[[str], T], fields: Fields, imported: bool) -> Callable[[str], T | None]:
    """What must be there of a run that was measured, and is rarely known of one that was imported."""
    return (lambda name: fields.optional(read, name)) if imported else read


def _from_elsewhere(imported: Fields) -> Row:
    """All null of a run that was measured."""
    return {
        "whole_run_s": imported.optional(imported.duration, "seconds"),
        "whole_run_examples": imported.optional(imported.size, "examples"),
        "whole_run_epochs": imported.optional(imported.size, "epochs"),
    }


def _workload(name: str) -> str:
    """Of a user's own file its name and the class: the folder is no part of what is trained, and nobody's business."""
    return name.rpartition("/")[2] if ":" in name else name
