"""Versions, fixed words and ranges of values in stored files and messages."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Gt, Le, Predicate

SCHEMA_VERSION = 1
"""Version of the stored files (session.json, run.json, Parquet). History: 1, the first (2026-11)."""

Status = Literal["ok", "oom", "failed", "timeout", "interrupted", "skipped"]
"""How a run ended."""
Scaling = Literal["none", "strong", "weak", "counted"]
"""The work as workers are added: not compared (none), same global batch (strong), same batch per rank (weak), or one of
these by the examples that a command is seen to train on (counted)."""
Axis = Literal["ranks", "threads"]
"""Kind of worker that is added: ranks, or threads of one rank."""
DeviceType = Literal["cpu", "cuda"]
RunOrder = Literal["random", "fixed"]
"""Order of a round's runs: drawn from the session's id, or the suite's."""
StepKind = Literal["warmup", "measured", "profiled", "no_sync"]
"""Purpose of a recorded step."""
SelfcheckKind = Literal["bare", "instrumented"]
"""A step without time stamps, or with them."""

PLANNED_SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
COMMAND = "command"
"""The workload of a user's command, and its strategy: the command distributes its model itself."""
_FORMER_STRATEGIES = {"script": COMMAND}
"""Strategies by their words in older sessions."""
SCALINGS = tuple(scaling for scaling in PLANNED_SCALINGS if scaling != "counted")
"""Scalings in the database: `bench load` replaces `counted`."""
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
UNITS = ("examples/s", "tokens/s", "GPU peaks")
"""Units of a throughput that a file reports. GPU peaks: FLOP/s in units of the peak of one GPU, so MFU × GPUs."""
Pauses = Literal["count", "leave-out"]
"""The user's word on the pauses of a command: all of them are training, or none is."""
PAUSE_KINDS = ("saving", "validation")
"""Kinds of a pause that the probe of a command knows."""
SELFCHECK_KINDS: tuple[SelfcheckKind, ...] = get_args(SelfcheckKind)

_METRIC = re.compile("[A-Za-z0-9]+([ ._@/+-][A-Za-z0-9]+)*")
_LONGEST_METRIC = 32


def is_metric(name: str) -> bool:
    """Whether it can name a workload's score of validation, as `Dice` and `recall@5` do: short, and free of markup."""
    return len(name) <= _LONGEST_METRIC and _METRIC.fullmatch(name) is not None


Metric = Annotated[str, Predicate(is_metric), "a name of up to 32 letters and digits, such as Dice"]


def strategy_named(word: str) -> str:
    """The strategy that a session calls so; older sessions have another word for that of a command."""
    return _FORMER_STRATEGIES.get(word, word)


def case_named(name: str, strategy: str) -> str:
    """The case that a session calls so: `bench run` names its case, and the variants of --vary, after the strategy."""
    case, tilde, values = name.partition("~")
    return f"{strategy_named(strategy)}{tilde}{values}" if case == strategy else name


LARGEST_COUNT, LARGEST_SIZE = 10**9, 10**15
"""Counts are multiplied with each other, so they have a lower limit than sizes."""
LARGEST_SECONDS = 1e9
"""Thirty years."""

Whole = Annotated[int, Ge(0), Le(2**31 - 1)]
Count = Annotated[int, Ge(0), Le(LARGEST_COUNT)]
"""Examples and tokens."""
Positive = Annotated[float, Gt(0), Le(LARGEST_COUNT)]
"""Mean numbers of examples and tokens."""
Size = Annotated[int, Ge(0), Le(LARGEST_SIZE)]
"""Parameters, bytes, and examples of a data set."""
Seconds = Annotated[float, Le(LARGEST_SECONDS)]
UtcTime = Annotated[str, "ISO 8601, UTC"]

NOT_IN_SETTINGS = (
    "repeats", "until", "until_efficiency", "max_repeats", "timeout_s", "nonfinite", "profiled", "selfcheck",
    "wire", "wire_rounds",
)  # fmt: skip
"""Keys of `measure` that do not change a run that is ok: how often and how long to measure, and what happens after the
measured steps."""
