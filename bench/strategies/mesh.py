"""mesh: data, pipeline and tensor parallelism together, as the dimensions of one DeviceMesh. Their product is the
number of ranks. It uses torch's fully_shard, torch.distributed.pipelining and torch.distributed.tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le

from bench.common.errors import InputError
from bench.strategies._layout import Layout, Schedule, stages_of_a_rank
from bench.strategies._meshed import MeshedStrategy

_Size = Annotated[int, Ge(1), Le(1_000_000)]


@dataclass(frozen=True, kw_only=True)
class MeshOptions:
    """Sizes of the mesh's dimensions. One of dp_replicate and dp_shard may be null."""

    dp_replicate: _Size | None = 1
    """Copies of the model, or of its shards, that train different batches. null: as many as the other dimensions
    leave."""
    dp_shard: _Size | None = None
    """Ranks that train different batches and share one copy of the parameters, as under fsdp. null: as many as the
    other dimensions leave."""
    cp: _Size = 1
    """Ranks that divide each sequence (context parallelism), on GPUs only. The workload says how, by its method
    cp_batch. Parameters are sharded over these ranks, too."""
    tp: _Size = 1
    """Ranks that divide each layer (tensor parallelism). The workload says how, by its method tp_plan."""
    pp: _Size = 1
    """Ranks that divide the layers into stages (pipeline parallelism), by the workload's method stages. The
    micro-batches of train.accumulate pass through them."""
    ep: _Size = 1
    """Ranks that divide the experts of a mixture (expert parallelism): groups of consecutive ranks of dp_shard, which
    the workload's method experts names. Tokens travel to their experts and back."""
    sequence_parallel: bool = False
    """Also shard the activations between the layers that tp divides, along the sequence."""
    async_tp: bool = False
    """Split tp's gathers and reductions so that they overlap with matrix products. It needs sequence_parallel,
    train.compile, and NVIDIA GPUs that reach each other's memory."""
    schedule: Schedule = "1f1b"
    """Order of the micro-batches in the pipeline. `gpipe`: all forward, then all backward; `1f1b`: alternately;
    `interleaved`: likewise, with several stages per rank; `zero_bubble`: backward of the weights fills the gaps."""
    stages_per_rank: _Size | None = None
    """Stages of each rank. null: 2 with interleaved, else 1."""

    def __post_init__(self) -> None:
        if self.dp_replicate is None and self.dp_shard is None:
            raise InputError(
                "mesh: dp_replicate and dp_shard are both null: give one of them, as in dp_shard: 1"
            )
        stages_of_a_rank("mesh", self.schedule, self.stages_per_rank)
        if self.sequence_parallel and self.tp == 1:
            raise InputError("mesh: sequence_parallel needs tp: 2 or more")
        if self.async_tp and not self.sequence_parallel:
            raise InputError("mesh: async_tp needs sequence_parallel: true")


class Strategy(MeshedStrategy):
    """A model on a mesh with all dimensions."""

    Options: ClassVar[type[MeshOptions]] = MeshOptions

    @staticmethod
    def asks_of_workload(options: MeshOptions) -> list[str]:
        sizes = {"cp_batch": options.cp, "tp_plan": options.tp, "stages": options.pp, "experts": options.ep}
        return [method for method, size in sizes.items() if size > 1]

    @staticmethod
    def layout(options: MeshOptions, world_size: int) -> Layout:
        sizes: dict[str, Any] = {"cp": options.cp, "tp": options.tp, "pp": options.pp}
        sizes |= {"dp_replicate": options.dp_replicate, "dp_shard": options.dp_shard}
        for name, size in sizes.items():
            if size is None:
                known = (
                    options.cp
                    * options.tp
                    * options.pp
                    * (options.dp_replicate or 1)
                    * (options.dp_shard or 1)
                )
                sizes[name] = max(1, world_size // known)
        return Layout(
            **sizes,
            ep=options.ep,
            sequence_parallel=options.sequence_parallel,
            async_tp=options.async_tp,
            schedule=options.schedule,
            stages_per_rank=stages_of_a_rank("mesh", options.schedule, options.stages_per_rank),
        )
