"""Result files of MLPerf training: logs with lines `:::MLLOG {json}`. Each file is one training to a target.

results/SYSTEM/BENCHMARK/result_N.txt, below a folder with the submitter's name and next to systems/SYSTEM.json: that is
how MLCommons publishes them. The number of GPUs is in systems/SYSTEM.json, not in the log.

Training time is the time from run_start to run_stop without evaluations, so throughput is samples ÷ training time. A
log that reports its own throughput (tracked_stats) must agree with the counted samples. epoch_num and
train_samples mean different things in different benchmarks: without a reported throughput only samples_count is used.
Otherwise only the time to the target is known.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.importing.formats.csv_file import CASE
from bench.importing.measurement import Measurement, Problems
from bench.importing.parse_cells import LARGEST_COUNT, LARGEST_S, LARGEST_WORLD, Source
from bench.records.vocabulary import LARGEST_COUNT as LARGEST_BATCH

SUITE = "mlperf"
"""Suites of such sessions begin so: MLPerf's rules forbid comparing its results with others."""
_MARK = ":::MLLOG "
_PLACEHOLDER = "PLACEHOLDER"
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,120}")
_ROUND = re.compile(r"training_results_v(\d+\.\d+)")
_COUNT_TOKENS = ("gpt3",)
"""Benchmarks whose logs count tokens; an example has max_sequence_length of them."""
_AGREE = 0.2
"""Largest difference of two throughputs that agree, in their logarithms."""
_LARGEST_SYSTEM_BYTES = 2**20


@dataclass(frozen=True, kw_only=True)
class Results:
    """The result files of one submission, checked."""

    title: str
    began_at: str
    facts: dict[str, str]
    """Benchmark, submitter, systems, division and round, as far as they are known."""
    rows: tuple[Measurement, ...]
    """One for each file; the repeats are not numbered."""


@dataclass(frozen=True, kw_only=True)
class _Event:
    time_s: float
    key: str
    value: Any
    metadata: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _System:
    """systems/SYSTEM.json."""

    name: str
    submitter: str
    nodes: int
    ranks: int
    gpu: str | None


def matches(source: Source) -> bool:
    return any(line.startswith(_MARK) for line in source.lines)


def read(sources: Sequence[Source], paths: Sequence[Path], world: int | None) -> Results:
    """`paths` are the files of `sources`; `world` is the number of GPUs of all, if no systems/SYSTEM.json says it.

    Raises InputError with every problem."""
    problems = Problems(file=sources[0].name if len(sources) == 1 else f"{len(sources)} logs")
    rows, said, begins = [], list[dict[str, str]](), list[float]()
    places = dict[str, str]()
    for source, path in zip(sources, paths, strict=True):
        place = "/".join(path.absolute().parts[-4:])
        events = list(_events(source, place, problems))
        if not events:
            problems.add(place, "has no line `:::MLLOG {...}`")
            continue
        logged = "\n".join(line for line in source.lines if line.startswith(_MARK))
        if logged in places:  # two trainings would differ in the times of their events
            problems.add(place, f"is a copy of {places[logged]}: import one of them")
            continue
        places[logged] = str(path)
        before = problems.count
        system = _system(path, place, problems)
        has_bad_system = problems.count > before
        if found := _training(events, place, system, world, problems, has_bad_system=has_bad_system):
            rows.append(found)
            begins.append(min(event.time_s for event in events if event.key == "run_start"))
            said.append(_facts(events, path, system))
    for key in ("benchmark", "submitter", "division", "round"):
        values = dict.fromkeys(facts[key] for facts in said)
        if len(values) > 1:
            problems.add(f"{key}s {', '.join(map(repr, values))}", "import the results of each separately")
    problems.raise_if_any()
    # without the number of examples only times can be compared: all train to the same target
    if any(row.examples is None for row in rows):
        rows = [
            replace(row, scaling="strong", examples=None, throughput=None, throughput_unit=None)
            for row in rows
        ]
    systems = ", ".join(dict.fromkeys(facts["system"] for facts in said))
    facts = said[0] | {"system": systems}
    rounds = f" {facts['round']}" if facts["round"] else ""
    return Results(
        title=f"MLPerf{rounds} {facts['benchmark']}: {facts['submitter']}, {systems}"[:300],
        began_at=datetime.fromtimestamp(min(begins), UTC).isoformat(),
        facts=facts,
        rows=tuple(rows),
    )


