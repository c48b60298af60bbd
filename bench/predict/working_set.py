"""What forward and backward of one micro-batch keep and compute with, found on shapes: nothing is computed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import nn

from bench.dtypes import narrow_dtype
from bench.errors import InputError
from bench.predict.cuda_shapes import FusedAttention, autocast
from bench.predict.live_bytes import LiveBytes
from bench.predict.sizes import ModelSize, WorkingSet
from bench.train import checkpointing, on_meta
from bench.workloads import Workload


@dataclass(frozen=True, kw_only=True)
class How:
    """What changes what is kept."""

    device_type: str
    precision: str
    gathered: str | None
    """dtype in which parameters are gathered where that is a narrower one; null leaves them as they are."""
    checkpointing: bool


def size_of(workload: Workload) -> ModelSize:
    """Of a prepared workload's model."""
    with on_meta.shapes() as shapes:
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


def working_set(workload: Workload, micro_batch: int, how: How) -> WorkingSet:
    """Of a prepared workload. Raises what its methods raise on shapes.

    Shapes on CUDA have no backward where there is no GPU, so what backward takes beyond what forward left is looked up
    on a CPU."""
    on_cpu = _traced(workload, micro_batch, how, "cpu")
    if how.device_type == "cpu":
        return on_cpu
    forward = _traced(workload, micro_batch, how, how.device_type)
    more = forward.kept_bytes - on_cpu.kept_bytes
    return WorkingSet(
        kept_bytes=forward.kept_bytes,
        peak_bytes=max(forward.peak_bytes, on_cpu.peak_bytes + more),
        peak_with_gradients_bytes=max(forward.peak_bytes, on_cpu.peak_with_gradients_bytes + more),
    )


def _traced(workload: Workload, micro_batch: int, how: How, device_type: str) -> WorkingSet:
    attention = FusedAttention() if device_type == "cuda" else nullcontext()
    with on_meta.shapes(device_type) as shapes, attention:
        model = shapes.model(workload)
        if gathered := narrow_dtype(how.gathered):
            _narrow(model, gathered)
        if how.checkpointing:
            checkpointing.recompute(workload.blocks(model))
        with LiveBytes([*model.parameters(), *model.buffers()]) as live:
            batch = shapes.batch(workload, micro_batch)
            with autocast(how.precision, device_type):
                loss = workload.loss(model, batch)
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
    for module in model.modules():
        for name, part in module._parameters.items():
            if part is not None and part.is_floating_point():
                same = torch.empty_like(part, dtype=dtype, requires_grad=False)
                module._parameters[name] = nn.Parameter(same, requires_grad=part.requires_grad)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()
