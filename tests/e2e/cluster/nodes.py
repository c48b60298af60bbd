"""The nodes of a throw-away cluster, seen from this machine: the user's processes, their sockets, what they left."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.measure import recorder

PATIENCE_S = 90.0
"""Limit for events that must happen; none takes half as long."""
_LISTENS = "0A"
"""A socket's state in /proc/net/tcp."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process of the user on a node."""

    pid: int
    """Its id on this machine."""
    node: str
    command: tuple[str, ...]

    @property
    def alive(self) -> bool:
        """False for a zombie."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    @property
    def environ(self) -> dict[str, str]:
        words = _read(self.pid, "environ").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)

    @property
    def log(self) -> str:
        """The file that it prints to."""
        try:
            return _link(Path(f"/proc/{self.pid}/fd/1"))
        except OSError:
            return ""


class Nodes:
    """n1 and n2, identified by the daemons that run on them."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._pids = _link(Path(f"/proc/{cluster.first_process()}/ns/pid"))
        self._user = cluster.results.stat().st_uid
        self._daemons = {
            command[-1]: pid for pid, command in self._all() if command[:3] == ("slurmd", "-D", "-N")
        }
        self._names = {_link(Path(f"/proc/{pid}/ns/uts")): name for name, pid in self._daemons.items()}

    def processes(self) -> list[Process]:
        """The user's processes on the nodes."""
        found = []
        for pid, command in self._all():
            try:
                name = self._names.get(_link(Path(f"/proc/{pid}/ns/uts")))
            except OSError:  # gone meanwhile
                continue
            if name is not None and _user(pid) == self._user:
                found.append(Process(pid=pid, node=name, command=command))
        return [process for process in found if process.alive]

    def agents(self) -> dict[int, Process]:
        """Agents by task of the step."""
        found = [process for process in self.processes() if _is_agent(process.command)]
        return {int(process.environ.get("SLURM_PROCID", -1)): process for process in found}

    def ranks(self) -> dict[int, Process]:
        """Ranks of the run in progress."""
        logs = [(re.search(r"/rank(\d+)\.log$", process.log), process) for process in self.processes()]
        return {int(match[1]): process for match, process in logs if match}

    def rows(self, run_id: str) -> dict[int, int]:
        """Completed steps of each rank of a run in progress."""
        found = {}
        for node in self._daemons:
            for path in self.temporary(node).glob(f"bench-*/{run_id}.*/steps.rank*.raw"):
                last = recorder.peek(path)
                found[int(path.name.split(".")[1][4:])] = 0 if last is None else last.rows
        return found

    def temporary(self, node: str) -> Path:
        """The node's /tmp."""
        return Path(f"/proc/{self._daemons[node]}/root/tmp")

    def left(self) -> list[str]:
        """Processes of the user and scratch folders of agents."""
        folders = [str(path) for node in self._daemons for path in self.temporary(node).glob("bench-*")]
        return [f"{process.node}: {' '.join(process.command)}" for process in self.processes()] + folders

    def listening(self) -> dict[tuple[str, int], Process]:
        """Addresses and ports of the nodes on which a process of the user takes connections."""
        sockets = {
            inode: address
            for pid in self._daemons.values()
            for family in ("tcp", "tcp6")
            for inode, address in _listening(pid, family)
        }
        return {
            sockets[inode]: process
            for process in self.processes()
            for inode in _sockets(process.pid)
            if inode in sockets
        }

    def words(self) -> bytes:
        """Command lines and environments of every process of the cluster, including daemons and the login node."""
        return b"".join(_bytes(pid, name) for pid, _ in self._all() for name in ("cmdline", "environ"))

    def _all(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        for path in Path("/proc").iterdir():
            try:
                if path.name.isdigit() and _link(path / "ns/pid") == self._pids:
                    yield int(path.name), tuple(_read(int(path.name), "cmdline").rstrip("\0").split("\0"))
            except OSError:  # gone meanwhile
                continue


def until(condition: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> float:
    """Wait for the condition; return the seconds that it took."""
    begun_s = time.monotonic()
    while not condition():
        took_s = time.monotonic() - begun_s
        assert took_s < patience_s, f"not {what} after {patience_s:g} s"
        time.sleep(0.1)
    return time.monotonic() - begun_s


def _is_agent(command: tuple[str, ...]) -> bool:
    return any(word.endswith("/bench") and rest == "suite" for word, rest in pairwise(command))


def _listening(pid: int, family: str) -> Iterator[tuple[str, tuple[str, int]]]:
    """Inode, address and port of each socket in that process's network."""
    for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
        _slot, local, _remote, state, *_rest, inode = line.split()[:10]
        if state == _LISTENS:
            address, _, port = local.partition(":")
            yield inode, (_dotted(address), int(port, 16))


def _dotted(words: str) -> str:
    """Decode an IPv4 address from its four bytes, lowest first; return any other address unchanged."""
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(words))) if len(words) == 8 else words


def _sockets(pid: int) -> Iterator[str]:
    try:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            if match := re.fullmatch(r"socket:\[(\d+)\]", _link(path)):
                yield match[1]
    except OSError:  # gone meanwhile
        return


def _link(path: Path) -> str:
    """Raises OSError if the process is gone."""
    return str(path.readlink())


def _user(pid: int) -> int | None:
    match = re.search(r"^Uid:\s+(\d+)", _read(pid, "status"), re.M)
    return int(match[1]) if match else None


def _read(pid: int, name: str) -> str:
    return _bytes(pid, name).decode(errors="replace")


def _bytes(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # gone meanwhile
        return b""
