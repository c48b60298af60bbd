"""Timed matrix multiplications: the speed of a device's arithmetic, by shape."""

from __future__ import annotations

import numpy as np
import torch

from bench.common.dtypes import dtype_of
from bench.measure.machine.free_memory import refuse_more_than_is_free
from bench.measure.machine.speed import Machine, Rows
from bench.measure.rank_tables import TABLES
from bench.measure.timed import Times, timed

Shape = tuple[int, int, int]
"""m, n, k: m x k by k x n."""
_TOLERANCES = {"fp32": 1e-4, "tf32": 0.02, "bf16": 0.05, "fp16": 0.05}
"""Relative to the standard deviation of an element of the product."""
_CHECKED = 8
"""Columns whose first element is checked in double precision."""


def measure(machine: Machine, shapes: list[Shape]) -> None:
    """Time every shape in the given order, on all ranks at once; the rows of each are kept at once.

    Raises MemoryError if the largest shape does not fit, RuntimeError if a product is wrong."""
    dtype = dtype_of(machine.precision)
    largest = max(m * k + k * n + m * n for m, n, k in shapes) * dtype.itemsize
    # random numbers are drawn in the precision itself, so only the three matrices need memory
    remedy = "give smaller workload.sizes and workload.shapes"
    refuse_more_than_is_free(largest, machine, remedy)
    generator = torch.Generator(machine.device).manual_seed(0)
    for shape in shapes:
        machine.keep("matmuls", _rows(shape, machine, _times(shape, machine, generator)))


def _times(shape: Shape, machine: Machine, generator: torch.Generator) -> Times:
    m, n, k = shape
    dtype, device = dtype_of(machine.precision), machine.device
    # Random numbers: a GPU that multiplies zeros draws less power, and runs at higher clocks, than in training.
    a = torch.randn(m, k, dtype=dtype, device=device, generator=generator)
    b = torch.randn(k, n, dtype=dtype, device=device, generator=generator)
    product = torch.empty(m, n, dtype=dtype, device=device)

    def multiply() -> None:
        torch.mm(a, b, out=product)

    multiply()
    _check(a, b, product, machine.precision)
    for _ in range(machine.warmup):
        multiply()
    machine.barrier()
    return timed(multiply, machine.iterations, device)


def _check(a: torch.Tensor, b: torch.Tensor, product: torch.Tensor, precision: str) -> None:
    exact = a[0].double() @ b[:, :_CHECKED].double()
    error = float((product[0, :_CHECKED].double() - exact).abs().max()) / a.shape[1] ** 0.5
    if not error <= _TOLERANCES[precision]:
        raise RuntimeError(
            f"{precision} product of {list(a.shape)} by {list(b.shape)} is wrong by {error:g} standard deviations of "
            f"its elements; {_TOLERANCES[precision]:g} is the most that rounding explains"
        )


def _rows(shape: Shape, machine: Machine, times: Times) -> Rows:
    rows = np.zeros(len(times), TABLES["matmuls"])
    rows["precision"], rows["iteration"] = machine.precision, np.arange(len(times))
    rows["m"], rows["n"], rows["k"] = shape
    rows["time_ns"] = times
    rows["flops_per_s"] = 2 * shape[0] * shape[1] * shape[2] / (times / 1e9)
    return rows
