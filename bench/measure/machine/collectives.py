"""Timed collective operations, in one buffer, checked once per operation and size, then timed.

On the CPUs of one node they are timed twice: back to back, and each after some computation, as in a training step.
Ranks then arrive at different times, caches are cold, and the threads that send compete with those that compute.
Between nodes they are not: the kernel goes on sending while a rank computes, which hides an unknown part of a message.

Message sizes are those of nccl-tests: the whole output of all_gather and the whole input of reduce_scatter, of which
each rank has one part. A size that does not divide among the ranks is rounded down to one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns, process_time_ns

import numpy as np
import torch
import torch.distributed as dist

from bench.common.dtypes import dtype_of
from bench.measure.machine.bandwidth import OPS, algorithm_gbps, bus_factor
from bench.measure.machine.free_memory import refuse_more_than_is_free
from bench.measure.machine.speed import Machine, Rows
from bench.measure.rank_tables import TABLES, UNKNOWN
from bench.measure.timed import Times, no_garbage_collection, timed

_COPIES = 3
"""Copies of the largest message in a rank's memory: the message, its part, and the copy of gloo's reduce_scatter."""
_WIDTH = 512
"""A product of square matrices of this width takes some milliseconds of a core: as long as the layer of a model that is
trained on CPUs, and with more memory than a core's own caches."""


def measure(
    machine: Machine, ops: tuple[str, ...], sizes_bytes: list[int], *, after_computation: bool = False
) -> None:
    """Time every operation at every size, in ascending order; the rows of each are kept at once. `after_computation`:
    also after computation, on the CPUs of one node.

    Raises MemoryError if the largest size does not fit, RuntimeError if an operation gives wrong values."""
    dtype = dtype_of(machine.precision)
    needed = _COPIES * max(sizes_bytes)
    remedy = "give a smaller workload.largest_bytes"
    refuse_more_than_is_free(needed, machine, remedy)
    ranks = machine.world_size
    counts = _element_counts(sizes_bytes, dtype.itemsize, ranks)
    whole = torch.zeros(max(counts), dtype=dtype, device=machine.device)
    part = torch.zeros(max(counts) // ranks, dtype=dtype, device=machine.device)
    for op in ops:
        for count in counts:
            buffers = _Buffers(whole[:count], part[: count // ranks], machine)
            operation = buffers.operation(op)
            buffers.check(op, operation)
            for _ in range(machine.warmup):
                operation()
            machine.barrier()
            cpu_ns = process_time_ns()  # of all threads: gloo sends in its own
            times = timed(operation, machine.iterations, machine.device)
            cpu_ns = (process_time_ns() - cpu_ns) // machine.iterations
            rows = _rows(op, count * dtype.itemsize, times, cpu_ns)
            rows["computation_ns"] = UNKNOWN
            rows["algorithm_gbps"] = [
                algorithm_gbps(buffers.whole.nbytes, time_ns) for time_ns in times.tolist()
            ]
            rows["bus_gbps"] = rows["algorithm_gbps"] * bus_factor(op, ranks)
            machine.keep("collectives", rows)
            if after_computation and machine.device.type == "cpu" and ranks == machine.ranks_per_node:
                computation_ns, times, cpu_ns = _timed_after_computation(operation, machine)
                rows = _rows(op, buffers.whole.nbytes, times, cpu_ns)
                rows["computation_ns"] = computation_ns
                rows["algorithm_gbps"] = rows["bus_gbps"] = (
                    np.nan
                )  # the time includes the wait for late ranks
                machine.keep("collectives", rows)


def _timed_after_computation(operation: Callable[[], object], machine: Machine) -> tuple[Times, Times, int]:
    """[iterations] nanoseconds of computation, and of each operation from its call by this rank to its end; CPU time of
    an operation. No rank waits for others but in the operation."""
    matrix, product = torch.ones(_WIDTH, _WIDTH), torch.empty(_WIDTH, _WIDTH)

    def compute() -> None:
        for _ in range(torch.get_num_threads()):
            torch.mm(matrix, matrix, out=product)

    for _ in range(machine.warmup):
        compute()
        operation()
    machine.barrier()
    stamps = np.empty((machine.iterations, 3), np.int64)
    cpu_ns = 0
    with no_garbage_collection():
        for iteration in range(machine.iterations):
            begun = perf_counter_ns()
            compute()
            called_cpu_ns, called = process_time_ns(), perf_counter_ns()
            operation()
            stamps[iteration] = begun, called, perf_counter_ns()
            cpu_ns += process_time_ns() - called_cpu_ns
    computation_ns, times = np.diff(stamps).T
    return computation_ns, times, cpu_ns // machine.iterations


def _element_counts(sizes_bytes: list[int], element_bytes: int, world_size: int) -> list[int]:
    """Elements of each size, rounded down so that the ranks share them evenly; every rank has at least one."""
    dividing = (size // element_bytes // world_size * world_size for size in sizes_bytes)
    return sorted({max(count, world_size) for count in dividing})


def _rows(op: str, message_bytes: int, times: Times, cpu_ns: int) -> Rows:
    rows = np.zeros(len(times), TABLES["collectives"])
    rows["op"], rows["iteration"], rows["message_bytes"] = op, np.arange(len(times)), message_bytes
    rows["time_ns"] = times
    rows["cpu_ns"] = cpu_ns
    return rows


@dataclass(frozen=True)
class _Buffers:
    """Memory that all operations of a size share."""

    whole: torch.Tensor
    """[n x ranks], the message."""
    part: torch.Tensor
    """[n], this rank's part of the message."""
    machine: Machine

    def operation(self, op: str) -> Callable[[], object]:
        whole, part = self.whole, self.part
        operations: dict[str, Callable[[], object]] = {
            "all_reduce": lambda: dist.all_reduce(whole),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
            "broadcast": lambda: dist.broadcast(whole, 0),
        }
        assert operations.keys() == set(OPS)
        return operations[op]

    def check(self, op: str, operation: Callable[[], object]) -> None:
        """Run the operation once, with numbers that every precision adds exactly. Afterwards the buffers are zero, so
        that repeated reductions in place stay finite."""
        self._fill(op)
        operation()
        for got, expected in self._expected(op):
            low, high = (float(value) for value in torch.aminmax(got))
            if (low, high) != (expected, expected):
                raise RuntimeError(
                    f"{op} of {self.whole.nbytes} bytes over {self.machine.world_size} ranks gave values from {low:g} "
                    f"to {high:g} on rank {self.machine.rank} instead of {expected:g}"
                )
        self.whole.zero_()
        self.part.zero_()

    def _fill(self, op: str) -> None:
        self.whole.zero_()
        self.part.fill_(_own(self.machine.rank) if op == "all_gather" else 0)
        if op != "broadcast":
            self.whole[self.machine.rank :: self.machine.world_size] = 1  # one rank has a 1 for each element
        elif self.machine.rank == 0:
            self.whole.fill_(1)

    def _expected(self, op: str) -> Iterator[tuple[torch.Tensor, float]]:
        if op == "all_gather":
            parts = self.whole.view(self.machine.world_size, -1)
            yield from ((values, _own(rank)) for rank, values in enumerate(parts))
        else:
            yield self.part if op == "reduce_scatter" else self.whole, 1.0


def _own(rank: int) -> float:
    """A rank's contribution to all_gather; bf16 has the whole numbers up to 256."""
    return float(rank % 255 + 1)
