"""The time that the network takes for a message.

docs/methodology/communication.md has the formulas. The database has macros of the same names;
tests/unit/analysis/test_formulas_agree.py checks that both agree. A network is known from the command line, or
from lines that the database fits to timed collectives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log2
from typing import Literal

from bench.measure.machine.bandwidth import OPS, bus_factor
from bench.predict.timeline import Group, Message, Sending

Algorithm = Literal["ring", "tree"]


def latency_steps_of(op: str, n: int, algorithm: Algorithm) -> float | None:
    """Messages of one operation that wait for each other; null if the operation has no tree."""
    if algorithm == "ring":
        return 2 * (n - 1) if op == "all_reduce" else n - 1
    return {"all_reduce": 2 * log2(n), "broadcast": log2(n)}.get(op)


def communication_time_of(
    op: str,
    message_bytes: float,
    n: int,
    *,
    step_latency_s: float,
    bus_bytes_per_s: float,
    algorithm: Algorithm,
) -> float | None:
    """Seconds of one operation; null if it has no tree. A tree sends all of an all_reduce up and down again."""
    steps = latency_steps_of(op, n, algorithm)
    if steps is None:
        return None
    factor = 2 if algorithm == "tree" and op == "all_reduce" else bus_factor(op, n)
    return steps * step_latency_s + factor * message_bytes / bus_bytes_per_s


@dataclass(frozen=True, kw_only=True)
class Line:
    """Time of an operation as a line over its bytes: a row of the view `fabric_lines`, or the command-line options."""

    op: str
    across_nodes: bool
    bus_bytes_per_s: float
    step_latency_s: float | None = None
    """Latency of each message that waits for another; null if `latency_s` is that of the whole operation."""
    latency_s: float | None = None
    nodes: int | None = None
    """Nodes of the placement that was measured; null if the line holds for all placements."""
    ranks_per_node: int | None = None
    relative_error: float | None = None
    """Root mean square of line - timing; null if nothing was timed at this placement."""
    cpu_cores: float | None = None
    """CPU cores that a rank keeps busy while it sends, on average; null on a GPU, and if that was not measured."""
    after_computation: bool = False
    """Whether each rank computed before each operation, as in a training step."""


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """The network between ranks."""

    lines: tuple[Line, ...]
    source: str
    """In words: the options, or the sessions."""
    trees: bool
    """Take the faster of ring and tree, as NCCL does; gloo has rings only."""

    def sending(self, op: str, message_bytes: float, group: Group) -> Sending | None:
        """One message; null if the operation was never timed at its locality (within a node, or between nodes).

        A message from rank to rank (`send`, `recv`) is taken to be as fast as a broadcast between two."""
        if group.ranks == 1:
            return Sending(seconds=0.0)
        if op in ("send", "recv"):
            op, group = "broadcast", Group(group.name, 2, group.nodes)
        line = self._line(op, group.ranks, group.nodes)
        if line is None:
            return None
        return Sending(seconds=self._once(line, message_bytes, group.ranks), cores=line.cpu_cores or 0.0)

    def _once(self, line: Line, message_bytes: float, ranks: int) -> float:
        if line.step_latency_s is None:
            assert line.latency_s is not None
            return line.latency_s + bus_factor(line.op, ranks) * message_bytes / line.bus_bytes_per_s
        algorithms: tuple[Algorithm, ...] = ("ring", "tree") if self.trees else ("ring",)
        times = (
            communication_time_of(
                line.op,
                message_bytes,
                ranks,
                step_latency_s=line.step_latency_s,
                bus_bytes_per_s=line.bus_bytes_per_s,
                algorithm=algorithm,
            )
            for algorithm in algorithms
        )
        return min(time for time in times if time is not None)

    def problem(self, op: str, group: Group) -> str | None:
        """Why `sending` is null, and the remedy; null if it is known."""
        if self.sending(op, 0, group) is not None:
            return None
        if op in ("send", "recv"):  # taken to be a broadcast between two
            return self.problem("broadcast", Group(group.name, 2, group.nodes))
        if op not in OPS:
            return f"the time of {op} is not known: `bench suite collectives` does not measure it"
        where, on, options = "", "", "--bus-gbps"
        if any(line.op == op for line in self.lines):
            where, on = " within a node", " on one node"
            if group.nodes > 1:
                where, on, options = " between nodes", " on several nodes", "--bus-gbps and --inter-bus-gbps"
        return f"{op} was never timed{where}; measure it with `bench suite collectives`{on} or give {options}"

    def _line(self, op: str, ranks: int, nodes: int) -> Line | None:
        """The line of this placement, else the one for its locality. A timing within a node says nothing about the
        network between nodes."""
        found = [line for line in self.lines if line.op == op]
        exact = [
            line for line in found if line.nodes == nodes and nodes * (line.ranks_per_node or 0) == ranks
        ]
        general = [line for line in found if line.nodes is None and line.across_nodes == (nodes > 1)]
        return next(iter([*exact, *general]), None)


def given_fabric(
    *,
    gbps: float,
    latency_us: float | None,
    inter_gbps: float | None,
    inter_latency_us: float | None,
    trees: bool,
) -> Fabric:
    """The same line for all operations, from bus bandwidths in 10^9 bytes per second and microseconds per message that
    waits for another [default: 0]."""
    within = (gbps, latency_us or 0.0)
    between = (
        gbps if inter_gbps is None else inter_gbps,
        within[1] if inter_latency_us is None else inter_latency_us,
    )
    lines = (
        Line(op=op, across_nodes=across, bus_bytes_per_s=bus * 1e9, step_latency_s=latency * 1e-6)
        for op in OPS
        for across, (bus, latency) in ((False, within), (True, between))
    )
    source = f"{gbps:g} GB/s and {within[1]:g} µs per message, "
    if between == within:
        source += "within and between nodes, as given"
    else:
        source += f"between nodes {between[0]:g} GB/s and {between[1]:g} µs, as given"
    if latency_us is None and inter_latency_us is None:
        source += "; latency not given, taken as 0"
    return Fabric(lines=tuple(lines), source=source, trees=trees)


def total(times: Iterable[float | None]) -> float | None:
    """The sum; null if one of them is null."""
    known = list(times)
    return None if None in known else math.fsum(time for time in known if time is not None)


def sender(fabric: Fabric | None) -> Callable[[Message], Sending]:
    """How a simulated step sends its messages. Those whose time is unknown take none."""

    def sending(message: Message) -> Sending:
        found = None if fabric is None else fabric.sending(message.op, message.message_bytes, message.group)
        return found or Sending(seconds=0.0)

    return sending
