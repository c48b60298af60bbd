"""JSON of nccl-tests, written with `-J FILE`: settings, devices, and one object per message size.

The format, from nccl-tests' src/util.cu:

{"version": 2, "args": ["all_reduce_perf", ...], "env": [...], "nccl_version": 22703,
 "config": {"nthreads": 1, "ngpus": 1, ..., "devices": [{"rank": 0, "group": 0, "hostname": "n1", "device_info": ...}]},
 "results": [{"size": 1024, "type": "float", "redop": "sum", "root": "    -1",
              "out_of_place": {"time": 29.1, "alg_bw": 0.03, "bus_bw": 0.06, "nwrong": 0.0}, "in_place": {...}}]}

`devices` has one entry per process, for its first rank, even if the process has several threads or GPUs. `env` is the
whole environment of the process; it is not imported.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from bench.common.errors import InputError
from bench.importing.formats import nccl
from bench.importing.formats.collectives import CollectiveRun, Timing
from bench.importing.formats.nccl import Device
from bench.importing.measurement import Problems
from bench.importing.parse_cells import LARGEST_COUNT, LARGEST_WORLD, BadValueError, Source

T = TypeVar("T")

_LONGEST_TEXT = 200
"""Longest name of a host or device."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can express but UTF-8 cannot."""
_VERSIONS = range(2_000, 1_000_000)
"""Codes of plausible versions of NCCL: 2.27.3 is 22703."""
_PRINTED_GBPS = 1e-5
"""Rounding tolerance: bandwidths and times are written with six decimals."""


def matches(source: Source) -> bool:
    return source.text.lstrip().startswith("{")


def read(source: Source) -> CollectiveRun:
    """The run. Raises InputError with every problem, by its path in the file."""
    whole = _parsed(source)
    try:
        config, results = _entry(whole, "config", dict), _entry(whole, "results", list)
        devices = list(_devices(config))
        world = _world(config, devices)
        words = _entry(whole, "args", list)
        op = nccl.op_of(words[0] if words and isinstance(words[0], str) else "", source.name)
        nccl.refuse_mixture(
            {
                json.dumps([one.get(name) for name in ("type", "redop", "root")])
                for one in results
                if isinstance(one, dict)
            }
        )
    except BadValueError as problem:
        raise InputError(f"{source.name}: {problem}") from None
    problems = Problems(file=source.name)
    has_out_of_place = any(isinstance(one, dict) and one.get("out_of_place") is not None for one in results)
    side = "out_of_place" if has_out_of_place else "in_place"
    timings = [
        timing
        for number, one in enumerate(results)
        if (timing := _timing(f"results[{number}]", one, side, problems))
    ]
    problems.raise_if_any()
    version = whole.get("nccl_version")
    return CollectiveRun(
        place=source.name,
        op=op,
        in_place=side == "in_place",
        world_size=world,
        nodes=len({device.host for device in devices}),
        devices=nccl.models(devices),
        nccl=nccl.version(version) if type(version) is int and version in _VERSIONS else None,
        timings=nccl.not_empty(timings, source.name),
    )


def _parsed(source: Source) -> Mapping[str, Any]:
    try:
        found = json.loads(source.text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source.name}: line {error.lineno}, column {error.colno}: not JSON ({error.msg}): a stopped "
            "call of nccl-tests leaves half a file"
        ) from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"{source.name}: not JSON of nccl-tests: {str(error)[:80]}") from error
    if not isinstance(found, dict) or not {"config", "results"} <= found.keys():
        raise InputError(
            f"{source.name}: JSON, but not of nccl-tests: no `config` and `results`; `all_reduce_perf -J FILE` writes "
            "them"
        )
    return found


def _no_constant(text: str) -> float:
    raise ValueError(f"holds {text}")


def _entry(parent: Any, name: str, kind: type[T], place: str = "") -> T:
    """The entry `name` of `parent`. Raises BadValueError if there is none of this type."""
    value = parent.get(name) if isinstance(parent, dict) else None
    if isinstance(value, kind) and not isinstance(value, bool):
        if isinstance(value, str) and (len(value) > _LONGEST_TEXT or _SURROGATE.search(value)):
            raise BadValueError(f"{place}{name} is not a text of at most {_LONGEST_TEXT} characters")
        return value
    words = {dict: "an object", list: "a list", int: "a whole number", str: "text"}[kind]
    raise BadValueError(f"{place}{name} is not {words}")


def _count(parent: Any, name: str, least: int, most: int, place: str = "") -> int:
    value = _entry(parent, name, int, place)
    if not least <= value <= most:
        raise BadValueError(f"{place}{name} is {str(value)[:40]}, not within {least} and {most:,}")
    return value


def _number(parent: Any, name: str) -> float:
    """A finite number that is not negative. Raises BadValueError."""
    value = parent.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"{name} is not a number")
    if abs(value) > LARGEST_COUNT or not math.isfinite(value) or value < 0:
        raise BadValueError(f"{name} is {str(value)[:40]}, not within 0 and {LARGEST_COUNT:,}")
    return float(value)


def _devices(config: Mapping[str, Any]) -> Iterator[Device]:
    for number, one in enumerate(_entry(config, "devices", list, "config.")):
        place = f"config.devices[{number}]."
        yield Device(
            rank=_count(one, "rank", 0, LARGEST_WORLD, place),
            group=_count(one, "group", 0, LARGEST_WORLD, place),
            host=_entry(one, "hostname", str, place),
            model=_entry(one, "device_info", str, place),
        )


def _world(config: Mapping[str, Any], devices: list[Device]) -> int:
    """Number of ranks of all processes. Raises BadValueError if some are missing."""
    per_process = _count(config, "nthreads", 1, 4_096, "config.") * _count(
        config, "ngpus", 1, 4_096, "config."
    )
    nccl.refuse_groups(devices)
    firsts = sorted(device.rank for device in devices)
    world = len(firsts) * per_process
    if world > LARGEST_WORLD:
        raise BadValueError(f"config makes {world:,} ranks, more than {LARGEST_WORLD:,}")
    if not firsts or firsts != list(range(0, world, per_process)):
        raise BadValueError(
            f"config.devices has ranks {str(firsts)[:60]}, but should have the first of each process's {per_process} "
            "ranks: not all ranks are known"
        )
    return world


def _timing(place: str, one: Any, side: str, problems: Problems) -> Timing | None:
    """The timing; null for an empty message, or if it has problems, which are added to `problems`."""
    try:
        size = _count(one, "size", 0, LARGEST_COUNT)
        inside = _entry(one, side, dict)
        place = f"{place}.{side}"
        nccl.refuse_cpu_time("cpu_time" in inside)
        for half in (one.get("out_of_place"), one.get("in_place")):
            wrong = half.get("nwrong") if isinstance(half, dict) else None
            if wrong is not None and wrong != 0:
                raise BadValueError(nccl.wrong_results(str(wrong)[:20]))
        timing = Timing(
            place=place,
            message_bytes=size,
            time_us=nccl.checked_time(_number(inside, "time")),
            bus_gbps=_number(inside, "bus_bw"),
            tolerance_gbps=_PRINTED_GBPS,
        )
    except BadValueError as problem:
        problems.add(place, str(problem))
        return None
    return timing if size else None
