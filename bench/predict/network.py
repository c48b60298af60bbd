"""A rank's traffic in one optimizer step, and the time that the network takes for it.

docs/methodology.md has the table of traffic by strategy and the time formulas. The database has macros of the same
names; tests/unit/analysis/test_formulas_agree.py checks that both agree. A network is known from the command line, or
from lines that the database fits to timed collectives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from math import log2
from typing import Literal

from bench.common.own_part import label
from bench.measure.machine.bandwidth import OPS, bus_factor
from bench.predict.timeline import Group, Sending
from bench.records.run_spec import RunSpec

Phase = Literal["forward", "backward", "last_backward"]
Algorithm = Literal["ring", "tree"]
Scope = Literal["ranks", "groups"]
"""`ranks`: among all ranks, or among those of a shard group. `groups`: among one rank of each group."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The messages of one operation in a step."""

    op: str
    phase: Phase
    """The phase that hides it; `last_backward` is the backward of the last micro-batch."""
    scope: Scope
    messages: int
    """Per step, of equal size."""
    message_bytes: float
    """Bytes of all messages together; with scope `groups` before the division by a group's ranks."""


@dataclass(frozen=True, kw_only=True)
class Sharding:
    """How fsdp and fsdp1 move parameters and gradients."""

    keeps: bool
    """Parameters stay gathered between forward and backward."""
    gathered: int
    """Bytes of an element of a gathered parameter."""
    reduced: int
    """Bytes of an element of a reduced gradient."""
    offloads: bool

    @classmethod
    def of(cls, spec: RunSpec) -> Sharding:
        options = spec.strategy_options
        mode = options.get("reshard", options.get("sharding_strategy"))
        return cls(
            keeps=mode in ("grad_op", "shard_grad_op"),
            gathered=element_bytes_of(options.get("param_dtype") or spec.train.precision),
            reduced=element_bytes_of(options.get("reduce_dtype")),
            offloads=bool(options.get("cpu_offload")),
        )


def is_sharded(spec: RunSpec) -> bool:
    return spec.strategy in ("fsdp", "fsdp1")


def shard_count(spec: RunSpec) -> int:
    """Ranks that share one copy of the parameters."""
    if not is_sharded(spec):
        return 1
    return min(spec.strategy_options.get("shard_size") or spec.world_size, spec.world_size)


def step_traffic(spec: RunSpec, parameters: int, units: int) -> tuple[list[Traffic], str | None]:
    """A rank's traffic in one step; else an empty list and the reason why it is unknown.

    `units`: the model's blocks, plus one for the rest of the model."""
    if spec.strategy == "single" or spec.world_size == 1:
        return [], None
    if spec.strategy == "ddp":
        return _ddp_traffic(spec, parameters)
    if is_sharded(spec):
        return _sharded_traffic(spec, parameters, units)
    return [], f"the traffic of strategy {label(spec.strategy)} is not known"


def _ddp_traffic(spec: RunSpec, parameters: int) -> tuple[list[Traffic], str | None]:
    compression = spec.strategy_options["gradient_compression"]
    if compression == "powersgd":
        return [], "the traffic of powersgd depends on the shapes of all parameters"
    # DDP fills its buckets with fp32 gradients and compresses them only then.
    buckets = math.ceil(4 * parameters / (spec.strategy_options["bucket_cap_mb"] * 2**20))
    message_bytes = parameters * element_bytes_of(compression)
    return [
        Traffic(
            op="all_reduce",
            phase="last_backward",
            scope="ranks",
            messages=buckets,
            message_bytes=message_bytes,
        )
    ], None


def _sharded_traffic(spec: RunSpec, parameters: int, units: int) -> tuple[list[Traffic], str | None]:
    sharding = Sharding.of(spec)
    if sharding.offloads:
        return [], "the traffic of cpu_offload to the host and back is not known"
    gathers = 1 if sharding.keeps and spec.strategy == "fsdp1" else spec.train.accumulate

    def gather(phase: Phase) -> Traffic:
        return Traffic(
            op="all_gather",
            phase=phase,
            scope="ranks",
            messages=gathers * units,
            message_bytes=gathers * parameters * sharding.gathered,
        )

    def reduce(op: str, scope: Scope) -> Traffic:
        return Traffic(
            op=op,
            phase="last_backward",
            scope=scope,
            messages=units,
            message_bytes=parameters * sharding.reduced,
        )

    traffic = [gather("forward")]
    if not sharding.keeps:
        traffic.append(gather("backward"))
    traffic.append(reduce("reduce_scatter", "ranks"))
    if shard_count(spec) < spec.world_size:
        traffic.append(reduce("all_reduce", "groups"))
    return traffic, None


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


def element_bytes_of(dtype: str | None) -> int:
    """Bytes of an element of a dtype or precision on the network; tf32 rounds only inside multiplications."""
    return 2 if dtype in ("bf16", "fp16") else 4


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

    def seconds(self, traffic: Traffic, spec: RunSpec) -> float | None:
        """Time of all its messages, one after the other; null if the operation was never timed at its locality (within
        a node, or between nodes)."""
        shards = shard_count(spec) if traffic.scope == "groups" else 1
        each = traffic.message_bytes / shards / traffic.messages
        sending = self.sending(traffic.op, each, group_of(traffic.scope, spec))
        return None if sending is None else traffic.messages * sending.seconds

    def sending(self, op: str, message_bytes: float, group: Group) -> Sending | None:
        """One message; null as in `seconds`. One from rank to rank (`send`, `recv`) is taken to be as fast as a
        broadcast between two."""
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

    def problem(self, traffic: Traffic, spec: RunSpec) -> str | None:
        """Why `seconds` is null, and the remedy."""
        if self.seconds(traffic, spec) is not None:
            return None
        where, on, options = "", "", "--bus-gbps"
        if any(line.op == traffic.op for line in self.lines):
            where, on = " within a node", " on one node"
            if group_of(traffic.scope, spec).nodes > 1:
                where, on, options = " between nodes", " on several nodes", "--bus-gbps and --inter-bus-gbps"
        return f"{traffic.op} was never timed{where}; measure it with `bench suite collectives`{on} or give {options}"

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


def group_of(scope: Scope, spec: RunSpec) -> Group:
    """The ranks that take part in one operation. Those of a shard group are consecutive; with scope `groups`, one rank
    of each group takes part."""
    group = shard_count(spec)
    ranks = spec.world_size if spec.strategy == "ddp" else group
    if scope == "groups":
        groups = spec.world_size // group
        return Group(scope, groups, min(groups, spec.nodes))
    return Group(scope, ranks, math.ceil(ranks / spec.ranks_per_node))