def _events(source: Source, place: str, problems: Problems) -> Iterator[_Event]:
    for number, line in enumerate(source.lines, start=1):
        if not line.startswith(_MARK):
            continue
        try:
            found = json.loads(line.removeprefix(_MARK))
        except (ValueError, RecursionError):
            problems.add(f"{place}, line {number}", "is not JSON after :::MLLOG")
            continue
        event = _event(found if isinstance(found, dict) else {})
        if event is None:
            problems.add(f"{place}, line {number}", "has no key, or no time_ms or time_s")
        else:
            yield event


def _event(found: dict[str, Any]) -> _Event | None:
    time_s = _number(found.get("time_s"))
    if time_s is None and (time_ms := _number(found.get("time_ms"))) is not None:
        time_s = time_ms / 1000
    key, metadata = found.get("key"), found.get("metadata")
    if time_s is None or not 0 <= time_s < 4e9 or not isinstance(key, str):
        return None
    return _Event(
        time_s=time_s,
        key=key,
        value=found.get("value"),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _number(value: Any) -> float | None:
    """A finite number, also as text; null if it is none."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", value, re.ASCII):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e18 and math.isfinite(value) else None


def _text(events: Sequence[_Event], key: str) -> str:
    """The last value of a key that is a name and no placeholder; empty without one."""
    for event in reversed(events):
        if event.key == key and isinstance(event.value, str) and _NAME.fullmatch(event.value):
            return "" if _PLACEHOLDER in event.value else event.value
    return ""


def _facts(events: Sequence[_Event], path: Path, system: _System | None) -> dict[str, str]:
    found = _ROUND.search(str(path.absolute()))
    return {
        "benchmark": _text(events, "submission_benchmark") or "unknown",
        "submitter": system.submitter if system else _text(events, "submission_org") or "unknown submitter",
        "system": system.name if system else _text(events, "submission_platform") or "unknown system",
        "division": _text(events, "submission_division"),
        "round": f"v{found[1]}" if found else "",
    }


def _system(path: Path, place: str, problems: Problems) -> _System | None:
    """systems/SYSTEM.json of a result in MLCommons' folders; null if there is none."""
    parents = path.absolute().parents
    if len(parents) < 5 or parents[2].name != "results":
        return None
    name, submitter = parents[1].name, parents[3].name
    described = parents[3] / "systems" / f"{name}.json"
    try:
        if not described.is_file():
            return None
        if described.stat().st_size > _LARGEST_SYSTEM_BYTES:
            raise ValueError("it is too large")
        found = json.loads(described.read_text(encoding="utf-8"))
        nodes, each = (
            _whole(found[key], LARGEST_WORLD) for key in ("number_of_nodes", "accelerators_per_node")
        )
    except KeyError as error:
        problems.add(
            place, f"{described.name} has no {error}; add it, or move the file away and give --world"
        )
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        problems.add(
            place, f"{described.name}: cannot be used: {str(error)[:80]}; move it away and give --world"
        )
        return None
    if nodes is None or each is None:
        problems.add(
            place, f"{described.name}: number_of_nodes and accelerators_per_node are no whole numbers"
        )
        return None
    gpu = found.get("accelerator_model_name")
    return _System(
        name=name,
        submitter=submitter,
        nodes=nodes,
        ranks=nodes * each,
        gpu=gpu if isinstance(gpu, str) and _NAME.fullmatch(gpu) else None,
    )


def _whole(value: Any, largest: int) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) and 0 < number <= largest else None


