"""pp: every rank has some of the layers (pipeline parallelism), and all train one batch; `mesh` combines it with
others. The workload makes the stages, by its method stages. The micro-batches of train.accumulate pass through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from bench.strategies._layout import Layout, Schedule, stages_of_a_rank
from bench.strategies._meshed import MeshedStrategy


@dataclass(frozen=True, kw_only=True)
class PpOptions:
    """Options of pipeline parallelism over all ranks."""

    schedule: Schedule = "1f1b"
    """Order of the micro-batches. `gpipe`: all forward, then all backward; `1f1b`: alternately; `interleaved`:
    likewise, with several stages per rank; `zero_bubble`: backward of the weights fills the gaps."""
    stages_per_rank: Annotated[int, Ge(1), Le(1_000)] | None = None
    """Stages of each rank. null: 2 with interleaved, else 1."""

    def __post_init__(self) -> None:
        stages_of_a_rank("pp", self.schedule, self.stages_per_rank)


class Strategy(MeshedStrategy):
    """A mesh with the dimension pp alone."""

    Options: ClassVar[type[PpOptions]] = PpOptions

    @staticmethod
    def asks_of_workload(options: PpOptions) -> list[str]:  # noqa: ARG004 - the protocol's signature
        return ["stages"]

    @staticmethod
    def layout(options: PpOptions, world_size: int) -> Layout:
        return Layout(
            pp=world_size,
            schedule=options.schedule,
            stages_per_rank=stages_of_a_rank("pp", options.schedule, options.stages_per_rank),
        )
