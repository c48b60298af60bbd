"""What the ranks' library talks over. NCCL tells it only in its log, which is asked for in a file of the run's scratch;
these messages come while communicators are made, none in a step."""

from __future__ import annotations

import os
import re
from pathlib import Path

_WANTED = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,P2P,SHM"}


def ask_nccl(scratch: Path, rank: int) -> None:
    """Before the group is made. Who has set NCCL_DEBUG gets its log where they want it, and nothing is recorded."""
    if "NCCL_DEBUG" not in os.environ:
        os.environ.update(_WANTED, NCCL_DEBUG_FILE=str(_log(scratch, rank)))


def of_nccl(scratch: Path, rank: int) -> str | None:
    """Null where NCCL left no word."""
    try:
        return chosen(_log(scratch, rank).read_text(errors="replace"))
    except FileNotFoundError:
        return None


def of_gloo() -> str:
    """Its interface, where one was named."""
    return f"gloo over {os.environ.get('GLOO_SOCKET_IFNAME', 'an interface of its own choice')}"


def of_gloo_on_gpus() -> str:
    """Where ranks share a GPU: see `backend` of bench/train/group.py."""
    return f"{of_gloo()}, by way of host memory: ranks share a GPU"


def nccl_version() -> str:
    """Of the library that torch has loaded; asks no device."""
    import torch

    parts: tuple[int, ...] = torch.cuda.nccl.version()
    return ".".join(map(str, parts))


def chosen(log: str) -> str | None:
    """`NCCL 2.27.3 via NET/IB/GDRDMA, P2P/CUMEM; network IB` from the log of one rank; null where it says nothing.

    Lines as NCCL 2.18 to 2.27 write them: `NCCL INFO Channel 00/0 : 0[0] -> 2[0] [receive] via NET/IB/3/GDRDMA`,
    `NCCL INFO Using network IB`, `NCCL version 2.27.3+cuda12.9`."""
    ways = sorted({re.sub(r"/\d+", "", way) for way in re.findall(r"Channel \S+ ?:.* via (\S+)", log)})
    networks = sorted(set(re.findall(r"Using network (\S+)", log)))
    version = re.search(r"NCCL version (\d[\d.]*)", log)
    if not ways and not networks:
        return None
    text = f"NCCL {version[1]}" if version else "NCCL"
    if ways:
        text += f" via {', '.join(ways)}"
    return text + (f"; network {', '.join(networks)}" if networks else "")


def _log(scratch: Path, rank: int) -> Path:
    return scratch / f"nccl.rank{rank}.log"