def _training(
    events: Sequence[_Event],
    place: str,
    system: _System | None,
    world: int | None,
    problems: Problems,
    *,
    has_bad_system: bool,
) -> Measurement | None:
    """The row; null if it has problems, which are added to `problems`. `has_bad_system`: whether they already
    say why its system is unknown."""
    begins = [event for event in events if event.key == "run_start"]
    ends = [event for event in events if event.key == "run_stop"]
    before = problems.count
    if not begins or not ends:
        problems.add(place, f"has no {'run_stop' if begins else 'run_start'}: the log is not complete")
        return None
    begin, end = min(event.time_s for event in begins), max(event.time_s for event in ends)
    if end <= begin:
        problems.add(place, "run_stop is not after run_start")
        return None
    if max(event.time_s for event in begins) > min(event.time_s for event in ends):
        problems.add(place, "has several trainings, one after the other: give each a file of its own")
    if end - begin > LARGEST_S:
        problems.add(place, f"the run takes {end - begin:,.0f} s: {LARGEST_S:,.0f} s at most")
    benchmark = _text(events, "submission_benchmark").lower()
    if not CASE.fullmatch(benchmark):
        problems.add(place, "has no submission_benchmark")
    ranks = system.ranks if system else world
    if system and world and world != system.ranks:
        problems.add(place, f"systems/ says {system.ranks:,} GPUs, not {world:,}: leave --world out")
    if ranks is None and not has_bad_system:
        problems.add(
            place, "the number of GPUs is not known: give --world, or keep MLCommons' folders with systems/"
        )
    if ranks is not None and ranks > LARGEST_WORLD:
        problems.add(place, f"{ranks:,} GPUs: {LARGEST_WORLD:,} at most; correct --world or systems/")
    seconds = end - begin
    training_s = seconds - _evaluating_s(events, begin, end)
    if training_s <= 0:
        problems.add(place, "evaluations take the whole time between run_start and run_stop")
    if problems.count > before or ranks is None:
        return None
    samples = _samples(events, benchmark, training_s)
    status = next((event.metadata.get("status") for event in reversed(ends)), None)
    batch = next(
        (_whole(event.value, LARGEST_BATCH) for event in events if event.key == "global_batch_size"), None
    )
    return Measurement(
        place=place,
        case=benchmark,
        scaling="weak",
        world_size=ranks,
        nodes=system.nodes if system else 1,
        repeat=0,
        seconds=seconds,
        throughput=samples / training_s if samples else None,
        throughput_unit="examples/s" if samples else None,
        examples=samples,
        training_s=training_s,
        reached=status == "success",
        error=None if status == "success" else "it did not reach the target: run_stop has no status success",
        workload=f"mlperf:{benchmark}",
        device_type="cuda" if system and system.gpu and "NVIDIA" in system.gpu.upper() else None,
        device_name=system.gpu if system else None,
        batch_per_rank=batch // ranks if batch and batch % ranks == 0 else None,
        global_batch=batch,
    )


def _samples(events: Sequence[_Event], benchmark: str, training_s: float) -> int | None:
    """Samples that were trained when the last evaluation began; null if the log does not say it without doubt."""
    counted: dict[str, float] = {}
    for event in events:
        if event.key.startswith(("eval_", "block_stop")):
            for key in ("samples_count", "epoch_num"):
                if number := _number(event.metadata.get(key)):
                    counted[key] = number
    sizes = [number for event in events if event.key == "train_samples" and (number := _number(event.value))]
    reported = _reported_throughputs(events)
    samples = counted.get("samples_count")
    if samples is None and reported and sizes and (epochs := counted.get("epoch_num")):
        samples = epochs if epochs == sizes[-1] else epochs * sizes[-1]
    if samples is None or samples <= 0:
        return None
    # the log reports throughput over other intervals, so the two are about equal
    if reported and abs(math.log(samples / training_s / median(reported))) >= _AGREE:
        return None
    if benchmark in _COUNT_TOKENS:
        lengths = [event.value for event in events if event.key == "max_sequence_length"]
        length = _number(lengths[-1]) if lengths else None
        if not length or samples % length:
            return None
        samples /= length
    return round(samples) if 0 < samples <= LARGEST_COUNT else None


def _reported_throughputs(events: Sequence[_Event]) -> list[float]:
    stats = [
        event.value for event in events if event.key == "tracked_stats" and isinstance(event.value, dict)
    ]
    return [
        number for each in stats if (number := _number(each.get("throughput"))) is not None and number > 0
    ]


def _evaluating_s(events: Sequence[_Event], begin: float, end: float) -> float:
    """Time of evaluations between run_start and run_stop. Several ranks may log the same one; one without an end lasts
    until run_stop."""
    total, began = 0.0, None
    for event in sorted(events, key=lambda one: one.time_s):
        if not begin <= event.time_s <= end:
            continue
        if event.key == "eval_start" and began is None:
            began = event.time_s
        elif event.key == "eval_stop" and began is not None:
            total, began = total + event.time_s - began, None
    return total if began is None else total + end - began
