"""Steps of every shape: the host of each rank, the record of Slurm's answer, and the warnings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import pytest

from tests.e2e.cluster.studies import ONE_TASK_PER_NODE, Step, Study, tell

SUITE = {
    "title": "Shapes",
    "why": "To see who hosts what.",
    "workload": {"name": "spiral_mlp"},
    "measure": {"warmup": 1, "steps": 3, "repeats": 1, "timeout_s": 60},
    "cases": [
        {
            "name": "ddp",
            "strategy": "ddp",
            "scaling": "weak",
            "batch_per_rank": 4,
            "world": [1, 2, "1x4", "2x2", 8],
        }
    ],
}
ALL_OF_8 = {"ddp.1x1.r0": 1, "ddp.1x2.r0": 2, "ddp.1x4.r0": 4, "ddp.2x2.r0": 4, "ddp.2x4.r0": 8}
ON_FEW_CORES = "each node gives "
"""Start of the warning for any shape on a small machine."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The request for a step, and the expected results."""

    srun: str
    ranks: dict[str, int]
    """Number of ranks of each run that fits; the others are skipped."""
    facts: dict[str, dict[str, str]]
    """Some of the expected facts of each node."""
    warnings: list[str] = field(default_factory=list)
    """Start of each warning, in order."""


SHAPES = {
    "one task per node": Shape(
        srun=ONE_TASK_PER_NODE,
        ranks=ALL_OF_8,
        facts={
            "n1": {"slurm_gpu_ids": "0,1,2,3", "task0_slots": "4", "slurm_gpus_per_node_requested": "4"},
            "n2": {"slurm_gpu_ids": "0,1,2,3", "task1_slots": "4", "slurm_gpus_on_node": "4"},
        },
        warnings=["each node gives 4 slots and 1 CPU: ranks share cores"],
    ),
    "one task per GPU": Shape(
        srun="-N2 --ntasks-per-node=2 --gpus-per-task=1",
        ranks={"ddp.1x1.r0": 1, "ddp.1x2.r0": 2, "ddp.2x2.r0": 4},
        facts={
            "n1": {f"task{task}_slots": "1" for task in range(2)}
            | {f"task{task}_gpu_ids": str(task) for task in range(2)}
            | {"slurm_tres_per_task": "gres/gpu=1", "slurm_gpus_on_node": "2"},
            "n2": {f"task{2 + task}_slots": "1" for task in range(2)}
            | {f"task{2 + task}_gpu_ids": str(task) for task in range(2)}
            | {"slurm_step_tasks_per_node": "2(x2)"},
        },
    ),
    "four tasks that share a node's GPUs": Shape(
        srun="-N1 --ntasks=4 --gpus-per-node=4",
        ranks={"ddp.1x1.r0": 1, "ddp.1x2.r0": 2, "ddp.1x4.r0": 4},
        facts={
            "n1": {f"task{task}_slots": "1" for task in range(4)}
            | {f"task{task}_gpu_ids": "0,1,2,3" for task in range(4)}
        },
    ),
    "nothing but a number of GPUs": Shape(
        srun="--gpus 8",
        ranks=ALL_OF_8,
        facts={
            "n1": {"slurm_gpus_requested": "8", "slurm_gpus_on_node": "4", "task0_slots": "4"},
            "n2": {"slurm_gpus_requested": "8", "slurm_gpus_on_node": "4", "task1_slots": "4"},
        },
        warnings=["each node gives 4 slots and 1 CPU: ranks share cores"],
    ),
    "nodes with different numbers of GPUs": Shape(
        # another job has three of n1's GPUs
        srun="-N2 --gpus=4",
        ranks={"ddp.1x1.r0": 1, "ddp.2x1.r0": 2},
        facts={
            "n1": {"slurm_gpus_on_node": "1", "task0_slots": "1"},
            "n2": {"slurm_gpus_on_node": "3", "task1_slots": "3", "slurm_gpus_requested": "4"},
        },
        warnings=["the nodes of this step have different numbers of slots (n1 1, n2 3)"],
    ),
}
"""Every shape has more tasks than some run needs, and runs that need some or all of them."""


