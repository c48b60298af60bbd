"""tp: every rank has a part of each layer (tensor parallelism), and all train one batch; `mesh` combines it with
others. The workload says by its method tp_plan how its layers are divided."""

from __future__ import annotations

from dataclasses import dataclass

from bench.strategies import mesh


@dataclass(frozen=True, kw_only=True)
class TpOptions:
    """Options of tensor parallelism over all ranks."""

    sequence_parallel: bool = False
    """Also shard the activations between the divided layers, along the sequence."""


class Strategy(mesh.Strategy):
    """A mesh with the dimension tp alone."""

    Options = TpOptions

    @staticmethod
    def sizes(options: TpOptions, world_size: int) -> mesh.MeshOptions:
        sequence_parallel = options.sequence_parallel and world_size > 1
        return mesh.MeshOptions(dp_shard=1, tp=world_size, sequence_parallel=sequence_parallel)

    @staticmethod
    def needs_tp_plan(options: TpOptions) -> bool:  # noqa: ARG004 - the base class's signature
        return True
