"""Arithmetic of a step: autocast, gradient scaling, and which tensor cores fp32 may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from bench.common.dtypes import narrow_dtype


def configure(precision: str) -> None:
    """Set how this process computes fp32 products: in tf32 only if the suite asks for it."""
    # These setters keep all of torch's getters consistent; with the newer fp32_precision the older getters raise.
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Context for forward and loss; one object for the whole run, entered once per micro-batch."""
    dtype = narrow_dtype(precision)
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def scaler(precision: str, device: torch.device, *, sharded: bool = False) -> torch.amp.GradScaler | None:
    """The loss scaler that fp16 needs; null for other precisions. Its `step` waits for the device's overflow check.

    `sharded`: also count an overflow in another rank's shard, for gradients that do not mark themselves as shards."""
    if precision != "fp16":
        return None
    if not sharded:
        return torch.amp.GradScaler(device.type)
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    return ShardedGradScaler(device=device.type)
