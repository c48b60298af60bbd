"""Read session.json and run.json as rows of `sessions`, `planned_runs`, `environment` and `runs`.

The files are untrusted. A wrong value raises BadFileError with a message that says what is wrong, never a traceback."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from analysis.database.rows import Row
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import RunSpec, in_present_words, settings_digest
from bench.records.session_head import PlanEntry, SessionHead
from bench.records.vocabulary import (
    COMMAND,
    LARGEST_COUNT,
    LARGEST_SECONDS,
    LARGEST_SIZE,
    PLANNED_SCALINGS,
    SCHEMA_VERSION,
    UNITS,
    Count,
    Positive,
    Seconds,
    Size,
    UtcTime,
    Whole,
    case_named,
    strategy_named,
)

T = TypeVar("T")
_types = functools.cache(functools.partial(get_type_hints, include_extras=True))
LARGEST_JSON_BYTES = 64 * 2**20
LARGEST_NUMBER = 1e30
"""Small enough for products and squares of such numbers to be finite."""

_CHECKED_OTHERWISE = ("session_id", "command", "plan", "environment", "begun", "schema_version")
"""Fields of a session's head that have their own check or table."""
_NOT_IN_RUNS = ("skipped_for", "finalised")
"""Fields of an outcome that only a resume and a load read."""
_FROM_SPEC = (
    *(
        "suite",
        "case_name",
        "strategy",
        "axis",
        "workers",
        "world_size",
        "nodes",
        "ranks_per_node",
    ),
    *("threads", "oversubscribed", "repeat", "round", "position", "baseline", "tags"),
)
"""Fields of a run's specification that are columns of `runs`, also for imported runs; so is `scaling`, as
`scaling_mode`."""


class BadFileError(ValueError):
    """A stored file cannot be used. The message says why and what to do; the caller adds the path."""


def read_json(path: Path) -> Fields:
    """The JSON object in a file. Raises BadFileError."""
    try:
        if path.stat().st_size > LARGEST_JSON_BYTES:
            raise BadFileError(f"larger than {LARGEST_JSON_BYTES >> 20} MiB: not written by scalebench")
        value = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # lone surrogates cannot be stored
    except OSError as error:
        raise BadFileError(f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadFileError):
            raise
        raise BadFileError(f"not valid JSON: {str(error)[:120]}") from error
    if not isinstance(value, dict):
        raise BadFileError(f"holds {type(value).__name__}, not an object")
    return Fields(value, "")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True)