class Held:
    """A session in a step of some shape."""

    def __init__(self, study: Study, shape: Shape, step: Step) -> None:
        self.study, self.shape, self.step = study, shape, step

    @cached_property
    def environment(self) -> dict[str, dict[str, str]]:
        return self.study.environment("s")


@pytest.fixture(scope="module", params=SHAPES)
def held(request: pytest.FixtureRequest, cluster: Any, image: str) -> Held:
    shape = SHAPES[request.param]
    study = Study(cluster, image, re.sub(r"\W", "-", request.param))
    (study.folder / "shapes.yaml").write_text(json.dumps(SUITE))
    uneven = request.param == "nodes with different numbers of GPUs"
    other = cluster.background("exec srun -w n1 --gpus=3 sleep 100") if uneven else None
    if other:
        cluster.run("until squeue --noheader --states running | grep -q .; do sleep 0.1; done")
    step = study.finish("./shapes.yaml --device cpu --session s", shape.srun)
    if other:
        cluster.run("scancel --user user")
        other.wait(30)
    return Held(study, shape, step)


def test_every_run_that_fits_is_ok_and_the_others_say_what_they_need(held: Held) -> None:
    assert held.step.wait() == 0, held.step.said
    runs = held.study.asked("SELECT run_id, status, world_size, error FROM runs")
    assert {run_id: ranks for run_id, status, ranks, _ in runs if status == "ok"} == held.shape.ranks
    assert all(
        re.match(r"needs \d (slots|nodes|of \d ranks on a node), (each node of )?this", error)
        for *_, error in runs
        if error
    )
    assert len(runs) == 5


def test_the_database_has_every_row_of_every_rank_on_its_node(held: Held) -> None:
    rows = held.study.asked("SELECT run_id, rank, node, count(*) FROM steps GROUP BY ALL ORDER BY ALL")
    assert rows == [
        (run_id, rank, rank // int(run_id.split(".")[1].split("x")[1]), 4)
        for run_id, ranks in sorted(held.shape.ranks.items())
        for rank in range(ranks)
    ]


def test_what_was_asked_for_and_given_is_recorded_per_node(held: Held) -> None:
    for node, facts in held.shape.facts.items():
        assert facts.items() <= held.environment[node].items()
    keys = held.study.asked("SELECT DISTINCT key FROM environment WHERE key LIKE 'slurm%'")
    assert {("slurm_job_id",), ("slurm_gpus_on_node",), ("slurm_time_limit_s",)} <= set(keys)


def test_a_warning_says_where_they_differ_and_nothing_else_is_warned_of(held: Held) -> None:
    told = [line[7:] for line in held.step.said.splitlines() if line.startswith("bench: ")]
    told = [line for line in told if not line.startswith("other processes use ")]  # on a busy machine
    assert all(line in held.environment["n1"]["warnings"] for line in told)
    expected = held.shape.warnings
    assert [text for text in expected if not any(line.startswith(text) for line in told)] == []
    assert [line for line in told if not line.startswith((*expected, ON_FEW_CORES))] == []


def test_runs_come_one_after_the_other_and_how_soon_is_printed(held: Held) -> None:
    begins = []
    for run_id in held.shape.ranks:
        outcome = held.study.outcome("s", run_id)
        started_s = datetime.fromisoformat(outcome["started_at"]).timestamp()
        begins.append((started_s - held.step.begun_s + outcome["setup_s"], outcome["setup_s"]))
    tell(
        f"srun {held.shape.srun}: first step after {begins[0][0]:.1f} s; begin of later runs to their first step "
        + ", ".join(f"{setup_s:.2f}" for _, setup_s in begins[1:])
        + " s"
    )
    first_steps = [at_s for at_s, _ in begins]
    assert all(setup_s > 0 for _, setup_s in begins)
    assert first_steps == sorted(first_steps)
