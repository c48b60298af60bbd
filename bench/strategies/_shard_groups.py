"""Groups of ranks that share one copy of a model: all ranks, or some of them, with copies between the groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh


def uneven(shard_size: int | None, world_size: int) -> str | None:
    """Why the ranks do not divide into groups of `shard_size`; null if they do, or if one group holds all ranks."""
    if shard_size is None or world_size <= shard_size or world_size % shard_size == 0:
        return None
    return (
        f"{world_size} ranks do not divide into groups of shard_size {shard_size} "
        f"({world_size} / {shard_size} = {world_size / shard_size:g})"
    )


def is_hybrid(shard_size: int | None, world_size: int) -> bool:
    """Whether there is more than one group."""
    return shard_size is not None and world_size > shard_size


def mesh(device: torch.device, shard_size: int | None) -> DeviceMesh:
    """Mesh over the default process group: [ranks], or [groups, ranks of a group] with consecutive ranks in a group."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh

    world_size = torch.distributed.get_world_size()
    if shard_size is None or not is_hybrid(shard_size, world_size):
        return init_device_mesh(device.type, (world_size,))
    return init_device_mesh(
        device.type, (world_size // shard_size, shard_size), mesh_dim_names=("replicate", "shard")
    )
