"""The transport between ranks, such as InfiniBand or shared memory.

NCCL names it only in its log, which goes to a file in the run's scratch folder. NCCL writes these messages while it
makes communicators, never in a step. If a rank fails, the important lines go to the end of the rank's own log.
"""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from pathlib import Path

_VARIABLE_OF_NCCL = "NCCL_SOCKET_IFNAME"
_KEPT_LINES = 50
"""Last lines of NCCL's log that a failed rank keeps, and most warnings before them."""


def meet_on(interface: str | None, *, nodes: int) -> None:
    """Have gloo and NCCL meet on the interface on which the agents met, unless the user has chosen another. On one
    node gloo uses it always, and NCCL chooses. Call it before the group is made. Null: both choose."""
    if interface is None:
        return
    if nodes == 1:
        os.environ["GLOO_SOCKET_IFNAME"] = interface
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    if not any(_VARIABLE_OF_NCCL in _variables_in(file) for file in _files_of_nccl()):
        os.environ.setdefault(_VARIABLE_OF_NCCL, f"={interface}")  # "eth1" alone would also be "eth10"


def _files_of_nccl() -> tuple[Path, Path]:
    """Files from which NCCL takes variables that are not set."""
    own = os.environ.get("NCCL_CONF_FILE") or "~/.nccl.conf"
    return Path(os.path.expanduser(own)), Path("/etc/nccl.conf")  # noqa: PTH111 - a user may have no home


def _variables_in(file: Path) -> set[str]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {name.strip() for name, equals, _ in (line.partition("=") for line in lines) if equals}


def request_nccl_log(environment: MutableMapping[str, str], scratch: Path, rank: int) -> None:
    """Add NCCL's variables to a rank's environment, before it makes the group. If the user has set NCCL_DEBUG, nothing
    changes and nothing is recorded."""
    if "NCCL_DEBUG" not in environment:
        environment.update(
            NCCL_DEBUG="INFO",
            NCCL_DEBUG_SUBSYS="INIT,NET,P2P,SHM",
            NCCL_DEBUG_FILE=str(_log(scratch, rank)),
        )


def of_nccl(scratch: Path, rank: int) -> str | None:
    """The transport in NCCL's log; null if there is none."""
    try:
        return parse_nccl_log(_log(scratch, rank).read_text(errors="replace"), library())
    except FileNotFoundError:
        return None


def keep_nccl_log(scratch: Path, rank: int, log: Path) -> None:
    """Append the warnings and the last lines of NCCL's log to the log of a rank; nothing if NCCL wrote none."""
    try:
        lines = _log(scratch, rank).read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return
    warnings = [line for line in lines[:-_KEPT_LINES] if " NCCL WARN " in line]
    kept = [f"--- warnings and last {_KEPT_LINES} lines of NCCL's log", *warnings[-_KEPT_LINES:]]
    with log.open("a") as file:
        file.writelines(f"{line}\n" for line in [*kept, *lines[-_KEPT_LINES:]])


def of_gloo(*, gpus_shared: bool) -> str:
    """gloo and its interface. `gpus_shared`: ranks share a GPU, see `backend` of bench/train/process_group.py."""
    text = f"gloo over {os.environ.get('GLOO_SOCKET_IFNAME', 'an interface of its own choice')}"
    return f"{text}, by way of host memory: ranks share a GPU" if gpus_shared else text


def library() -> str:
    """The library behind torch's backend `nccl`: NCCL, or AMD's RCCL, which has its variables and its log."""
    import torch

    return "NCCL" if torch.version.hip is None else "RCCL"


def nccl_version() -> str:
    """Version of the library that torch has loaded; uses no device."""
    import torch

    parts: tuple[int, ...] = torch.cuda.nccl.version()
    return ".".join(map(str, parts))


def parse_nccl_log(log: str, library: str) -> str | None:
    """`NCCL 2.27.3 via NET/IB/GDRDMA, P2P/CUMEM; network IB` from the log of one rank; null if the log has none of it.

    NCCL 2.18 to 2.27 write lines such as `NCCL INFO Channel 00/0 : 0[0] -> 2[0] [receive] via NET/IB/3/GDRDMA`,
    `NCCL INFO Using network IB`, `NCCL version 2.27.3+cuda12.9`. `NET/IB/0(1)` is adapter 0 by way of rank 1's GPU.
    RCCL writes `RCCL version : 2.22.3-HEAD:9b8a8c2`."""
    ways = sorted(
        {re.sub(r"/\d+(\(\d+\))?", "", way) for way in re.findall(r"Channel \S+ ?:.* via (\S+)", log)}
    )
    networks = sorted(set(re.findall(r"Using network (\S+)", log)))
    version = re.search(rf"{library} version ?:? ?(\d[\d.]*)", log)
    if not ways and not networks:
        return None
    text = f"{library} {version[1].rstrip('.')}" if version else library
    if ways:
        text += f" via {', '.join(ways)}"
    return text + (f"; network {', '.join(networks)}" if networks else "")


def _log(scratch: Path, rank: int) -> Path:
    return scratch / f"nccl.rank{rank}.log"
