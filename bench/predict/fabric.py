"""How long the network takes, as far as it is known: from the command line, or from a database's fitted lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bench.measure.bandwidth import OPS, bus_factor
from bench.predict.formulas import Algorithm, communication_time_of
from bench.predict.traffic import Sent, shard_count
from bench.records.run_spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class Line:
    """Time of an operation over its bytes: a row of the view `fabric_lines`, or what was said by hand."""

    op: str
    across_nodes: bool
    bus_bytes_per_s: float
    step_latency_s: float | None = None
    """Of each message that waits for another; null where `latency_s` is that of the whole operation."""
    latency_s: float | None = None
    nodes: int | None = None
    """Of the placement that was measured; null where the line holds for all."""
    ranks_per_node: int | None = None
    relative_error: float | None = None
    """Root mean square, of the line against what was timed; null where nothing was timed at this placement."""


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """What connects ranks."""

    lines: tuple[Line, ...]
    source: str
    """In words: the options, or the sessions."""
    trees: bool
    """Whether the faster of ring and tree is taken, as NCCL does; gloo has rings."""

    def seconds(self, sent: Sent, spec: RunSpec) -> float | None:
        """Of all its messages, one after the other; null where the operation was never timed: within a node, or
        between nodes where it goes between nodes."""
        ranks, nodes = _over(sent, spec)
        if ranks == 1:
            return 0.0
        line = self._line(sent.op, ranks, nodes)
        if line is None:
            return None
        shards = shard_count(spec) if sent.scope == "groups" else 1
        each = sent.message_bytes / shards / sent.messages
        return sent.messages * self._once(line, each, ranks)

    def problem(self, sent: Sent, spec: RunSpec) -> str | None:
        """Why there is no time, and the remedy."""
        if self.seconds(sent, spec) is not None:
            return None
        if not any(line.op == sent.op for line in self.lines):
            return f"{sent.op} was never timed; `bench suite collectives` does it, --bus-gbps says it"
        if _over(sent, spec)[1] > 1:
            return (
                f"{sent.op} was never timed between nodes; `bench suite collectives` over several nodes does it, "
                "--bus-gbps with --inter-bus-gbps says it"
            )
        return f"{sent.op} was never timed within a node; `bench suite collectives` on one does it, --bus-gbps says it"

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

    def _line(self, op: str, ranks: int, nodes: int) -> Line | None:
        """That placement's own; else the one for its locality: what was timed within a node says nothing of a network
        between nodes."""
        found = [line for line in self.lines if line.op == op]
        own = [line for line in found if line.nodes == nodes and nodes * (line.ranks_per_node or 0) == ranks]
        general = [line for line in found if line.nodes is None and line.across_nodes == (nodes > 1)]
        return next(iter([*own, *general]), None)


def by_hand(
    *,
    gbps: float,
    latency_us: float | None,
    inter_gbps: float | None,
    inter_latency_us: float | None,
    trees: bool,
) -> Fabric:
    """All operations alike: 10^9 bytes per second of the bus, microseconds per message that waits for another, which
    are 0 where they are not given."""
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
    words = f"{gbps:g} GB/s and {within[1]:g} µs per message, "
    if between == within:
        words += "within nodes and between them"
    else:
        words += f"between nodes {between[0]:g} GB/s and {between[1]:g} µs"
    supposed = "; latency not given, taken as 0" if latency_us is None and inter_latency_us is None else ""
    return Fabric(lines=tuple(lines), source=f"{words}, as given{supposed}", trees=trees)


def total(times: Iterable[float | None]) -> float | None:
    """Their sum; null where one is."""
    known = list(times)
    return None if None in known else math.fsum(time for time in known if time is not None)


def _over(sent: Sent, spec: RunSpec) -> tuple[int, int]:
    """Ranks of one operation and the nodes that they lie on: those of a group follow each other, and one rank of each
    group meets those of the others."""
    group = shard_count(spec)
    ranks = spec.world_size if spec.strategy == "ddp" else group
    if sent.scope == "groups":
        groups = spec.world_size // group
        return groups, min(groups, spec.nodes)
    return ranks, math.ceil(ranks / spec.ranks_per_node)
