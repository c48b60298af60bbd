"""cp: every rank has a part of each sequence (context parallelism), and all train one batch; `mesh` combines it with
others. Parameters are sharded over these ranks as under fsdp. GPUs only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bench.strategies._layout import Layout
from bench.strategies._meshed import MeshedStrategy


@dataclass(frozen=True, kw_only=True)
class CpOptions:
    """No options."""


class Strategy(MeshedStrategy):
    """A mesh with the dimension cp alone."""

    Options: ClassVar[type[CpOptions]] = CpOptions

    @staticmethod
    def asks_of_workload(options: CpOptions) -> list[str]:  # noqa: ARG004 - the protocol's signature
        return ["cp_batch"]

    @staticmethod
    def layout(options: CpOptions, world_size: int) -> Layout:  # noqa: ARG004 - the protocol's signature
        return Layout(cp=world_size)
