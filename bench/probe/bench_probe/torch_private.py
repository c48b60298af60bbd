"""The private names of torch that the probe uses; no other file of it may use one."""

from __future__ import annotations

import pkgutil
from typing import Any, NamedTuple

SEEN = ("2.6", "2.8", "2.11", "2.13", "2.15")
"""Versions in which all names of this table and of bench's were looked up. A test looks them up again."""


class Name(NamedTuple):
    """A private name of torch."""

    place: str
    """Module and attribute, as pkgutil.resolve_name reads them."""
    use: str
    """Its purpose in our code."""
    seen: tuple[str, ...] = SEEN
    """Versions of torch in which it was looked up and found."""

    def load(self) -> Any:
        """The object with this name. Raises ImportError or AttributeError if this version of torch does not have it."""
        return pkgutil.resolve_name(self.place)


NAMES = {
    "BaseDataLoaderIter": Name(
        "torch.utils.data.dataloader:_BaseDataLoaderIter", "to see each batch of a DataLoader"
    ),
    "next_index": Name(
        "torch.utils.data.dataloader:_BaseDataLoaderIter._next_index", "to count the indices of each batch"
    ),
    "disable": Name(
        "torch._dynamo:disable", "hooks outside of compiled code; torch 2.0 has no torch.compiler"
    ),
    "get_sequence_number": Name(
        "torch.distributed:ProcessGroup._get_sequence_number_for_group", "collectives that a group has begun"
    ),
    "is_wrapped": Name(
        "torch._C._functorch:is_functorch_wrapped_tensor", "a tensor within vmap or grad, which has no value"
    ),
    "profiler_enabled": Name("torch._C:_autograd._profiler_enabled", "whether the script profiles itself"),
    "world": Name("torch.distributed.distributed_c10d:_world", "all process groups with their ranks"),
}
"""By the name under which this module has it."""


def __getattr__(name: str) -> Any:  # on demand, because some of them take seconds to import
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMES[name].load()


def workers_of(iterator: Any) -> tuple[int, bool]:
    """The loader processes of a DataLoader's iterator, and whether they end with it."""
    workers = iterator._num_workers
    return workers, workers > 0 and not iterator._persistent_workers


def replace_next_index(function: Any) -> None:
    """Let all DataLoaders ask their samplers for the indices of a batch by this function."""
    NAMES["BaseDataLoaderIter"].load()._next_index = function


def sampler_of(iterator: Any) -> Any:
    """The sampler of a DataLoader's iterator, which gives the indices of its batches."""
    return iterator._index_sampler


def batch_size_of(iterator: Any) -> int | None:
    """Examples of a batch, except the last one; null if the data set batches by itself, or if sizes vary."""
    size = getattr(iterator._index_sampler, "batch_size", None) if iterator._auto_collation else None
    return size if type(size) is int and size > 0 else None


def are_examples(iterator: Any, index: Any) -> bool:
    """Whether each member of `index`, which a sampler gave, is an example: a data set with indices is asked for it, and
    the index is not a key of one example, such as a tuple of a video and its frame."""
    has_indices = iterator._dataset_kind == 0 and hasattr(index, "__len__")
    return has_indices and (iterator._auto_collation or isinstance(index, list))


def gives_lists(iterator: Any) -> bool:
    """Whether its sampler gives a list of indices for each batch, and the main process loads the batch at once."""
    return not iterator._num_workers and iterator._dataset_kind == 0 and bool(iterator._auto_collation)


def number_of_next(iterator: Any) -> int:
    """The number of the batch whose indices are asked for; 0 without workers."""
    return getattr(iterator, "_send_idx", 0)


def number_of_last(iterator: Any, waiting: Any) -> int | None:
    """The number of the batch that the iterator has returned last; `waiting` are those that were not returned before
    it. Null if it is not known."""
    received = getattr(iterator, "_rcvd_idx", None)
    if received is None:
        return 0
    if getattr(iterator, "_in_order", True):
        return int(received) - 1
    return next((number for number in waiting if number not in iterator._task_info), None)


def version_of(tensor: Any) -> int:
    """How often the tensor was changed in place; 0 in inference mode, which does not count that."""
    try:
        return int(tensor._version)
    except RuntimeError:
        return 0


def modules_in(module: Any) -> dict[str, Any]:
    """The modules in a module, by name. Its constructor need not have ended."""
    modules: dict[str, Any] = vars(module).get("_modules", {})
    return modules
