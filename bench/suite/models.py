"""The keys of a suite. A file is checked by shape (SuiteFile); each resolved case is checked completely (Case).

The sections `data`, `train` and `measure` are the dataclasses of bench/records/run_spec.py. Options of workloads and
strategies are defined in their files: nothing is listed twice.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PydanticUserError,
    StringConstraints,
    create_model,
)

from bench import strategies, workloads
from bench.common.custom_file import label
from bench.common.errors import InputError
from bench.common.nearest import did_you_mean
from bench.records.run_spec import DataSpec, FindSpec, MeasureSpec, TrainSpec
from bench.records.vocabulary import Scaling

MAX_RANKS = 1_000_000
OPTIONS = "options"
"""The field of options_model; it occurs in the places of errors, but in no suite."""
PERCENTAGE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})? ?%")
_PLACEMENT = re.compile("([1-9][0-9]{0,6})x([1-9][0-9]{0,6})")

CONFIG = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)
"""Also applies to the dataclasses inside the models."""

CaseName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$")]
Count = Annotated[int, Ge(1), Le(2**31 - 1)]
Device = Literal["auto", "cpu", "cuda"]
WorldSize = int | tuple[int, int] | Literal["auto"]
"""Ranks; nodes and ranks per node; or powers of two and the full count."""


@dataclass(frozen=True)
class Chosen:
    """A workload or strategy with its options, checked and complete."""

    name: str
    options: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, **self.options}


def world_size(value: object) -> WorldSize:
    """One entry of `world`. Raises ValueError."""
    placement = _PLACEMENT.fullmatch(value) if isinstance(value, str) else None
    if value == "auto":
        return "auto"
    if placement is not None:
        nodes, ranks = int(placement[1]), int(placement[2])
        if nodes * ranks <= MAX_RANKS:
            return nodes, ranks
    elif isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_RANKS:
        return value
    raise ValueError(
        f"must be a number of ranks from 1 to {MAX_RANKS}, nodes x ranks per node as in 2x4, or auto"
    )


def world_text(value: WorldSize) -> int | str:
    """The size as a suite writes it."""
    return f"{value[0]}x{value[1]}" if isinstance(value, tuple) else value


@functools.cache
def options_model(options: type) -> type[BaseModel]:
    """A model whose only field `options` is that dataclass, so that CONFIG applies to it."""
    return create_model(options.__name__, __config__=CONFIG, options=(options, ...))


def _chosen(kind: Any, value: Any) -> Chosen:
    name = str(value.get("name", "")) if isinstance(value, dict) else ""
    if ":" not in name and name not in kind.names():
        word = kind.__name__.removeprefix("bench.")
        near = did_you_mean(name, kind.names())
        raise ValueError(f"must name one of the {word} {', '.join(kind.names())}{near}")
    options = {key: item for key, item in value.items() if key != "name"}
    # pydantic appends the locations of this inner ValidationError to ours
    text = json.dumps({OPTIONS: options})
    model = _model_of(kind.load(name).Options, name)
    try:
        checked = model.model_validate_json(text, strict=True)
        return Chosen(name, asdict(checked.options))  # type: ignore[attr-defined]
    except ValueError:  # from pydantic, with locations
        raise
    except (Exception, SystemExit) as error:  # raised by the user's __post_init__
        raise InputError(f"Options of {label(name)} raised {type(error).__name__}: {error}") from error


def _model_of(options: type, name: str) -> type[BaseModel]:
    try:
        return options_model(options)
    except PydanticUserError as error:  # a custom class with a type that no suite can express
        raise InputError(f"Options of {label(name)}: {str(error).splitlines()[0]}") from error


_CHOSEN_JSON = PlainSerializer(Chosen.to_json)
WorkloadChoice = Annotated[Chosen, PlainValidator(functools.partial(_chosen, workloads)), _CHOSEN_JSON]
StrategyChoice = Annotated[Chosen, PlainValidator(functools.partial(_chosen, strategies)), _CHOSEN_JSON]
Worlds = Annotated[WorldSize, PlainValidator(world_size), PlainSerializer(world_text)]


class Case(BaseModel):
    """One named configuration, run at several world sizes."""

    model_config = CONFIG

    name: str
    """Names the case in every table; lower-case letters, digits, `_` and `-`."""
    strategy: StrategyChoice
    """How the model is distributed over the ranks: a name, or a mapping of `name` and its options."""
    scaling: Scaling
    """`strong` fixes global_batch, `weak` fixes batch_per_rank, `none` is not compared over world sizes. `counted`,
    only for a command: bench counts the examples of each step."""
    batch_per_rank: Count | None = None
    """Examples per rank and optimizer step."""
    global_batch: Count | None = None
    """Examples per optimizer step, over all ranks."""
    find_batch: FindSpec | None = None
    """`true`, or settings: find the largest micro-batch that fits, then accumulate to the given batch, if any."""
    world: Annotated[tuple[Worlds, ...], MinLen(1), MaxLen(64)]
    """World sizes: ranks, or nodes x ranks per node as in 2x4, or `auto`: powers of two and the full count."""
    threads: Annotated[tuple[Annotated[int, Ge(1), Le(1024)], ...], MinLen(1), MaxLen(64)] | None = None
    """CPU threads per rank; if there are several, the case is scaled over threads."""
    baseline: str | None = None
    """A case to compare with instead of this case's own smallest world size."""
    device: Device = "auto"
    """`auto` uses GPUs if there are any."""
    workload: WorkloadChoice
    """The workload, with its options."""
    data: DataSpec = DataSpec()
    """Where examples come from and how they reach the device: a source, or a mapping of `source` and other keys."""
    train: TrainSpec = TrainSpec()
    """How one optimizer step is made."""
    measure: MeasureSpec = MeasureSpec()
    """The measurement protocol."""

    @property
    def has_efficiency(self) -> bool:
        """Whether a size may be compared with another one, or with another case."""
        several = len(self.world) > 1 or "auto" in self.world or len(self.threads or ()) > 1
        return several or self.baseline not in (None, self.name)

    def set_keys(self) -> Iterator[tuple[str, str]]:
        """Section and key of every setting of `data`, `train` and `measure` that is not its default."""
        for section, spec in (("data", self.data), ("train", self.train), ("measure", self.measure)):
            for one in fields(spec):
                if getattr(spec, one.name) != getattr(type(spec)(), one.name):
                    yield section, one.name


