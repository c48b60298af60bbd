"""A rank's part in a run that trains nothing and measures the machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from bench import workloads
from bench.measure import rank_tables
from bench.measure.machine.speed import Machine
from bench.measure.recorder import StepFile
from bench.train import process_group

if TYPE_CHECKING:
    import torch

    from bench.records.run_spec import RunSpec
    from bench.train.rank_job import RankJob


def run(job: RankJob, spec: RunSpec, device: torch.device) -> dict[str, Any]:
    """Measure, with the process group joined. Returns the part of the rank's outcome that depends on the workload."""
    kind = workloads.load_machine(spec.workload)
    workload = kind(kind.Options(**spec.workload_options), spec.data.source, spec.data_root, spec.seed)
    assert spec.measure.steps is not None, "the suite's check requires steps"
    writer = rank_tables.Writer(node=job.node, local_task=job.local_task, rank=job.rank)
    barrier = partial(process_group.barrier, device)
    # A recorder file without steps, for the run's common zero, from which the sensors' times count.
    file = StepFile(job.step_file(), 0, job.identity(spec))
    barrier()
    file.barrier(perf_counter_ns())
    workload.measure(
        Machine(
            device=device,
            rank=job.rank,
            world_size=spec.world_size,
            ranks_per_node=spec.ranks_per_node,
            precision=spec.train.precision,
            warmup=spec.measure.warmup,
            iterations=spec.measure.steps,
            barrier=barrier,
            keep=lambda table, rows: rank_tables.append(Path(job.scratch), table, writer, rows),
        )
    )
    barrier()
    process_group.leave()
    return dict.fromkeys(("parameters", "dataset_size", "tokens_per_example", "couples_examples"))
