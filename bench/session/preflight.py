"""Report once, before anything is written, what would fail in every run: missing data, no CUDA, a custom class."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from typing import Any

from bench.agent.fork_server import WarmServer
from bench.common.errors import InputError
from bench.common.own_function import SCHEDULE
from bench.records.run_spec import PlannedRun, RunSpec


def check(server: WarmServer, plan: tuple[PlannedRun, ...]) -> None:
    """Prepare every distinct workload of the plan once. Raises InputError with all problems."""
    jobs: dict[str, dict[str, Any]] = {}
    for run in plan:
        if run.skip_reason is None:
            job = question(run.spec)
            alike = json.dumps(
                {**job, "case_names": None, "seed": None, "global_batch": None}, sort_keys=True
            )
            names = jobs.setdefault(alike, job)["case_names"]
            if run.spec.case_name not in names:
                names.append(run.spec.case_name)
    problems = json.loads(server.ask("bench.train.preflight", json.dumps(list(jobs.values()))))
    if problems:
        raise InputError("\n".join(problems))


def question(spec: RunSpec) -> dict[str, Any]:
    """The fields of a run that bench/train/preflight.py needs."""
    return {
        **spec.workload_with_data,
        "case_names": [spec.case_name],
        "strategy": spec.strategy,
        "strategy_options": spec.strategy_options,
        "device_type": spec.device_type,
        "train": dataclasses.asdict(replace(spec.train, accumulate=1, micro_batch=None)),
        "global_batch": spec.global_batch,
        "measure": _length(spec),
        "validate_every": spec.measure.validate_every,
    }


def _length(spec: RunSpec) -> dict[str, Any]:
    """The keys of `measure` that say how long the run is; constant unless a schedule may refuse a step, because jobs
    that are alike are checked once."""
    if not SCHEDULE.is_own(spec.train.lr_schedule) and not spec.train.lr_schedule_options:
        return {"warmup": 0, "steps": 1}
    return {key: getattr(spec.measure, key) for key in ("warmup", "steps", "epochs")}
