"""tp: every rank has a part of each layer (tensor parallelism), and all train one batch; `mesh` combines it with
others. The workload says by its method tp_plan how its layers are divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bench.strategies._layout import Layout
from bench.strategies._meshed import MeshedStrategy


@dataclass(frozen=True, kw_only=True)
class TpOptions:
    """Options of tensor parallelism over all ranks."""

    sequence_parallel: bool = False
    """Also shard the activations between the divided layers, along the sequence."""


class Strategy(MeshedStrategy):
    """A mesh with the dimension tp alone."""

    Options: ClassVar[type[TpOptions]] = TpOptions

    @staticmethod
    def asks_of_workload(options: TpOptions) -> list[str]:  # noqa: ARG004 - the protocol's signature
        return ["tp_plan"]

    @staticmethod
    def layout(options: TpOptions, world_size: int) -> Layout:
        return Layout(tp=world_size, sequence_parallel=options.sequence_parallel and world_size > 1)
