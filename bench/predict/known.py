"""What is known of the machine that a suite is meant for: the options first, then what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from bench.errors import InputError
from bench.predict.fabric import Fabric, Line, by_hand
from bench.predict.prediction import Machine
from bench.predict.request import memory_of
from bench.records.run_spec import RunSpec
from bench.suite.memory_size import memory_size

_OF_A_LINE = [one.name for one in fields(Line)]
_WITH_BUS = ("latency_us", "inter_bus_gbps", "inter_latency_us")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """By earlier sessions, of one kind of device; empty where there were none."""

    lines: tuple[Line, ...] = ()
    fabric_sessions: tuple[str, ...] = ()
    device_name: str | None = None
    """Whose network it is."""
    flops_per_s: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """The fastest multiplication by precision and CPU threads."""
    matmul_sessions: tuple[str, ...] = ()

    @classmethod
    def of(cls, fabric: Sequence[Mapping[str, Any]], matmul: Sequence[Mapping[str, Any]]) -> Measured:
        """Of the rows that the database has."""
        return cls(
            lines=tuple(Line(**{name: row[name] for name in _OF_A_LINE}) for row in fabric),
            fabric_sessions=tuple(sorted({row["fabric_session_id"] for row in fabric})),
            device_name=fabric[0]["device_name"] if fabric else None,
            flops_per_s={(row["precision"], row["threads"]): row["flops_per_s"] for row in matmul},
            matmul_sessions=tuple(sorted({row["session_id"] for row in matmul})),
        )


def machine(options: Mapping[str, Any], measured: Mapping[str, Measured]) -> Machine:
    """`measured`: by the type of device. Raises InputError where an option makes no sense."""
    fabrics = {kind: _fabric(options, found, trees=kind == "cuda") for kind, found in measured.items()}
    tflops = options["tflops"]

    def flops_per_s(spec: RunSpec) -> float | None:
        if tflops is not None:
            return float(tflops) * 1e12
        return _of_matmul(measured[spec.device_type], spec)

    return Machine(
        fabric=lambda spec: fabrics[spec.device_type],
        flops_per_s=flops_per_s,
        memory_bytes=memory_of(_memory(options["memory"])),
        words=lambda device: (
            _of_the_network(fabrics[device]),
            _of_computation(tflops, measured[device]),
        ),
    )


def _fabric(options: Mapping[str, Any], found: Measured, *, trees: bool) -> Fabric | None:
    for name in _WITH_BUS:
        if options["bus_gbps"] is None and options[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')}: only with --bus-gbps, the bus bandwidth within a node"
            )
    if options["bus_gbps"] is not None:
        return by_hand(
            gbps=options["bus_gbps"],
            latency_us=options["latency_us"],
            inter_gbps=options["inter_bus_gbps"],
            inter_latency_us=options["inter_latency_us"],
            trees=trees,
        )
    if not found.lines:
        return None
    return Fabric(lines=found.lines, source=_of_the_sessions(found), trees=trees)


def _of_the_sessions(found: Measured) -> str:
    """Which device and placements, and how far their lines are from what was timed."""
    placements = sorted(
        {(line.nodes, line.ranks_per_node or 0) for line in found.lines if line.nodes is not None}
    )
    shown = ", ".join(f"{nodes}x{ranks}" for nodes, ranks in placements)
    worst = max((line.relative_error or 0.0 for line in found.lines), default=0.0)
    return (
        f"collectives of {', '.join(found.fabric_sessions)} ({found.device_name}), timed at {shown}, lines off by "
        f"up to {worst:.0%}; other placements are extrapolated"
    )


def _of_matmul(found: Measured, spec: RunSpec) -> float | None:
    """On a CPU at the run's threads."""
    rates = [
        rate
        for (precision, threads), rate in found.flops_per_s.items()
        if precision == spec.train.precision and (spec.device_type == "cuda" or threads == spec.threads)
    ]
    return max(rates, default=None)


def _of_the_network(fabric: Fabric | None) -> str:
    if fabric is None:
        return "network: not known; `bench suite collectives` measures it, --bus-gbps says it"
    return f"network: {fabric.source}"


def _of_computation(tflops: float | None, found: Measured) -> str:
    if tflops is not None:
        return f"computation: {tflops:g} TFLOP/s of one device, as given"
    if not found.flops_per_s:
        return "computation: not known; `bench suite matmul` measures a bound, --tflops says it"
    return (
        f"computation: as fast as the largest multiplication of {', '.join(found.matmul_sessions)}, which no model is: "
        "steps take longer, and hide more of the network"
    )


def _memory(text: str | None) -> int | None:
    size = None if text is None else memory_size(text)
    if text is not None and not size:
        raise InputError(f"--memory {text}: give a size as in 80GiB or 500MB")
    return size
