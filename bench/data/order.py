"""The training stream: the example at each position, the same at every world size.

Position p of the stream belongs to epoch p // dataset_size. Each epoch is a permutation of the data set, drawn from
(seed, epoch). An optimizer step takes the next global_batch positions, and each rank a contiguous slice of them, or
several ranks the same one if they share a batch. So the union over ranks depends only on the global batch. A global
batch may span two epochs: nothing is dropped.
"""

from __future__ import annotations

import torch

from bench.data.synthetic import keyed


def positions(step: int, group: int, groups: int, batch_per_rank: int, accumulate: int) -> list[range]:
    """Stream positions of the ranks of one group in one optimizer step, one range per micro-batch. A group is one rank,
    or several that share a batch."""
    first = (step * groups + group) * batch_per_rank
    micro_batch = batch_per_rank // accumulate
    return [range(start, start + micro_batch) for start in range(first, first + batch_per_rank, micro_batch)]


class Order:
    """Places in the data set by stream position; keeps the permutation of the latest epoch."""

    def __init__(self, dataset_size: int, seed: int) -> None:
        self.dataset_size = dataset_size
        self.seed = seed
        self._epoch = -1
        self._permutation = torch.empty(0, dtype=torch.int64)

    def places(self, span: range) -> torch.Tensor:
        """int64 [len(span)]: the example of the data set at each position of a contiguous span."""
        epoch, place = divmod(span.start, self.dataset_size)
        if place + len(span) <= self.dataset_size:
            return self._permutation_of(epoch)[place : place + len(span)]
        pieces = []
        start = span.start
        while start < span.stop:
            epoch, place = divmod(start, self.dataset_size)
            stop = min(span.stop, (epoch + 1) * self.dataset_size)
            pieces.append(self._permutation_of(epoch)[place : place + stop - start])
            start = stop
        return torch.cat(pieces)

    def _permutation_of(self, epoch: int) -> torch.Tensor:
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed(keyed.hash_seed(self.seed, epoch))
            self._permutation = torch.randperm(self.dataset_size, generator=generator)
            self._epoch = epoch
        return self._permutation
