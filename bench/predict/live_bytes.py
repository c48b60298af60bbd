"""How many bytes of tensors live at any moment of a computation on shapes."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class LiveBytes(TorchDispatchMode):
    """Inside it every storage that an operation makes is entered, and struck out when its last tensor goes.

    Views share a storage and count once. What a kernel takes for itself meanwhile is not seen."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        """`known` tensors are there already and count nowhere."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._living: dict[int, tuple[Any, int]] = {}
        self._changes: list[tuple[int, int]] = []
        """Number of a storage, and the bytes that it brings or takes."""
        self._count = 0
        for tensor in known:
            self.number(tensor)
        self._changes.clear()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_iter(out):
            if isinstance(tensor, torch.Tensor):
                self.number(tensor)
        return out

    def number(self, tensor: torch.Tensor) -> int:
        """Of the tensor's storage; entered where it is new."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._living:
            self._count += 1
            size = storage.nbytes()
            gone = partial(self._gone, key, self._count, size)
            self._living[key] = (weakref.ref(storage, gone), self._count)
            self._changes.append((self._count, size))
        return self._living[key][1]

    def _gone(self, key: int, number: int, size: int, _: Any) -> None:
        del self._living[key]
        self._changes.append((number, -size))

    def now(self) -> int:
        """Bytes that live at this moment."""
        return sum(size for _, size in self._changes)

    def peak(self, without: Collection[int] = ()) -> int:
        """The most that lived at once, without the storages of those numbers."""
        living = most = 0
        for number, size in self._changes:
            if number not in without:
                living += size
                most = max(most, living)
        return most
