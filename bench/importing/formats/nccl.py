"""Checks and names that both output formats of nccl-tests, JSON and text, share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bench.common.errors import InputError
from bench.importing.formats.collectives import Timing
from bench.importing.parse_cells import LARGEST_S, BadValueError
from bench.measure.machine.bandwidth import OPS

PROGRAM = re.compile(r"\b([a-z_]+)_perf(?:_mpi)?\b")
_SHORTEST_US = 1e-3


@dataclass(frozen=True, kw_only=True)
class Device:
    """A rank, or the first rank of a process."""

    rank: int
    group: int
    host: str
    model: str


def op_of(text: str, file: str) -> str:
    """The operation, by the name of a program such as `all_reduce_perf` in `text`, or else by the file's name.

    Raises BadValueError if there is none, or more than one."""
    found = dict.fromkeys(PROGRAM.findall(text))
    named = [op for op in found if op in OPS] or [*found] or [op for op in OPS if op in file]
    if len(named) != 1:
        raise BadValueError(
            "does not say which operation it timed: name the file after it, as in all_reduce.txt"
            if not named
            else f"has the output of several programs ({', '.join(named)}): save each in its own file"
        )
    if named[0] not in OPS:
        raise BadValueError(f"{named[0]} is not supported: {', '.join(OPS)} are")
    return str(named[0])


def models(devices: Iterable[Device]) -> tuple[str, ...]:
    return tuple(sorted({name for device in devices if (name := device.model.strip())}))


def version(code: int) -> str:
    """22703 is 2.27.3; up to version 2.8 a code had four digits, such as 2708 for 2.7.8."""
    if code < 10_000:
        return f"{code // 1_000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def refuse_groups(devices: Sequence[Device]) -> None:
    """Raises BadValueError if ranks form several groups that communicate at the same time (NCCL_TESTS_SPLIT)."""
    if len(groups := {device.group for device in devices}) > 1:
        raise BadValueError(
            f"{len(groups)} groups of ranks communicated at the same time: call nccl-tests without NCCL_TESTS_SPLIT"
        )


def refuse_mixture(kinds: Collection[object]) -> None:
    """Raises BadValueError if there is more than one element type, reduction or root."""
    if len(kinds) > 1:
        raise BadValueError(
            f"{len(kinds)} choices of element type, reduction and root in one file: call nccl-tests with one of each "
            "(-d float -o sum -r 0)"
        )


def refuse_cpu_time(is_cpu: bool) -> None:
    """Raises BadValueError for times of launching an operation instead of executing it."""
    if is_cpu:
        raise BadValueError(
            "has the CPU's time to launch the operation, not the operation's: call nccl-tests without -C"
        )


def wrong_results(count: str) -> str:
    return f"{count} wrong elements: a speed with wrong results means nothing"


def checked_time(time_us: float) -> float:
    """`time_us`. Raises BadValueError if no operation can take that time."""
    if not _SHORTEST_US <= time_us <= LARGEST_S * 1e6:
        raise BadValueError(f"time is {time_us:g} us: no operation can take that")
    return time_us


def not_empty(timings: Sequence[Timing], file: str) -> tuple[Timing, ...]:
    """`timings`. Raises InputError if there is none."""
    if not timings:
        raise InputError(f"{file}: no message size was timed")
    return tuple(timings)
