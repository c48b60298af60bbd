"""How long a plan will take, from the same runs measured earlier."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.files import read_json
from bench.spec import PlannedRun, RunSpec

_VOLATILE = ("session_id", "run_id", "attempt", "repeat", "tags", "baseline", "oversubscribed", "data_root")
"""What differs between runs that take equally long."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Time of all runs one after another."""

    runs: int
    """Runs that are to be run; skipped ones take no time."""
    known: int
    """Those of them that were measured earlier."""
    known_s: float
    """Time of the known ones, start-up included."""
    limit_s: float
    """The longest that all may take before they are ended."""
    gpu_hours: float
    """Of the known ones; ranks on a GPU times hours."""
    gpu_hours_limit: float


def estimate(plan: tuple[PlannedRun, ...], results: Path) -> Estimate:
    """From `results`, whatever of it can be read; a folder that does not exist holds nothing."""
    hosted = [run for run in plan if run.skip_reason is None]
    earlier = _earlier(results, {run.spec.suite for run in hosted}) if hosted else {}
    known = [(run, earlier[key]) for run in hosted if (key := _key(run.spec.to_json())) in earlier]
    return Estimate(
        runs=len(hosted),
        known=len(known),
        known_s=sum(seconds for _, seconds in known),
        limit_s=sum(run.spec.measure.timeout_s for run in hosted),
        gpu_hours=sum(_gpus(run) * seconds for run, seconds in known) / 3600,
        gpu_hours_limit=sum(_gpus(run) * run.spec.measure.timeout_s for run in hosted) / 3600,
    )


def _gpus(run: PlannedRun) -> int:
    return run.spec.world_size if run.spec.device_type == "cuda" else 0


def _earlier(results: Path, suites: set[str]) -> dict[str, float]:
    """Median seconds by what was run."""
    seconds: dict[str, list[float]] = {}
    for suite in suites:
        for key, elapsed in _finished(results, suite):
            seconds.setdefault(key, []).append(elapsed)
    return {key: statistics.median(values) for key, values in seconds.items()}


def _finished(results: Path, suite: str) -> Iterator[tuple[str, float]]:
    for path in results.glob("*/*/run.json"):
        try:
            run = read_json(path)
            if run["spec"]["suite"] == suite and run["outcome"]["status"] == "ok":
                spec = RunSpec.from_json(run["spec"])  # fills in what is newer than the file
                yield _key(spec.to_json()), float(run["outcome"]["elapsed_s"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # `bench load` is who complains about damaged files; here they only are no evidence


def _key(spec: dict[str, Any]) -> str:
    kept = {key: value for key, value in spec.items() if key not in _VOLATILE}
    measure = {key: value for key, value in spec["measure"].items() if key not in ("repeats", "timeout_s")}
    return json.dumps(kept | {"measure": measure}, sort_keys=True)
