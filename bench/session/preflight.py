"""Report once, before anything is written, what would fail in every run: missing data, no CUDA."""

from __future__ import annotations

import json
from typing import Any

from bench.agent.fork_server import WarmServer
from bench.common.errors import InputError
from bench.records.run_spec import PlannedRun, RunSpec


def check(server: WarmServer, plan: tuple[PlannedRun, ...]) -> None:
    """Prepare every distinct workload of the plan once. Raises InputError with all problems."""
    jobs: dict[str, dict[str, Any]] = {}
    for run in plan:
        if run.skip_reason is None:
            job = question(run.spec)
            jobs.setdefault(json.dumps({**job, "case_name": None, "seed": None}, sort_keys=True), job)
    problems = json.loads(server.ask("bench.train.preflight", json.dumps(list(jobs.values()))))
    if problems:
        raise InputError("\n".join(problems))


def question(spec: RunSpec) -> dict[str, Any]:
    """The fields of a run that bench/train/preflight.py needs."""
    return {
        "case_name": spec.case_name,
        "workload": spec.workload,
        "strategy": spec.strategy,
        "options": spec.workload_options,
        "source": spec.data.source,
        "data_root": spec.data_root,
        "device_type": spec.device_type,
        "precision": spec.train.precision,
        "compile": spec.train.compile,
        "checkpointing": spec.train.checkpointing,
        "validate_every": spec.measure.validate_every,
        "seed": spec.seed,
    }
