"""The ranks of a run together: joining them and meeting.

A rendezvous is `file:///a/path` where one agent hosts all ranks, so that nothing listens on a network, else
`store://ADDRESS:PORT/PREFIX`: rank 0 listens there, on that one interface, and every key begins with a random prefix:
what a stranger writes under keys that can be guessed is read by nobody. That is all that can be had from torch's
store, which knows no authentication: who reaches it and speaks its protocol can list its keys, and then change them.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import torch
    from torch.distributed import Store  # type: ignore[attr-defined]


def join(
    rendezvous: str,
    rank: int,
    world_size: int,
    device: torch.device,
    *,
    cpu_too: bool = False,
    shared: bool = False,
) -> None:
    """Make the default process group. `cpu_too`: tensors of either kind, for GPUs' ranks with some in host memory;
    `shared`: the ranks have a GPU together, see `backend`."""
    import torch.distributed as dist

    chosen = backend(device.type, cpu_too=cpu_too, shared=shared)
    where = (
        {"store": _store(rendezvous, rank)}
        if rendezvous.startswith("store://")
        else {"init_method": rendezvous}
    )
    dist.init_process_group(
        chosen,
        rank=rank,
        world_size=world_size,
        # bound to its device NCCL connects at once, before the first step; gloo binds to none
        device_id=device if "nccl" in chosen else None,
        **where,
    )


def backend(device_type: str, *, cpu_too: bool = False, shared: bool = False) -> str:
    """As torch names it. NCCL refuses two ranks on one GPU ("Duplicate GPU detected"); gloo takes them, by copying
    every tensor to host memory and back, so that what is measured so says nothing of a GPU each."""
    if device_type != "cuda" or shared:
        return "gloo"
    return "cuda:nccl,cpu:gloo" if cpu_too else "nccl"


def reserve(address: str) -> socket.socket:
    """A port that stays this user's until the socket is closed: rank 0 may listen there, nobody else.

    Bound, never listening: with SO_REUSEPORT on both, connections reach whoever listens."""
    reserved = _bindable()
    reserved.bind((address, 0))
    return reserved


def _store(rendezvous: str, rank: int) -> Store:
    from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

    parts = urlsplit(rendezvous)
    assert parts.hostname
    assert parts.port
    if rank == 0:
        # left to itself the store would listen on every interface
        listener = _bindable()
        listener.bind((parts.hostname, parts.port))
        listener.listen(1024)
        store = TCPStore(
            parts.hostname,
            parts.port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
    else:
        store = TCPStore(parts.hostname, parts.port, is_master=False)
    return PrefixStore(parts.path, store)


def _bindable() -> socket.socket:
    bindable = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bindable.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bindable.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return bindable


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
