"""The runs of `bench shadow`, each with its shadows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.common.custom_part import label
from bench.common.errors import InputError
from bench.machine.slots import detect
from bench.plan.larger_machine import planned
from bench.records.run_spec import PlannedRun, RunSpec
from bench.shadow import shadow_text
from bench.shadow.records import Shadow
from bench.shadow.shadow import shadows, stage_ranks
from bench.suite.models import ResolvedSuite

_LEFT_OUT = ("messages", "flops_per_example", "flops_problem")


@dataclass(frozen=True, kw_only=True)
class Shadowed:
    """A run and its shadows."""

    title: str
    case_name: str
    world_size: int
    nodes: int
    shadows: Sequence[Shadow]
    """Rank 0; with a pipeline a rank of each stage."""
    problem: str | None
    """Why there are no shadows."""
    is_refused: bool
    """Whether the problem is an error of input, and not a run that is skipped."""

    def lines(self) -> list[str]:
        if self.problem is not None:
            return [f"{self.title}: no shadow: {self.problem}"]
        return shadow_text.lines(self.title, self.shadows)

    def to_json(self) -> dict[str, Any]:
        return {
            "case_name": self.case_name,
            "world_size": self.world_size,
            "nodes": self.nodes,
            "problem": self.problem,
            "shadows": [
                {
                    **{key: value for key, value in one.to_json().items() if key not in _LEFT_OUT},
                    "messages": [dataclasses.asdict(each) for each in one.sums()],
                }
                for one in self.shadows
            ],
        }


def shadows_of_suite(suite: ResolvedSuite, options: Mapping[str, Any]) -> list[Shadowed]:
    """One for each case and world size. `options`: those of the command line. Raises InputError if the suite cannot be
    planned."""
    runs = planned(suite, detect(options["ranks_per_node"]), options["data_root"])
    asked = [
        [(run.spec, rank) for rank in stage_ranks(run.spec)] if run.skip_reason is None else []
        for run in runs
    ]
    found = iter(shadows([one for each in asked for one in each], timeout_s=options["timeout_s"]))
    return [_shadowed(run, [next(found) for _ in each]) for run, each in zip(runs, asked, strict=True)]


def _shadowed(run: PlannedRun, found: Sequence[Shadow | InputError]) -> Shadowed:
    spec = run.spec
    refused = next((one for one in found if isinstance(one, InputError)), None)
    return Shadowed(
        title=_title(spec),
        case_name=spec.case_name,
        world_size=spec.world_size,
        nodes=spec.nodes,
        shadows=[] if refused else [one for one in found if isinstance(one, Shadow)],
        problem=run.skip_reason if refused is None else str(refused),
        is_refused=refused is not None,
    )


def _title(spec: RunSpec) -> str:
    ranks = f"on {spec.world_text} rank{'s' * (spec.world_size > 1)}"
    if spec.runs_a_script:
        return f"{' '.join(spec.workload_options['command'])} {ranks}"
    title = f"{spec.case_name}: {label(spec.strategy)} {ranks}, {spec.train.precision}"
    if spec.batch_per_rank:  # 0 if the batch does not divide
        title += f", batch {spec.batch_per_rank} per rank"
    return title
