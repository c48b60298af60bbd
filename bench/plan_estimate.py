"""How long a plan will take, from the same runs measured earlier."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.files import read_json
from bench.plan import by_size, most_runs
from bench.plan_batch import candidates, pending_sizes, probe_of
from bench.records.run_spec import PlannedRun, RunSpec

_VOLATILE = (
    "session_id",
    "run_id",
    "attempt",
    "repeat",
    "tags",
    "baseline",
    "oversubscribed",
    "data_root",
    "find_batch",
    "trace",  # of the steps that it is of, `profiled` of `measure` tells
)
"""What differs between runs that take equally long."""
_OF_ALL_RUNS = ("repeats", "until", "max_repeats", "timeout_s", "memory_limit_bytes", "selfcheck")
"""What `measure` says of no single run, or what only the first repeat has."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Time of all runs one after another."""

    runs: int
    """Runs that are to be run; skipped ones take no time."""
    runs_at_most: int
    """With the repeats that measure.until may add."""
    probes_at_most: int
    """Runs that find_batch needs before them."""
    known: int
    """Those of them that were measured earlier."""
    known_s: float
    """Time of the known ones and of the probing runs that are known, start-up included."""
    limit_s: float
    """The longest that all may take before they are ended, those that may be added and probing runs included."""
    gpu_hours: float
    """Of the known ones; ranks on a GPU times hours."""
    gpu_hours_limit: float


def estimate(plan: tuple[PlannedRun, ...], results: Path) -> Estimate:
    """From `results`, whatever of it can be read; a folder that does not exist holds nothing."""
    hosted = [run for run in plan if run.skip_reason is None]
    before = earlier(results, {run.spec.suite for run in hosted}) if hosted else {}
    probes = [probe_of(run, size, None) for run in pending_sizes(hosted) for size in candidates(run.spec)]
    known = [(run, before[kind]) for run in (*hosted, *probes) if (kind := key(run.spec)) in before]
    limits_s = [(runs[0], _most(runs) * runs[0].spec.measure.timeout_s) for runs in by_size(hosted)]
    return Estimate(
        runs=len(hosted),
        runs_at_most=most_runs(hosted),
        probes_at_most=len(probes),
        known=sum(not run.spec.probe for run, _ in known),
        known_s=sum(seconds for _, seconds in known),
        limit_s=sum(seconds for _, seconds in limits_s),
        gpu_hours=sum(_gpus(run) * seconds for run, seconds in known) / 3600,
        gpu_hours_limit=sum(_gpus(run) * seconds for run, seconds in limits_s) / 3600,
    )


def _most(runs: list[PlannedRun]) -> int:
    """Runs of a size, probing ones included."""
    return most_runs(runs) + (len(candidates(runs[0].spec)) if runs[0].pending else 0)


def _gpus(run: PlannedRun) -> int:
    return run.spec.world_size if run.spec.device_type == "cuda" else 0


def earlier(results: Path, suites: set[str]) -> dict[str, float]:
    """Median seconds by what was run (`key`), from every run of the suites below `results` that was ok."""
    seconds: dict[str, list[float]] = {}
    for suite in suites:
        for kind, elapsed in _finished(results, suite):
            seconds.setdefault(kind, []).append(elapsed)
    return {kind: statistics.median(values) for kind, values in seconds.items()}


def _finished(results: Path, suite: str) -> Iterator[tuple[str, float]]:
    for path in results.glob("*/*/run.json"):
        try:
            run = read_json(path)
            if run["spec"]["suite"] == suite and run["outcome"]["status"] == "ok":
                spec = RunSpec.from_json(run["spec"])  # fills in what is newer than the file
                yield key(spec), float(run["outcome"]["elapsed_s"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # `bench load` is who complains about damaged files; here they only are no evidence


def key(run: RunSpec) -> str:
    """Equal for runs that take equally long."""
    kept = {name: value for name, value in run.to_json().items() if name not in _VOLATILE}
    measure = {name: value for name, value in kept["measure"].items() if name not in _OF_ALL_RUNS}
    if run.find_batch is not None and not run.probe:  # found anew in each session
        kept["train"] = kept["train"] | {"accumulate": None}
    return json.dumps(kept | {"measure": measure}, sort_keys=True)
