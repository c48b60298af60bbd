"""Sequences divided among ranks (context parallelism), on torch's context_parallel: attention passes keys and values
around the ranks in a ring, and everything else works on the rank's own positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

    from bench.strategies import Divisible
    from bench.workloads import Batch

_IN_A_RING = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
"""The kernels of attention for which torch has a ring."""


class DividedSequences:
    """The ranks of one mesh dimension, each with a part of every sequence."""

    def __init__(self, workload: Divisible, mesh: DeviceMesh) -> None:
        self._workload = workload
        self._mesh = mesh

    @contextmanager
    def part_of(self, batch: Batch) -> Iterator[Batch]:
        """This rank's part of the batch. Forward and backward inside see whole sequences in attention alone."""
        whole, dimensions = self._workload.cp_batch(batch, size=self._mesh.size())
        divided = [whole[name] for name in dimensions]
        ring = context_parallel(
            self._mesh,
            buffers=divided,  # each becomes the rank's part, in place
            buffer_seq_dims=list(dimensions.values()),
            no_restore_buffers=set(divided),
        )
        with ring, sdpa_kernel(_IN_A_RING):
            yield whole
