"""ep: every rank has some of the experts of a mixture (expert parallelism); everything else is sharded over the ranks
as under fsdp. Tokens travel to their experts and back. `mesh` combines it with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bench.strategies._layout import Layout
from bench.strategies._meshed import MeshedStrategy


@dataclass(frozen=True, kw_only=True)
class EpOptions:
    """No options."""


class Strategy(MeshedStrategy):
    """A mesh with the dimension dp_shard, all of whose ranks share the experts."""

    Options: ClassVar[type[EpOptions]] = EpOptions

    @staticmethod
    def asks_of_workload(options: EpOptions) -> list[str]:  # noqa: ARG004 - the protocol's signature
        return ["experts"]

    @staticmethod
    def layout(options: EpOptions, world_size: int) -> Layout:  # noqa: ARG004
        return Layout(dp_shard=world_size, ep=world_size)
