"""The fault of a run that took too long: which rank the others wait for, and where that rank is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import bench
from bench.common.custom_file import is_foreign
from bench.machine.cpus import as_text
from bench.records.messages import Fault, Progress
from bench.records.run_spec import RunSpec

_SHOWN = 16
"""Most ranks, nodes or groups of ranks that a message names."""
_SHOWN_PLACES = 3
"""Most places in a script that a message names."""
_TAIL_BYTES = 1 << 16
"""End of a log that is searched for stacks; far more than the stacks of one rank."""
_STACK = re.compile(r"^(?:Current thread|Thread) 0x.*\n((?:  .*\n)+)", re.M)
_BENCH = f"{Path(bench.__file__).parent}/"
_OF_PYTHON = re.compile(r"/lib(64)?/python3(\.\d+)?/|\.zip/|^<")
"""In a path: a standard library, of any Python, or a package that is installed in it."""
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')


def timed_out(run: RunSpec, reported: list[Progress], silent: Sequence[str] = ()) -> Fault:
    """The fault of a run that exceeded its time limit. `reported` is each agent's progress of its living ranks.

    `silent` names the nodes of agents that did not answer. If there are any, only a stopped rank is blamed."""
    node_of = {rank: progress.node for progress in reported for rank in progress.rows}
    steps = {rank: count for progress in reported for rank, count in progress.rows.items()}
    stopped = sorted(rank for progress in reported for rank in progress.stopped)
    busy = {rank: where for progress in reported for rank, where in progress.busy.items()}
    places = {rank: where for progress in reported for rank, where in progress.places.items()}
    behind = None if silent and not stopped else _behind(steps, stopped, busy)
    if behind is not None:
        places = {rank: place for rank, place in (busy | places).items() if rank == behind}
    nodes = {progress.node for progress in reported}
    return Fault(
        status="timeout",
        error=f"not done after {run.measure.timeout_s:g} s (measure.timeout_s); steps completed: {_listed(steps)}; "
        + _each(stopped, "rank {} is stopped; ", "ranks are stopped; ")
        + _each(silent, "the agent on {} does not answer; ", "agents do not answer; ")
        + _where(places)
        + "stacks are in the ranks' logs",
        rank=behind,
        node=node_of[behind] if behind is not None else nodes.pop() if len(nodes) == 1 else None,
    )


def _behind(steps: Mapping[int, int], stopped: list[int], busy: Mapping[int, str]) -> int | None:
    """The rank that the others wait for: a stopped rank; else the rank with fewest steps; if several have as few, the
    only one of them that is busy, since the others wait inside torch. Null if that does not single out one rank."""
    if stopped:
        return stopped[0]
    least = min(steps.values(), default=0)
    fewest = [rank for rank, count in steps.items() if count == least]
    if len(fewest) > 1:
        fewest = [rank for rank in fewest if rank in busy]
    return fewest[0] if len(fewest) == 1 else None


def _where(places: Mapping[int, str]) -> str:
    """The places of ranks, if they are few."""
    ranks: dict[str, list[int]] = {}
    for rank, place in sorted(places.items()):
        ranks.setdefault(place, []).append(rank)
    if len(ranks) > _SHOWN_PLACES:
        return ""
    return "".join(
        f"rank{'s' * (len(at) > 1)} {as_text(at)} {'are' if len(at) > 1 else 'is'} at {place}; "
        for place, at in ranks.items()
    )


def _listed(steps: Mapping[int, int]) -> str:
    """Steps of each rank; of many ranks, the number of ranks for each count of steps, slowest first."""
    if len(steps) <= _SHOWN:
        return ", ".join(f"rank {rank}: {count}" for rank, count in sorted(steps.items()))
    groups: dict[int, list[int]] = {}
    for rank, count in steps.items():
        groups.setdefault(count, []).append(rank)
    listed = [
        f"{f'{len(ranks):,} ranks' if len(ranks) > 1 else f'rank {ranks[0]}'}: {count}"
        for count, ranks in sorted(groups.items())
    ]
    return ", ".join(listed if len(listed) <= _SHOWN else [*listed[: _SHOWN - 1], "...", listed[-1]])


def _each(names: Sequence[object], one: str, more: str) -> str:
    listed = "".join(one.format(name) for name in names[:_SHOWN])
    left = len(names) - _SHOWN
    return listed + (f"{left:,} more {more}" if left > 0 else "")


def outside_torch(log: Path) -> str | None:
    """The innermost code of a rank, such as `held.py line 12 in wait`, by the stacks in its log.

    Null if torch is the innermost code, as in a collective, or if there is no stack."""
    frames = [frame for stack in _stacks(log)[-1:] for frame in stack[:1]]
    return next((_place(frame) for frame in frames if "/torch/" not in frame[0]), None)


def in_script(log: Path) -> str | None:
    """Where a rank's main thread is in the script, such as `train.py line 12 in wait_for_data`, by the stacks that
    faulthandler wrote into its log: the innermost frame outside of installed packages; else the innermost frame outside
    of torch and of the standard library. Null if there is none."""
    frames = [frame for stack in _stacks(log)[-1:] for frame in stack if not frame[0].startswith(_BENCH)]
    own = [frame for frame in frames if not is_foreign(frame[0]) and not _OF_PYTHON.search(frame[0])]
    packages = [frame for frame in frames if "-packages/" in frame[0] and "-packages/torch/" not in frame[0]]
    return next(map(_place, [*own, *packages]), None)


def in_user_code(log: Path) -> str | None:
    """The innermost frame of the user's files, such as `mine.py:12, in wait`, of all stacks that faulthandler wrote
    into that file, main threads before others; null if there is none."""
    frames = [frame for stack in reversed(_stacks(log)) for frame in stack]
    return next((_named(frame) for frame in frames if not is_foreign(frame[0])), None)


def innermost(log: Path) -> str | None:
    """The innermost frame of the last stack that faulthandler wrote into that file; null if there is none."""
    return next((_named(frame) for stack in _stacks(log)[-1:] for frame in stack[:1]), None)


def _stacks(log: Path) -> list[list[tuple[str, str, str]]]:
    """The stacks at the end of a file as frames of file, line and function, innermost first; a process's main thread
    comes last."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
        return [_FRAME.findall(stack) for stack in _STACK.findall(file.read().decode(errors="replace"))]


def _place(frame: tuple[str, str, str]) -> str:
    return f"{Path(frame[0]).name} line {frame[1]} in {frame[2]}"


def _named(frame: tuple[str, str, str]) -> str:
    return f"{Path(frame[0]).name}:{frame[1]}, in {frame[2]}"
