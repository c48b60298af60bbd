"""How a run went: `outcome` of run.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from bench.records.vocabulary import Count, Seconds, Size, Status, UtcTime, Whole


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """Null is unknown, or does not apply. The table `runs` has columns of the same names."""

    status: Status
    error: str | None = None
    """Why it is not ok."""
    skipped_for: Literal["time", "agents", "search"] | None = None
    """What a resume may have that this session lacked; it runs the run then."""
    failed_rank: Whole | None = None
    """Where a fault began; null if no rank is to blame."""
    failed_node: Whole | None = None
    started_at: UtcTime | None = None
    elapsed_s: Seconds | None = None
    """From its beginning to its end, start-up included."""
    setup_s: Seconds | None = None
    """From its beginning to the ranks' common barrier."""
    compile_s: Seconds | None = None
    """torch.compile's, of the slowest rank."""
    measured_recompiles: Whole | None = None
    device_name: str | None = None
    parameters: Size | None = None
    units: Whole | None = None
    """Parts of the model that FSDP shards one by one."""
    tokens_per_example: Count | None = None
    couples_examples: bool | None = None
    """Whether an example's loss depends on the others of its batch."""
    flops_per_step: float | None = None
    """Of one optimizer step over all ranks."""
    flops_note: str | None = None
    """Why FLOPs were not counted."""
    dataset_size: Size | None = None
    data_source: str | None = None
    memory_before_bytes: Size | None = None
    steps_completed: Whole | None = None
    """The smallest count over ranks, warm-up included."""
    slurm_job_id: str | None = None
    finalised: bool | None = None
    """False while its rows are raw files, of which `bench load` makes Parquet."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunOutcome:
        """Leaves out what another version of this program may have added. Raises TypeError without a status."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: item for name, item in value.items() if name in known})
