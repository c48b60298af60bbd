"""Makes batches from stream positions, in the rank itself or in loader processes."""

from __future__ import annotations

import itertools
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from bench.common.process import die_with_parent, name_process
from bench.data.order import Order, positions

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec
    from bench.workloads import Batch, Workload

_T = TypeVar("_T")


def batches(workload: Workload, spec: RunSpec, rank: int, total_steps: int) -> Iterator[Batch]:
    """The CPU batches of one rank, one per micro-batch, for `total_steps` optimizer steps.

    The same (workload, spec, rank) gives the same batches with any number of loader processes."""
    examples = _Examples(workload, spec.seed)
    spans = (
        span
        for step in range(total_steps)
        for span in positions(
            step, rank // spec.ranks_per_batch, spec.batch_groups, spec.batch_per_rank, spec.train.accumulate
        )
    )
    if spec.data.workers == 0:
        # DataLoader takes about 25 µs per batch even without processes: twice as much as all time stamps
        return _in_this_process(examples, spans, _pins(spec))
    if spec.data.persistent_workers:
        return iter(_data_loader(examples, spans, spec, rank))
    epochs = itertools.groupby(spans, key=lambda span: span.start // workload.dataset_size)
    return itertools.chain.from_iterable(_data_loader(examples, epoch, spec, rank) for _, epoch in epochs)


def noting_the_first(batches: Iterator[Batch], note: Callable[[int], None]) -> Iterator[Batch]:
    """The same batches; `note` is called with a digest of the first one before it is used."""
    first = next(batches)
    note(_digest(first))
    yield first
    del first  # otherwise it would stay in memory for the whole run
    yield from batches


def _digest(batch: Batch) -> int:
    """A checksum of the shape and up to 1,000 numbers of each tensor, at random places that are the same on every rank;
    0 if the batch has a part whose numbers cannot be read so, as a graph or a sparse tensor."""
    total = 0
    for part in batch.values():
        if not isinstance(part, torch.Tensor) or part.layout is not torch.strided or part.is_nested:
            return 0
        if part.numel():
            generator = torch.Generator().manual_seed(0)
            places = torch.randint(part.numel(), (1000,), generator=generator)
            numbers = part.flatten()[places].tolist()
            total = zlib.crc32(repr((list(part.shape), numbers)).encode(), total)
    return total


class _Examples(Dataset["Batch"]):
    """Batches by span of stream positions."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload = workload
        self._order = Order(workload.dataset_size, seed)

    def __getitems__(self, span: range) -> Batch:
        return self._workload.batch(self._order.places(span), torch.arange(span.start, span.stop))


def _pins(spec: RunSpec) -> bool:
    return spec.data.pin_memory and spec.device_type == "cuda"


def _in_this_process(examples: _Examples, spans: Iterator[range], pin: bool) -> Iterator[Batch]:
    for span in spans:
        batch = examples.__getitems__(span)
        yield _pinned(batch) if pin else batch


def _pinned(batch: Batch) -> Batch:
    """The batch in page-locked memory, as far as its parts can be there."""
    return {name: part.pin_memory() if hasattr(part, "pin_memory") else part for name, part in batch.items()}


def _data_loader(examples: _Examples, spans: Iterator[range], spec: RunSpec, rank: int) -> DataLoader[Batch]:
    return DataLoader(
        examples,
        batch_sampler=spans,  # type: ignore[arg-type] # a span stands for its positions: 3 integers to send
        collate_fn=_unchanged,
        num_workers=spec.data.workers,
        prefetch_factor=spec.data.prefetch,
        pin_memory=_pins(spec),
        multiprocessing_context="fork",
        worker_init_fn=partial(_become_a_worker, os.getpid(), f"rank {rank} of {spec.run_id}"),
        generator=torch.Generator(),  # the default one initialises and trains the model
    )


def _unchanged(batch: _T) -> _T:
    return batch


def _become_a_worker(rank_pid: int, rank_name: str, worker: int) -> None:
    die_with_parent(rank_pid)
    name_process(f"loader worker {worker} of {rank_name}")
    # SIGTERM may go to the whole session; the agent ends the rank
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)  # remove the rank's handler
