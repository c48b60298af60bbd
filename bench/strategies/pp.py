"""pp: every rank has some of the layers (pipeline parallelism), and all train one batch; `mesh` combines it with
others. The workload makes the stages, by its method stages. The micro-batches of train.accumulate pass through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from bench.common.errors import InputError
from bench.strategies._layout import Layout, Schedule
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
        if self.schedule in ("gpipe", "1f1b") and (self.stages_per_rank or 1) > 1:
            raise InputError(
                f"pp: stages_per_rank is {self.stages_per_rank}, but the schedule {self.schedule} has one stage per "
                "rank: use schedule: interleaved or zero_bubble"
            )


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
            stages_per_rank=options.stages_per_rank or (2 if options.schedule == "interleaved" else 1),
        )
