"""Torch's fake process group: every rank but this one is imagined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from bench.records.run_spec import RunSpec


@contextmanager
def joined(spec: RunSpec, rank: int) -> Iterator[None]:
    """Inside, this process is one rank of the run; strategy single needs no group."""
    if spec.strategy == "single":
        yield
        return
    dist.init_process_group("fake", rank=rank, world_size=spec.world_size, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()
