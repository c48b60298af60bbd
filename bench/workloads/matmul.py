"""matmul: matrix multiplications by shape, in the case's precision; nothing is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le, MaxLen, MinLen

from bench.common.errors import InputError
from bench.workloads import MachineWorkload

if TYPE_CHECKING:
    from bench.measure.machine.speed import Machine

Length = Annotated[int, Ge(1), Le(2**17)]
_SIZES = {"cuda": (1024, 2048, 4096, 8192, 16384), "cpu": (256, 512, 1024, 2048)}
_SHAPES = {
    # one layer of transformers 768, 4,096 and 8,192 wide: tokens x (inner width) x (width), and back
    "cuda": ((16384, 3072, 768), (16384, 768, 3072), (8192, 16384, 4096), (8192, 32768, 8192)),
    "cpu": ((1024, 3072, 768), (1024, 768, 3072)),
}


@dataclass(frozen=True, kw_only=True)
class MatmulOptions:
    """Shapes; `measure.steps` is the number of timed iterations of each."""

    sizes: Annotated[tuple[Length, ...], MaxLen(64)] | None = None
    """Sizes of square matrices. null: 1,024 to 16,384 on a GPU, 256 to 2,048 on a CPU."""
    shapes: (
        Annotated[
            tuple[Annotated[tuple[Length, ...], MinLen(3), MaxLen(3)], ...],
            MaxLen(64),
        ]
        | None
    ) = None
    """Other shapes, each [m, n, k] for m x k by k x n. null: those of a transformer's feed-forward layers."""

    def __post_init__(self) -> None:
        if self.sizes is not None and self.shapes is not None and not (self.sizes or self.shapes):
            raise InputError("matmul: sizes and shapes are both empty: give at least one shape")


class Workload(MachineWorkload):
    """Speed of a device's arithmetic: a realistic upper bound for training."""

    Options = MatmulOptions
    precisions = ("fp32", "tf32", "bf16", "fp16")

    def measure(self, machine: Machine) -> None:
        from bench.measure.machine import matmuls

        sizes, shapes = self.options.sizes, self.options.shapes
        device = machine.device.type
        squares = [(size, size, size) for size in (_SIZES[device] if sizes is None else sizes)]
        others = [(m, n, k) for m, n, k in (_SHAPES[device] if shapes is None else shapes)]
        matmuls.measure(machine, [*squares, *others])
