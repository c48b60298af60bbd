"""The sizes of the dimensions of a mesh, and whether they fit a number of ranks; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from bench.common.errors import InputError
from bench.records.vocabulary import DeviceType

Schedule = Literal["gpipe", "1f1b", "interleaved", "zero_bubble"]
"""Order of forward and backward of the micro-batches in a pipeline."""


DIMENSIONS = ("dp_replicate", "dp_shard", "cp", "pp", "tp")
"""The dimensions of a mesh, outermost first: ranks that share a batch are consecutive, and those of `tp`, which send
most, are neighbours."""


def stages_of_a_rank(strategy: str, schedule: Schedule, asked: int | None) -> int:
    """Stages of each rank; `asked` null: 2 with interleaved, else 1. Raises InputError if the schedule has only one."""
    if schedule in ("gpipe", "1f1b") and (asked or 1) > 1:
        raise InputError(
            f"{strategy}: stages_per_rank is {asked}, but the schedule {schedule} has one stage per rank: use "
            "schedule: interleaved or zero_bubble"
        )
    return asked or (2 if schedule == "interleaved" else 1)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A complete layout of ranks."""

    dp_replicate: int = 1
    """Copies of the model that train different batches and add up their gradients."""
    dp_shard: int = 1
    """Ranks that train different batches and share one copy of the parameters, as under fsdp."""
    cp: int = 1
    """Ranks that each have a part of every sequence. They share one copy of the parameters, as those of dp_shard."""
    pp: int = 1
    """Ranks that each have some of the layers: the stages of a pipeline."""
    tp: int = 1
    """Ranks that each have a part of every layer."""
    ep: int = 1
    """Ranks, consecutive ones of dp_shard, that each have some of the experts."""
    sequence_parallel: bool = False
    async_tp: bool = False
    schedule: Schedule = "1f1b"
    stages_per_rank: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each of DIMENSIONS."""
        return self.dp_replicate, self.dp_shard, self.cp, self.pp, self.tp

    @property
    def ranks_per_batch(self) -> int:
        return self.cp * self.pp * self.tp

    @property
    def sharding(self) -> int:
        """Ranks that share one copy of the parameters of their layers."""
        return self.dp_shard * self.cp

    @property
    def stages(self) -> int:
        """Stages of the whole pipeline."""
        return self.pp * self.stages_per_rank

    def misfit(self, world_size: int, device_type: DeviceType) -> str | None:
        """Why the layout does not have that many ranks; null if it has."""
        if prod(self.shape) == world_size:
            return self._uneven_experts() or self._unsupported(device_type) or self._lost_gradients()
        product = " x ".join(map(str, self.shape))
        return (
            f"a mesh of {' x '.join(DIMENSIONS)} = {product} has {prod(self.shape)} "
            f"rank{'s' * (prod(self.shape) > 1)}, but world is {world_size}: choose a world that the dimensions "
            "divide, and leave out dp_shard, which then gets the ranks that the others leave"
        )

    def _uneven_experts(self) -> str | None:
        if self.ep == 1:
            return None
        if self.dp_replicate > 1 or self.pp > 1:
            return "ep divides the ranks of dp_shard: use dp_replicate: 1 and pp: 1 with it"
        if self.dp_shard % self.ep:
            return (
                f"{self.dp_shard} ranks of dp_shard do not divide into groups of {self.ep} that share experts (ep): "
                f"{self.dp_shard} / {self.ep} = {self.dp_shard / self.ep:g}"
            )
        return None

    def _lost_gradients(self) -> str | None:
        if self.schedule == "zero_bubble" and self.pp > 1 and self.dp_replicate * self.sharding > 1:
            return (
                "under the schedule zero_bubble torch loses a part of the gradients of sharded stages: use schedule: "
                "1f1b or interleaved, or pp alone"
            )
        return None

    def _unsupported(self, device_type: DeviceType) -> str | None:
        if self.async_tp and device_type == "cpu":
            return "async_tp reads the memory of other GPUs, which CPUs do not have: leave it out"
        if self.cp == 1:
            return None
        if device_type == "cpu":
            return (
                "torch divides sequences among ranks (cp) on GPUs only: it has no such attention for a CPU. "
                "strategy: {tp: {sequence_parallel: true}} also divides activations, on any device"
            )
        if self.pp > 1 or self.ep > 1:
            return "cp divides the sequences of whole models: use pp: 1 and ep: 1 with it"
        return None

    def too_few(self, micro_batches: int) -> str | None:
        """Why the pipeline cannot divide a batch into that many micro-batches; null if it can."""
        if self.pp == 1:
            return None
        if self.schedule == "1f1b" and micro_batches < self.pp:
            return (
                f"the schedule 1f1b needs as many micro-batches as stages or more, but there are {micro_batches} for "
                f"{self.pp} stages: set train.accumulate to {self.pp} or more, or use schedule: gpipe"
            )
        rounds = max(1, micro_batches // self.pp)
        if self.schedule in ("interleaved", "zero_bubble") and micro_batches % rounds:
            return (
                f"the schedule {self.schedule} runs {micro_batches} micro-batches over {self.pp} ranks in {rounds} "
                f"rounds, which does not divide them: set train.accumulate to a multiple of {self.pp}"
            )
        return None