class Fields:
    """The values of a JSON object; each is checked when it is read. Every method raises BadFileError."""

    value: dict[str, Any]
    prefix: str
    """Path of this object in its file: messages put it before a name, as in `outcome.`."""

    def _wrong(self, name: str, wanted: str) -> BadFileError:
        shown = repr(self.value.get(name))[:60] if name in self.value else "missing"
        return BadFileError(f"{self.prefix}{name} is {shown}, not {wanted}")

    def text(self, name: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str):
            return value
        raise self._wrong(name, "text")

    def one_of(self, name: str, *choices: str) -> str:
        value = self.value.get(name)
        if isinstance(value, str) and value in choices:
            return value
        raise self._wrong(name, " or ".join(choices))

    def integer(self, name: str, largest: int = 2**31 - 1) -> int:
        value = self.value.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest:
            return value
        raise self._wrong(name, f"a whole number from 0 to {largest:,}")

    def count(self, name: str) -> int:
        return self.integer(name, LARGEST_COUNT)

    def size(self, name: str) -> int:
        return self.integer(name, LARGEST_SIZE)

    def number(self, name: str) -> float:
        value = self.value.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
            raise self._wrong(name, "a number")
        if abs(value) > LARGEST_NUMBER:
            raise self._wrong(name, f"a number from {-LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}")
        return float(value)

    def seconds(self, name: str) -> float:
        value = self.value.get(name)
        if isinstance(value, int | float) and abs(value) > LARGEST_SECONDS:
            shown = repr(value)[:60]
            raise BadFileError(f"{self.prefix}{name} is {shown}, larger than any time measured, in seconds")
        return self.number(name)

    def duration(self, name: str) -> float:
        """Seconds above zero."""
        if (value := self.seconds(name)) > 0:
            return value
        raise self._wrong(name, "a time above 0")

    def positive(self, name: str) -> float:
        """A mean number of examples or tokens."""
        if 0 < (value := self.number(name)) <= LARGEST_COUNT:
            return value
        raise self._wrong(name, f"a number above 0, up to {LARGEST_COUNT:,}")

    def positive_number(self, name: str) -> float:
        if (value := self.number(name)) > 0:
            return value
        raise self._wrong(name, "a number above 0")

    def unit(self, name: str) -> str:
        return self.one_of(name, *UNITS)

    def boolean(self, name: str) -> bool:
        value = self.value.get(name)
        if isinstance(value, bool):
            return value
        raise self._wrong(name, "true or false")

    def texts(self, name: str) -> list[str]:
        value = self.value.get(name)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        raise self._wrong(name, "a list of text")

    def time(self, name: str) -> datetime:
        """The time in UTC, without a time zone."""
        try:
            value = datetime.fromisoformat(self.text(name))
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise self._wrong(name, "a time as ISO 8601") from None

    def object(self, name: str) -> Fields:
        value = self.value.get(name)
        if isinstance(value, dict):
            return Fields(value, f"{self.prefix}{name}.")
        raise self._wrong(name, "an object")

    def objects(self, name: str) -> list[Fields]:
        value = self.value.get(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(name, "a list of objects")
        return [Fields(item, f"{self.prefix}{name}[{number}].") for number, item in enumerate(value)]

    def optional(self, read: Callable[[str], T], name: str) -> T | None:
        """The value as `read` returns it; None if it is null or missing."""
        return None if self.value.get(name) is None else read(name)

    def checked(
        self, record: Any, *, only: Collection[str] | None = None, without: Collection[str] = ()
    ) -> dict[str, Any]:
        """Name -> value of the fields of a dataclass; each value has the type that the dataclass declares."""
        return {
            name: self._value(name, hint)
            for name, hint in _types(record).items()
            if name not in without and (only is None or name in only)
        }

    def _value(self, name: str, hint: Any) -> Any:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is UnionType or origin is Union:  # always `X | None`
            return self.optional(lambda known: self._value(known, arguments[0]), name)
        if origin is Literal:
            return self.one_of(name, *arguments)
        return _READ[hint](self, name)

    def json(self) -> str:
        """The object as text."""
        return json.dumps(self.value, ensure_ascii=False)


_READ: dict[Any, Callable[[Fields, str], Any]] = {
    str: Fields.text,
    bool: Fields.boolean,
    float: Fields.number,
    Whole: Fields.integer,
    Count: Fields.count,
    Positive: Fields.positive,
    Size: Fields.size,
    Seconds: Fields.seconds,
    UtcTime: Fields.time,
    list[str]: Fields.texts,
    dict[str, Any]: lambda fields, name: fields.object(name).json(),
}
"""Type of a record's field -> method that checks it."""


def check_version(version: int) -> None:
    """Raise BadFileError if a later version of this program wrote the file."""
    if version > SCHEMA_VERSION:
        raise BadFileError(
            f"written by a newer scalebench (schema {version}; this one reads up to {SCHEMA_VERSION}): upgrade"
        )


def _check_name(fields: Fields, name: str, folder: str) -> str:
    """The id in a file, which must be the name of its folder."""
    found = fields.text(name)
    if found != folder:
        raise BadFileError(
            f"{name} is {found!r} but its folder is {folder!r}: give the folder its name back, or remove it"
        )
    return found


def session_row(session: Fields, folder: str) -> Row:
    """The row of `sessions`. Its command is the one that began the session, not that of a later resume."""
    check_version(session.integer("schema_version"))
    earlier = session.optional(session.objects, "begun")
    return session.checked(SessionHead, without=_CHECKED_OTHERWISE) | {
        "session_id": _check_name(session, "session_id", folder),
        "command": (earlier[0] if earlier else session).texts("command"),
    }


def planned_rows(session: Fields) -> list[Row]:
    """The rows of `planned_runs`, in the order of the plan."""
    session_id = session.text("session_id")
    return [
        {
            "session_id": session_id,
            **run.checked(PlanEntry, without=("probe", "scaling")),
            "scaling_mode": run.one_of("scaling", *PLANNED_SCALINGS),
            "case_name": case_named(run.text("case_name"), run.text("strategy")),
            "strategy": strategy_named(_label(run.text("strategy"))),
            "probe": _is_probe(run),
        }
        for run in session.objects("plan")
    ]


def environment_rows(session: Fields) -> list[Row]:
    """The rows of `environment`: facts by node and key."""
    session_id, nodes = session.text("session_id"), session.object("environment")
    return [
        {"session_id": session_id, "node": _node_number(node), "key": key, "value": facts.text(key)}
        for node in nodes.value
        for facts in [nodes.object(node)]
        for key in facts.value
    ]


def _node_number(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 8:
        return int(text)
    raise BadFileError(f"environment has {text[:60]!r} where a node's number belongs")


def run_row(run: Fields, session_id: str, run_id: str, aside: int | None) -> Row:
    """The row of `runs`. `aside` is the N of an `attemptN` folder; None for the run's own folder."""
    check_version(run.integer("schema_version"))
    _check_name(run, "session_id", session_id)
    _check_name(run, "run_id", run_id)
    attempt = run.integer("attempt")
    if aside is not None and attempt != aside:
        raise BadFileError(
            f"attempt is {attempt} but its folder is 'attempt{aside}': give the folder its name back"
        )
    stored, outcome, fingerprint = run.object("spec"), run.object("outcome"), run.object("fingerprint")
    spec = Fields(in_present_words(stored.value), stored.prefix)
    train, measure = spec.object("train"), spec.object("measure")
    imported = run.optional(run.object, "imported")
    elsewhere = imported or Fields({}, "")

    def known(fields: Fields, read: Callable[[str], T], name: str) -> T | None:
        """A measured run must have the value; an imported one rarely does."""
        return read(name) if imported is None else fields.optional(read, name)

    global_batch = known(spec, spec.count, "global_batch") or None  # 0 until find_batch has found it
    is_command = spec.text("workload") == COMMAND  # whose settings only its command knows
    if "settings" in fingerprint.value and spec.value != stored.value:
        named = {"workload": _label(spec.text("workload")), "strategy": _label(spec.text("strategy"))}
        fingerprint.value["settings"] = settings_digest(spec.value | named)
    return {
        "session_id": session_id,
        "run_id": run_id,
        "attempt": attempt,
        **spec.checked(RunSpec, only=_FROM_SPEC),
        "scaling_mode": spec.one_of("scaling", *PLANNED_SCALINGS),
        "workload": _label(spec.text("workload")),
        "strategy": _label(spec.text("strategy")),
        "device_type": known(spec, spec.text, "device_type"),
        "precision": None if is_command else known(train, train.text, "precision"),
        "batch_per_rank": known(spec, spec.count, "batch_per_rank") or None,
        "global_batch": global_batch,
        "accumulate": None if is_command else known(train, train.integer, "accumulate"),
        "probe": _is_probe(spec),
        "memory_limit_bytes": measure.optional(measure.size, "memory_limit_bytes"),
        "until": measure.optional(measure.number, "until"),
        "until_efficiency": measure.optional(measure.number, "until_efficiency"),
        "until_loss": measure.optional(measure.number, "until_loss"),
        **(known_outcome := outcome.checked(RunOutcome, without=_NOT_IN_RUNS)),
        "examples_per_step": known_outcome["examples_per_step"] or global_batch,
        "whole_run_s": elsewhere.optional(elsewhere.duration, "seconds"),
        "whole_run_examples": elsewhere.optional(elsewhere.size, "examples"),
        "whole_run_epochs": elsewhere.optional(elsewhere.size, "epochs"),
        "reported_throughput": elsewhere.optional(elsewhere.positive_number, "throughput"),
        "reported_unit": elsewhere.optional(elsewhere.unit, "throughput_unit"),
        "fingerprint": fingerprint.json(),
        "config": spec.json(),
    }


def _label(name: str) -> str:
    """The name of a workload or strategy: a custom file without its folder, which may be private and does not affect
    the training."""
    return name.rpartition("/")[2] if ":" in name else name


def _is_probe(fields: Fields) -> bool:
    """Whether the run is a probe of find_batch. Sessions older than find_batch do not have the key."""
    return bool(fields.optional(fields.boolean, "probe"))
