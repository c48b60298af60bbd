"""Bytes of the storages that torch makes, and their sum at the peak of a step by kind.

Views share a storage and count once. Memory that a kernel uses internally is not seen."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch.distributed.tensor import DTensor

from bench.common.torch_private import TorchDispatchMode
from bench.measure.messages import tensors_in, unwraps_first
from bench.shadow.hollow import storage_of
from bench.shadow.records import PeakMemory

Kind = Literal["parameters", "buffers", "optimizer", "gradients", "communication", "kept", "activations"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
"""A storage of several kinds counts as the first of them."""


class StorageLog(TorchDispatchMode):
    """Inside, notes every new storage, when it is freed or resized, and its kind, if that is told or can be seen."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._living: dict[int, tuple[Any, int]] = {}
        self._bytes: dict[int, int] = {}
        """Size of each living storage, by its number."""
        self._changes: list[tuple[int, int]] = []
        """Number of a storage, and the bytes that it adds (> 0) or frees (< 0)."""
        self._kinds: dict[int, Kind] = {}
        self._count = 0
        self._resize = torch.UntypedStorage.resize_

    def __enter__(self) -> StorageLog:
        log, resize = self, self._resize

        def resize_(storage: torch.UntypedStorage, size: int) -> Any:
            answer = resize(storage, size)
            log._resized(storage)
            return answer

        # FSDP frees and makes gathered parameters so; no operation says it
        torch.UntypedStorage.resize_ = resize_  # type: ignore[method-assign, assignment]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        torch.UntypedStorage.resize_ = self._resize  # type: ignore[method-assign]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if unwraps_first(types):
            return NotImplemented
        made = func(*args, **(kwargs or {}))
        is_message = getattr(func, "namespace", None) == "c10d"
        for tensor in tensors_in((args, made) if is_message else made):
            if not tensor.is_meta:
                number = self._number(storage_of(tensor))
                if is_message:
                    self._tell(number, "communication")
        return made

    def tell(self, tensors: Iterable[torch.Tensor | None], kind: Kind) -> None:
        """The kind of these tensors; a DTensor counts as its local part."""
        for tensor in tensors:
            if tensor is not None:
                self._tell(self._number(storage_of(local(tensor))), kind)

    def alive(self) -> set[int]:
        """Numbers of the storages that exist."""
        return set(self._bytes)

    def tell_kept(self, numbers: Iterable[int]) -> None:
        """Those of these storages that are of no other kind are kept between steps."""
        for number in numbers:
            self._tell(number, "kept")

    def begin(self) -> None:
        """The peak is that of what follows, with what is alive now."""
        self._changes = list(self._bytes.items())

    def moment(self) -> int:
        """Number of changes since `begin`."""
        return len(self._changes)

    def peak(self, *, without: Collection[Kind] = (), without_made_in: Sequence[range] = ()) -> PeakMemory:
        """At the moment since `begin` at which most bytes are alive. Storages of the kinds `without` do not count, and
        none that was made in one of these ranges of moments."""
        made = {number: moment for moment, (number, _) in reversed(list(enumerate(self._changes)))}
        changes = [
            (kind, size)
            for number, size in self._changes
            if (kind := self._kinds.get(number, "activations")) not in without
            and not any(made[number] in moments for moments in without_made_in)
        ]
        living = most = peak_at = 0
        for position, (_, size) in enumerate(changes, start=1):
            living += size
            if living > most:
                most, peak_at = living, position
        sums = dict.fromkeys(_KINDS, 0)
        for kind, size in changes[:peak_at]:
            sums[kind] += size
        return PeakMemory(**sums)

    def _tell(self, number: int, kind: Kind) -> None:
        known = self._kinds.get(number, "activations")
        self._kinds[number] = min(known, kind, key=_KINDS.index)

    def _number(self, storage: torch.UntypedStorage) -> int:
        key = id(storage)  # the object lives as long as its memory
        if key not in self._living:
            self._count += 1
            self._living[key] = (weakref.ref(storage, partial(self._freed, key, self._count)), self._count)
            self._change(self._count, storage.nbytes())
        return self._living[key][1]

    def _resized(self, storage: torch.UntypedStorage) -> None:
        number = self._number(storage)
        self._change(number, storage.nbytes() - self._bytes.get(number, 0))
        self._tell(number, "communication")

    def _freed(self, key: int, number: int, _: Any) -> None:
        del self._living[key]
        self._changes.append((number, -self._bytes.pop(number)))

    def _change(self, number: int, size: int) -> None:
        self._bytes[number] = self._bytes.get(number, 0) + size
        self._changes.append((number, size))


@torch.no_grad()  # with gradients, autograd would make the part
def local(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor that this rank has."""
    part: torch.Tensor = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return part