class CaseFile(BaseModel):
    """A case as written in a file; keys that it omits come from the suite."""

    model_config = CONFIG | {"extra": "allow"}

    name: CaseName
    workload: dict[str, Any] = {}
    data: dict[str, Any] = {}
    train: dict[str, Any] = {}
    measure: dict[str, Any] = {}
    matrix: dict[str, Annotated[list[Any], MinLen(1)]] = {}
    """Dotted keys, each with a list of values: one case per combination, named like case~compile=true. Strategies may
    have options: `strategy: [ddp, {mesh: {tp: 2}}]`."""


class _Sections(BaseModel):
    model_config = CONFIG

    workload: dict[str, Any] = {}
    """The workload, with its options."""
    data: dict[str, Any] = {}
    """Where examples come from and how they reach the device: a source, or a mapping of `source` and other keys."""
    train: dict[str, Any] = {}
    """How one optimizer step is made."""
    measure: dict[str, Any] = {}
    """The measurement protocol."""
    device: Device = "auto"
    """`auto` uses GPUs if there are any."""


class QuickFile(_Sections):
    """The settings that --quick merges over the suite; its cases are merged by name."""

    cases: list[CaseFile] = []
    """Parts of cases, merged over the suite's by name."""


class SuiteFile(_Sections):
    """One suite: title, workload, measurement protocol, cases."""

    title: Annotated[str, MinLen(1)]
    """One line for lists and reports."""
    why: str = ""
    """Prose: the question that the suite answers; the report prints it."""
    cases: Annotated[list[CaseFile], MinLen(1), MaxLen(1000)]
    """The configurations to compare; each is run at several world sizes."""
    quick: QuickFile = Field(default_factory=QuickFile)
    """Merged over the suite by --quick."""


@dataclass(frozen=True, kw_only=True)
class ResolvedSuite:
    """A suite after quick, --set, matrix and the command line's filters."""

    name: str
    """The file's name without its ending."""
    title: str
    why: str
    quick: bool
    cases: tuple[Case, ...]
    places: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)
    """Place of a case's `world`, `global_batch` or `batch_per_rank`, by (case, key), for errors of planning."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Correct, but possibly surprising: a line each, for stderr."""

    def to_json(self) -> dict[str, Any]:
        """For session.json: everything that determines what is run."""
        cases = [json.loads(case.model_dump_json()) for case in self.cases]
        return {"name": self.name, "title": self.title, "why": self.why, "quick": self.quick, "cases": cases}
