"""Streams: batches from the user's own loader, such as an IterableDataset, WebDataset, Arrow or Parquet files.

`data.source: ./mine.py:loader` names a function that is called with a Shard and `data.source_options`, and returns an
iterable of batches. It takes the place of the workload's `batch`. scalebench begins it again at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from bench.common.custom_function import LOADER
from bench.common.error_text import describe, line_in
from bench.common.errors import InputError
from bench.records.vocabulary import Sharding

if TYPE_CHECKING:
    from bench.workloads import Batch


@dataclass(frozen=True, kw_only=True)
class Shard:
    """The argument of a loader: the part of the stream to load, and how."""

    index: int
    """Number of this part, from 0. Ranks that share a batch have the same part."""
    count: int
    """Number of parts."""
    batch_size: int
    """Examples in each batch: the micro-batch of a rank."""
    seed: int
    """Seed of the run: train.seed plus the repeat."""
    workers: int
    """data.workers: loader processes to use for this part."""
    data_root: str | None
    """Folder that was given with --data."""
    options: Any
    """The workload's options, as in `shard.options.sequence_length`."""

    def round_robin(self, batches: Iterable[Batch]) -> RoundRobin:
        """Take every `count`-th of these batches, which must be those of the whole stream. Every rank reads all of
        them."""
        return RoundRobin(batches)


@dataclass(frozen=True)
class RoundRobin:
    """The batches of a whole stream, to be given to the ranks in turn."""

    batches: Iterable[Batch]


class StreamError(Exception):
    """The loader's batches cannot be used; its message says why and what to change."""


class Stream:
    """The batches of one loader."""

    def __init__(
        self,
        source: str,
        arguments: dict[str, Any],
        *,
        data_root: str | None,
        seed: int,
        options: Any,
        sizes_vary: bool,
    ) -> None:
        """`arguments`: data.source_options; `options`: the workload's; `sizes_vary`: accept batches of other sizes than
        was asked for. Raises InputError if there is no loader."""
        self._loader = LOADER.load(source)
        self.label = self._loader.label
        """Name of the loader in messages: `mine.py:loader`."""
        self._arguments = arguments
        self._data_root = data_root
        self._seed = seed
        self._options = options
        self._sizes_vary = sizes_vary
        self.sharding: Sharding | None = None
        """Who shards: Shard.round_robin, or the loader itself; null before `batches`."""

    def batches(
        self, *, index: int, count: int, batch_size: int, workers: int, pin: bool = False
    ) -> Iterator[Batch]:
        """The endless batches of one part, in page-locked memory if `pin`. Raises InputError if the loader raises or
        returns no iterable; iterating raises StreamError, and the user's errors."""
        shard = Shard(
            index=index,
            count=count,
            batch_size=batch_size,
            seed=self._seed,
            workers=workers,
            data_root=self._data_root,
            options=self._options,
        )
        try:
            made = self._loader.call(shard, **self._arguments)
        except (Exception, SystemExit) as error:  # a user's function may raise anything
            raise InputError(f"{self.label}() raised {describe(error)}{self._line_of(error)}") from error
        self.sharding = "round_robin" if isinstance(made, RoundRobin) else "loader"
        batches = made.batches if isinstance(made, RoundRobin) else made
        if not isinstance(batches, Iterable) or isinstance(batches, Mapping):
            raise InputError(
                f"{self.label}() returned {type(batches).__name__}: return an iterable of batches, as a "
                "torch.utils.data.DataLoader, or shard.round_robin(...) of one"
            )
        endless = self._endless(batches)
        if isinstance(made, RoundRobin):
            endless = islice(endless, index, None, count)
        batches = endless if self._sizes_vary else self._of_size(endless, batch_size)
        return map(pinned, batches) if pin else batches

    def first(self, examples: int) -> Batch:
        """The first batch of that many examples, loaded in this process. Raises InputError."""
        batches = self.batches(index=0, count=1, batch_size=examples, workers=0)
        try:
            return next(batches)
        except StreamError as error:
            raise InputError(str(error)) from error
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # the user's iterable may raise anything
            raise InputError(
                f"the first batch of {self.label}() raised {describe(error)}{self._line_of(error)}"
            ) from error

    def _line_of(self, error: BaseException) -> str:
        return line_in(error, self._loader.file) if self._loader.file else ""

    def _endless(self, batches: Iterable[Any]) -> Iterator[Batch]:
        epoch, count = 0, 0
        while True:
            for part in (batches, getattr(batches, "dataset", None), getattr(batches, "sampler", None)):
                set_epoch = getattr(part, "set_epoch", None)
                if callable(set_epoch):  # as streams of Hugging Face's datasets have it
                    set_epoch(epoch)
            before = count
            for batch in batches:
                if problem := problem_of_batch(batch):
                    raise StreamError(f"batch {count} of {self.label}() is {problem}")
                count += 1
                yield batch
            if count == before:
                raise StreamError(self._ended(count, batches))
            epoch += 1

    def _ended(self, count: int, batches: Iterable[Any]) -> str:
        if count == 0:
            return f"{self.label}() gave no batch: its part of the stream is shorter than one batch"
        once = ", which can be read once" if isinstance(batches, Iterator) else ""
        return (
            f"the stream of {self.label}() ended after {count} batches and did not begin again: return an "
            f"iterable that can be iterated again, as a DataLoader, not {type(batches).__name__}{once}"
        )

    def _of_size(self, batches: Iterator[Batch], size: int) -> Iterator[Batch]:
        """The same batches. Raises StreamError for one of another size; what is no tensor has no size."""
        for number, batch in enumerate(batches):
            sizes = {len(part) for part in batch.values() if isinstance(part, torch.Tensor) and part.dim()}
            if sizes and size not in sizes:
                raise StreamError(
                    f"batch {number} of {self.label}() has {max(sizes)} examples instead of {size}: use "
                    "shard.batch_size and drop the last batch if it is short (drop_last=True); if sizes vary on "
                    "purpose, give the workload a method examples_in(batch)"
                )
            yield batch


def pinned(batch: Batch) -> Batch:
    """The batch in page-locked memory, as far as its parts can be there; those that are already stay there."""
    return {name: part.pin_memory() if hasattr(part, "pin_memory") else part for name, part in batch.items()}


def problem_of_batch(batch: Any) -> str | None:
    """Why a batch cannot be moved to the device; null if it can."""
    if (
        isinstance(batch, Mapping)
        and batch
        and all(callable(getattr(part, "to", None)) for part in batch.values())
    ):
        return None
    kinds = {key: kind(part) for key, part in batch.items()} if isinstance(batch, Mapping) else kind(batch)
    return f"{kinds}: give a dict of tensors, or of objects with a method `to`"


def kind(value: Any) -> str:
    """The kind of a value in a few words; for a tensor, its shape."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
