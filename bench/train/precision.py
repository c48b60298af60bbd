"""Arithmetic of a step: autocast, gradient scaling, and which tensor cores fp32 may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from bench.dtypes import narrow_dtype


def configure(precision: str) -> None:
    """Set what fp32 means in this process: tf32 products are a choice, never a default."""
    # These setters keep every getter of torch's consistent; the newer fp32_precision makes the older ones raise.
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Around forward and loss; one object for the whole run, entered once per micro-batch."""
    dtype = narrow_dtype(precision)
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def scaler(precision: str, device: torch.device, *, sharded: bool = False) -> torch.amp.GradScaler | None:
    """fp16 needs its loss scaled; its `step` waits for the device to look for overflow (torch's own doing).

    `sharded`: an overflow in another rank's shard counts too, where gradients do not say themselves that they are one.
    """
    if precision != "fp16":
        return None
    if not sharded:
        return torch.amp.GradScaler(device.type)
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    return ShardedGradScaler(device=device.type)
