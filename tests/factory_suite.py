"""The suite in session.json of tests/factory.py: the requested cases, and the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.records.run_spec import RunSpec

if TYPE_CHECKING:
    from tests.factory import Case


def resolved(suite: str, cases: Sequence[Case]) -> dict[str, Any]:
    """The suite as session.json has it: the settings of the cases, but no measurements."""
    return {"name": suite, "title": f"The suite {suite}", "cases": [_settings(case) for case in cases]}


def _settings(case: Case) -> dict[str, Any]:
    strong = case.scaling == "strong"
    return {
        "name": case.name,
        "strategy": {"name": case.strategy},
        "scaling": case.scaling,
        "batch_per_rank": None if strong else case.batch,
        "global_batch": case.batch if strong else None,
        "world": list(case.step_ms) if case.axis == "ranks" else [1],
        "threads": list(case.step_ms) if case.axis == "threads" else None,
        "baseline": case.baseline,
        "device": case.device_type,
        "workload": {"name": case.workload, **case.options},
        "train": {"precision": case.precision},
        "measure": {
            "warmup": case.warmup,
            "steps": case.steps,
            "repeats": case.repeats,
            "validate_every": case.validate_every,
        },
    }


def planned(case: Case, spec: RunSpec) -> dict[str, Any]:
    names = ("run_id", "case_name", "strategy", "scaling", "axis", "workers", "world_size")
    names += ("nodes", "ranks_per_node", "threads", "repeat", "round", "position")
    skipped = case.statuses.get((spec.workers, spec.repeat)) == "skipped"
    reason = f"{spec.world_size} ranks on 1 slot" if skipped else None
    return {**{name: getattr(spec, name) for name in names}, "skip_reason": reason}
