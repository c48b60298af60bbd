"""Torch's fake process group: every rank but this one is imagined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from bench.common import torch_private

if TYPE_CHECKING:  # the Python of a script has no annotated_types
    from bench.records.run_spec import RunSpec


@contextmanager
def joined(spec: RunSpec, rank: int) -> Iterator[None]:
    """Inside, this process is one rank of the run; strategy single needs no group."""
    if spec.strategy == "single":
        yield
        return
    quicken_fsdp()
    dist.init_process_group("fake", rank=rank, world_size=spec.world_size, store=torch_private.FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def quicken_fsdp() -> None:
    """FSDP divides each parameter by the ranks. Ranks beyond its first dimension then share one empty part: an own one
    for each would take minutes with thousands of ranks."""
    torch_private.replace("chunk_with_empty", _chunks)


def _chunks(tensor: torch.Tensor, num_chunks: int, dim: int) -> list[torch.Tensor]:
    chunks = list(torch.chunk(tensor, num_chunks, dim=dim))
    return chunks + [chunks[0].new_empty(0)] * (num_chunks - len(chunks))
