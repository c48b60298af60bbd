"""Bytes that forward and backward of one micro-batch keep and need, found on shapes: nothing is computed.

Two things that torch refuses to do on CUDA shapes without a GPU are replaced here: autocast, which switches itself off,
and fused attention, which falls back to plain products whose scores would be counted.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from bench.common.dtypes import narrow_dtype
from bench.common.errors import InputError
from bench.predict.memory import ModelSize, WorkingSet
from bench.records.run_spec import Recomputed
from bench.train import checkpointing, meta_device
from bench.train.named_losses import trained
from bench.workloads import Workload


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """Settings of a run that change the bytes that a step keeps."""

    device_type: str
    precision: str
    gathered: str | None
    """Narrower dtype in which parameters are gathered; null leaves them as they are."""
    checkpointing: Recomputed


def size_of(workload: Workload) -> ModelSize:
    """The size of a prepared workload's model. Raises InputError if the model has no parameters."""
    with meta_device.shapes() as shapes:
        model = shapes.model(workload)
        parameters = list(model.parameters())
        if not parameters:
            raise InputError("its model has no parameters: there is nothing to train")
        blocks = [sum(part.numel() for part in block.parameters()) for block in workload.blocks(model)]
        return ModelSize(
            parameters=sum(part.numel() for part in parameters),
            parameter_bytes=sum(map(_bytes, parameters)),
            buffer_bytes=sum(map(_bytes, model.buffers())),
            largest_parameter_bytes=max(map(_bytes, parameters)),
            block_parameters=blocks,
        )


def working_set(workload: Workload, micro_batch: int, options: StepOptions) -> WorkingSet:
    """The working set of a prepared workload. Raises the errors that its methods raise on shapes.

    Without a GPU, CUDA shapes have no backward: the bytes that backward adds are taken from a CPU trace."""
    on_cpu = _traced(workload, micro_batch, options, "cpu")
    if options.device_type == "cpu":
        return on_cpu
    forward = _traced(workload, micro_batch, options, options.device_type)
    more = forward.kept_bytes - on_cpu.kept_bytes
    return WorkingSet(
        kept_bytes=forward.kept_bytes,
        peak_bytes=max(forward.peak_bytes, on_cpu.peak_bytes + more),
        peak_with_gradients_bytes=max(forward.peak_bytes, on_cpu.peak_with_gradients_bytes + more),
    )


def _traced(workload: Workload, micro_batch: int, options: StepOptions, device_type: str) -> WorkingSet:
    attention = FusedAttention() if device_type == "cuda" else nullcontext()
    with meta_device.shapes(device_type) as shapes, attention:
        model = shapes.model(workload)
        if gathered := narrow_dtype(options.gathered):
            _narrow(model, gathered)
        if options.checkpointing:
            checkpointing.recompute(workload.blocks(model), options.checkpointing)
        with LiveBytes([*model.parameters(), *model.buffers()]) as live:
            batch = shapes.batch(workload, micro_batch)
            with autocast(options.precision, device_type):
                loss = trained(workload.loss(model, batch))
            kept_bytes = live.now()
            if device_type == "cpu":
                loss.backward()
        gradients = {live.number(part.grad) for part in model.parameters() if part.grad is not None}
        return WorkingSet(
            kept_bytes=kept_bytes,
            peak_bytes=live.peak(gradients),
            peak_with_gradients_bytes=live.peak(),
        )


def _narrow(model: nn.Module, dtype: torch.dtype) -> None:
    """Replace every parameter by one of this dtype."""
    for module in model.modules():
        for name, part in module._parameters.items():
            if part is not None and part.is_floating_point():
                same = torch.empty_like(part, dtype=dtype, requires_grad=False)
                module._parameters[name] = nn.Parameter(same, requires_grad=part.requires_grad)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of storages that operations make inside it, each until its last tensor is freed.

    Views share a storage and count once. Memory that a kernel uses internally is not seen."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        """`known` tensors exist already and are not counted."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._living: dict[int, tuple[Any, int]] = {}
        self._changes: list[tuple[int, int]] = []
        """Number of a storage, and the bytes that it adds (> 0) or frees (< 0)."""
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
        """The number of the tensor's storage; a new storage is registered."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._living:
            self._count += 1
            size = storage.nbytes()
            freed = partial(self._freed, key, self._count, size)
            self._living[key] = (weakref.ref(storage, freed), self._count)
            self._changes.append((self._count, size))
        return self._living[key][1]

    def _freed(self, key: int, number: int, size: int, _: Any) -> None:
        del self._living[key]
        self._changes.append((number, -size))

    def now(self) -> int:
        """Bytes that are alive."""
        return sum(size for _, size in self._changes)

    def peak(self, without: Collection[int] = ()) -> int:
        """The most bytes alive at once, without the storages of those numbers."""
        living = most = 0
        for number, size in self._changes:
            if number not in without:
                living += size
                most = max(most, living)
        return most


@contextmanager
def autocast(precision: str, device_type: str) -> Iterator[None]:
    """torch.autocast without its check that the device exists."""
    dtype = narrow_dtype(precision)
    if dtype is None:
        yield
        return
    torch.set_autocast_enabled(device_type, True)
    torch.set_autocast_dtype(device_type, dtype)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(device_type, False)


class FusedAttention(TorchFunctionMode):
    """CUDA attention by a kernel that keeps no scores, as GPUs since 2020 have for all shapes that train here."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention and args[0].device.type == "cuda" and args[0].dim() == 4:
            return _attention(*args, **kwargs)
        return func(*args, **kwargs)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,  # noqa: ARG001 - it exists already and is counted elsewhere
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> torch.Tensor:
    """Query, key and value are [B, H, T, D]; keeps its inputs, its result and one number per row."""
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
    kernel = torch.ops.aten._scaled_dot_product_efficient_attention
    attended: torch.Tensor = kernel(query, key, value, None, True, dropout_p, is_causal, scale=scale)[0]
    return attended
