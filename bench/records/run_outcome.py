"""How a run ended: `outcome` in run.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from bench.records.vocabulary import Positive, Seconds, Size, Status, UtcTime, Whole


def work_of_ranks(*, tokens: Sequence[float], examples: Sequence[float]) -> str | None:
    """RunOutcome.work_of_ranks, from each rank's mean over the measured steps; zeros were not counted."""
    for unit, per_step in (("tokens", tokens), ("examples", examples)):
        if len(per_step) > 1 and all(per_step):
            return json.dumps({"unit": unit, "per_step": list(per_step)})
    return None


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended. Null is unknown or does not apply. The table `runs` has columns of the same names."""

    status: Status
    error: str | None = None
    """Why the status is not ok."""
    skipped_for: Literal["time", "agents", "search", "command"] | None = None
    """The resource that was missing; `command`: the command's first run ended as each would. A resume runs the run."""
    failed_rank: Whole | None = None
    """The rank that failed first; null if no rank is to blame."""
    failed_node: Whole | None = None
    started_at: UtcTime | None = None
    elapsed_s: Seconds | None = None
    """From its start to its end, including start-up."""
    setup_s: Seconds | None = None
    """From its start to the ranks' common barrier."""
    compile_s: Seconds | None = None
    """Time of torch.compile on the slowest rank."""
    measured_recompiles: Whole | None = None
    device_name: str | None = None
    parameters: Size | None = None
    units: Whole | None = None
    """Parts of the model that FSDP shards separately."""
    examples_per_step: Positive | None = None
    """Mean over the measured steps, if the workload counts its examples; null: the global batch."""
    tokens_per_example: Positive | None = None
    """A mean if the workload counts its tokens."""
    couples_examples: bool | None = None
    """Whether the loss of an example depends on the other examples of its batch."""
    metric: str | None = None
    """The workload's name for its score of validation; null: accuracy."""
    same_batch: bool | None = None
    """Whether all ranks had the same first batch; null for one rank, or one group of ranks that shares its batch."""
    work_of_ranks: str | None = None
    """Tokens of each rank in a mean measured step, or its examples, as JSON with `unit` and `per_step`; null if neither
    is counted, and for one rank."""
    ranks_train: Literal["one model", "independent copies"] | None = None
    """Whether the ranks of a command combine their gradients; null for one rank, other workloads, and if unknown."""
    recorded_by: str | None = None
    """How the probe obtained each figure of a command, as JSON; null for other workloads."""
    profile_problem: str | None = None
    """Why a rank has no rows of profiled steps although steps were profiled."""
    ranks_ended: Whole | None = None
    """Ranks that did not end after they had stored all of their rows, and were ended. Their rows are complete."""
    flops_per_step: float | None = None
    """FLOPs of one optimizer step over all ranks."""
    flops_note: str | None = None
    """Why FLOPs were not counted."""
    dataset_size: Size | None = None
    data_source: str | None = None
    memory_before_bytes: Size | None = None
    steps_completed: Whole | None = None
    """The smallest number over all ranks, including warm-up."""
    slurm_job_id: str | None = None
    finalised: bool | None = None
    """False while its rows are raw files, which `bench load` converts to Parquet."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunOutcome:
        """Ignores fields that another version may have added. Raises TypeError without a status."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: item for name, item in value.items() if name in known})
