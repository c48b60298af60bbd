"""Estimate how long a plan takes, from earlier sessions with the same runs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.common.files import read_json
from bench.plan.find_batch import candidates, pending_sizes, probe_of
from bench.plan.plan import Repeats, by_size, most_runs, repeats_of_cases
from bench.records.run_spec import PlannedRun, RunSpec

_VOLATILE = (
    "session_id",
    "run_id",
    "attempt",
    "repeat",
    "round",
    "position",
    "tags",
    "baseline",
    "oversubscribed",
    "data_root",
    "find_batch",
    "trace",  # the steps that it keeps are counted by measure.profiled
)
"""Fields that differ between runs that take equally long."""
_PROTOCOL_OF_SESSION = (
    "repeats", "until", "until_efficiency", "max_repeats", "timeout_s", "memory_limit_bytes", "selfcheck",
)  # fmt: skip
"""Fields of `measure` that do not change how long a run takes, or only the first repeat's."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Number and time of a plan's runs, one after another."""

    runs: int
    """Runs that are not skipped."""
    runs_at_most: int
    """The same with the repeats that measure.until or until_efficiency may add."""
    probes_at_most: int
    """Probing runs of find_batch before them, at most."""
    known: int
    """Runs whose time is known from earlier sessions."""
    known_s: float
    """Time of the known runs and known probing runs, start-up included."""
    limit_s: float
    """Sum of all timeouts, with the repeats that may be added and the probing runs."""
    gpu_hours: float
    """Ranks on a GPU times hours, of the known runs."""
    gpu_hours_limit: float
    """The same by the timeouts."""


def estimate(plan: tuple[PlannedRun, ...], results: Path) -> Estimate:
    """The estimate for a plan from the readable runs in `results`, a folder that need not exist."""
    hosted = [run for run in plan if run.skip_reason is None]
    before = earlier(results, {run.spec.suite for run in hosted}) if hosted else {}
    probes = [probe_of(run, size, None) for run in pending_sizes(hosted) for size in candidates(run.spec)]
    known = [(run, before[kind]) for run in (*hosted, *probes) if (kind := key(run.spec)) in before]
    repeats = repeats_of_cases(hosted)
    limits_s = [(runs[0], _most(runs, repeats) * runs[0].spec.measure.timeout_s) for runs in by_size(hosted)]
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


def _most(runs: list[PlannedRun], repeats: Mapping[str, Repeats]) -> int:
    """Largest number of runs of a size, probing runs included."""
    probes = len(candidates(runs[0].spec)) if runs[0].pending else 0
    return max(len(runs), repeats[runs[0].spec.case_name].most) + probes


def _gpus(run: PlannedRun) -> int:
    return run.spec.world_size if run.spec.device_type == "cuda" else 0


def earlier(results: Path, suites: set[str]) -> dict[str, float]:
    """Median seconds by `key`, from all ok runs of these suites in `results`."""
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
            continue  # `bench load` reports damaged files


def key(run: RunSpec) -> str:
    """Equal for runs that take equally long."""
    kept = {name: value for name, value in run.to_json().items() if name not in _VOLATILE}
    measure = {name: value for name, value in kept["measure"].items() if name not in _PROTOCOL_OF_SESSION}
    if run.find_batch is not None and not run.probe:  # found again in each session
        kept["train"] = kept["train"] | {"accumulate": None}
    return json.dumps(kept | {"measure": measure}, sort_keys=True)
