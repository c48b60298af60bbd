"""collectives: all_reduce, all_gather, reduce_scatter and broadcast by message size; nothing is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le, MinLen

from bench.common.errors import InputError
from bench.measure.machine.bandwidth import OPS, Op
from bench.workloads import MachineWorkload

if TYPE_CHECKING:
    from bench.measure.machine.speed import Machine

_LARGEST_BYTES = {"cuda": 2**30, "cpu": 2**24}


@dataclass(frozen=True, kw_only=True)
class CollectivesOptions:
    """Operations and message sizes; `measure.steps` is the number of timed iterations of each."""

    ops: Annotated[tuple[Op, ...], MinLen(1)] = OPS
    """Operations, in the order in which they are measured."""
    smallest_bytes: Annotated[int, Ge(4), Le(2**34)] = 1024
    """First message size. Sizes count the whole message, as in nccl-tests."""
    largest_bytes: Annotated[int, Ge(4), Le(2**34)] | None = None
    """Largest message size. null: 1 GiB on a GPU, 16 MiB on a CPU."""
    factor: Annotated[int, Ge(2), Le(1024)] = 2
    """Ratio of a size to the one before."""
    after_computation: bool = True
    """On the CPUs of one node, time each operation and size also after some milliseconds of computation that do not end
    on all ranks at once, as in a training step."""

    def __post_init__(self) -> None:
        if self.largest_bytes is not None and self.smallest_bytes > self.largest_bytes:
            raise InputError(
                f"collectives: smallest_bytes is {self.smallest_bytes}, largest_bytes {self.largest_bytes}: "
                "it must not be larger"
            )


class Workload(MachineWorkload):
    """Speed of the links between ranks, with gloo or NCCL."""

    Options = CollectivesOptions
    smallest_world_size = 2
    precisions = ("fp32", "bf16", "fp16")

    def sizes_bytes(self, device_type: str) -> list[int]:
        """Every message size, ascending."""
        options = self.options
        largest = max(options.largest_bytes or _LARGEST_BYTES[device_type], options.smallest_bytes)
        sizes = [options.smallest_bytes]
        while sizes[-1] * options.factor <= largest:
            sizes.append(sizes[-1] * options.factor)
        return sizes

    def measure(self, machine: Machine) -> None:
        from bench.measure.machine import collectives

        collectives.measure(
            machine,
            tuple(self.options.ops),
            self.sizes_bytes(machine.device.type),
            after_computation=self.options.after_computation,
        )
