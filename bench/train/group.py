"""The ranks of a run together: joining them and meeting."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def join(rendezvous: str, rank: int, world_size: int, device: torch.device) -> None:
    """Make the default process group. `rendezvous`: torch.distributed's init_method."""
    import torch.distributed as dist

    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        init_method=rendezvous,
        rank=rank,
        world_size=world_size,
        device_id=device if device.type == "cuda" else None,
    )


def barrier(device: torch.device) -> None:
    """All ranks are here and this rank's device is idle; without a group, the device alone."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def leave() -> None:
    """End the default process group where there is one."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
