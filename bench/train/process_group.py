"""The process group of a run's ranks: join, barrier, leave.

The ranks meet at a rendezvous URL. If one agent hosts all ranks it is `file:///a/path`, and nothing listens on a
network. Otherwise it is `store://ADDRESS:PORT/PREFIX`: rank 0 listens there, on that interface only, and every key
begins with a random prefix, so that no rank reads values under keys that others could guess. torch's store offers no
more: it has no authentication, and any client that reaches it and speaks its protocol can list and change its keys.
"""

from __future__ import annotations

import math
import os
import socket
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import torch
    from torch.distributed import Store  # type: ignore[attr-defined]

_MARGIN_S = 60.0
"""Time that the agents have to end a run which takes too long, before torch does."""


def join(
    rendezvous: str,
    rank: int,
    world_size: int,
    device: torch.device,
    *,
    timeout_s: float,
    cpu_too: bool = False,
    shared: bool = False,
) -> None:
    """Make the default process group.

    `timeout_s`: limit of the whole run, which its agents enforce; torch's own limits must not be shorter. `cpu_too`:
    GPU ranks also exchange tensors in host memory. `shared`: several ranks share a GPU, see `backend`."""
    import torch.distributed as dist

    limit = _raise_limits(timeout_s)
    chosen = backend(device.type, cpu_too=cpu_too, shared=shared)
    where = (
        {"store": _store(rendezvous, rank, limit)}
        if rendezvous.startswith("store://")
        else {"init_method": rendezvous}
    )
    dist.init_process_group(
        chosen,
        rank=rank,
        world_size=world_size,
        timeout=limit,
        # with a device NCCL connects at once, before the first step; gloo takes no device
        device_id=device if "nccl" in chosen else None,
        **where,
    )


def _raise_limits(timeout_s: float) -> timedelta:
    """Raise the limits at which torch ends a process that waits for others; returns the new limit.

    The agents say which rank the others wait for; torch would end all of them with SIGABRT, after 10 minutes."""
    from torch.distributed import distributed_c10d

    limit = timedelta(seconds=timeout_s + _MARGIN_S)
    # groups that a strategy makes later, such as those of a device mesh, take these
    distributed_c10d.default_pg_timeout = limit
    distributed_c10d.default_pg_nccl_timeout = limit  # type: ignore[attr-defined] # it is not exported
    # NCCL's watchdog may itself wait for the device
    os.environ.setdefault("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", str(math.ceil(limit.total_seconds())))
    return limit


def backend(device_type: str, *, cpu_too: bool = False, shared: bool = False) -> str:
    """The backend's name in torch.

    NCCL refuses two ranks on one GPU ("Duplicate GPU detected"). gloo accepts them but copies every tensor to host
    memory and back: such measurements say nothing about ranks with a GPU each."""
    if device_type != "cuda" or shared:
        return "gloo"
    return "cuda:nccl,cpu:gloo" if cpu_too else "nccl"


def reserve(address: str) -> socket.socket:
    """Reserve a port for this user's rank 0 until the socket is closed.

    The socket is bound and never listens: with SO_REUSEPORT on both sockets, connections reach the one that listens."""
    reserved = _bindable()
    reserved.bind((address, 0))
    return reserved


def _store(rendezvous: str, rank: int, limit: timedelta) -> Store:
    from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

    parts = urlsplit(rendezvous)
    assert parts.hostname
    assert parts.port
    if rank == 0:
        # without a socket of ours the store would listen on every interface
        listener = _bindable()
        listener.bind((parts.hostname, parts.port))
        listener.listen(1024)
        store = TCPStore(
            parts.hostname,
            parts.port,
            is_master=True,
            timeout=limit,
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
    else:
        store = TCPStore(parts.hostname, parts.port, is_master=False, timeout=limit)
    return PrefixStore(parts.path, store)


def _bindable() -> socket.socket:
    bindable = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bindable.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bindable.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return bindable


def barrier(device: torch.device) -> None:
    """Wait until all ranks are here and this rank's device is idle; without a group, for the device only."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def gathered(number: int, device: torch.device) -> list[int]:
    """The number of each rank, from 0 to 2^63 - 1; without a group, of this one. Every rank must call it."""
    import torch

    if not torch.distributed.is_initialized():
        return [number]
    numbers = torch.zeros(torch.distributed.get_world_size(), dtype=torch.int64, device=device)
    numbers[torch.distributed.get_rank()] = number
    torch.distributed.all_reduce(numbers)
    found: list[int] = numbers.tolist()
    return found


_KEPT: list[object] = []


def keep(training: object) -> None:
    """Let a training, whose model may be in DDP, live until the process ends by os._exit.

    In torch 2.8 and 2.11 such a model's reducer may own the last reference to the process group. Its destructor then
    waits for gloo's threads with the GIL held, and one of them may need the GIL to free a tensor: neither ends."""
    _KEPT.append(training)


def leave() -> None:
    """End the default process group, if there is one."""
    import torch

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
