"""Facts about the machine that a suite is meant for: command-line options first, then measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from bench.common.byte_sizes import size_text
from bench.common.errors import InputError
from bench.predict.network import Fabric, Line, given_fabric
from bench.predict.one_rank import OneRank, Phases, phases_of, runs_alike
from bench.predict.step_time import Cores, phases_of_flops
from bench.records.run_spec import RunSpec
from bench.records.vocabulary import DeviceType
from bench.suite.shorthand import memory_size


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurements of earlier sessions on one type of device; empty if there are none."""

    lines: tuple[Line, ...] = ()
    fabric_sessions: tuple[str, ...] = ()
    device_name: str | None = None
    """The device whose network was timed."""
    flops_per_s: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """The fastest multiplication by (precision, CPU threads)."""
    matmul_sessions: tuple[str, ...] = ()
    ranks: tuple[OneRank, ...] = ()
    """Runs that trained on one rank."""

    @classmethod
    def of(
        cls,
        fabric: Sequence[Mapping[str, Any]],
        matmul: Sequence[Mapping[str, Any]],
        ranks: Sequence[Mapping[str, Any]],
    ) -> Measured:
        """From rows of the database."""
        return cls(
            lines=tuple(Line(**{one.name: row[one.name] for one in fields(Line)}) for row in fabric),
            fabric_sessions=tuple(sorted({row["fabric_session_id"] for row in fabric})),
            device_name=fabric[0]["device_name"] if fabric else None,
            flops_per_s={(row["precision"], row["threads"]): row["flops_per_s"] for row in matmul},
            matmul_sessions=tuple(sorted({row["session_id"] for row in matmul})),
            ranks=tuple(map(OneRank.of, ranks)),
        )


@dataclass(frozen=True, kw_only=True)
class Machine:
    fabrics: Mapping[str, Fabric | None]
    """By the type of device, as `measured`."""
    measured: Mapping[str, Measured]
    given_tflops: float | None
    given_memory_bytes: int | None
    cpus_per_node: int

    def fabric(self, spec: RunSpec) -> Fabric | None:
        return self.fabrics[spec.device_type]

    def flops_per_s(self, spec: RunSpec) -> float | None:
        """Speed of one device at the run's precision; on a CPU with the run's threads."""
        if self.given_tflops is not None:
            return self.given_tflops * 1e12
        rates = [
            rate
            for (precision, threads), rate in self.measured[spec.device_type].flops_per_s.items()
            if precision == spec.train.precision and (spec.device_type == "cuda" or threads == spec.threads)
        ]
        return max(rates, default=None)

    def phases(self, spec: RunSpec, flops_per_example: float | None, *, share: float) -> Phases | None:
        """Phases of a rank's step, from measured runs of one rank, else from arithmetic; null if both are unknown. The
        rank updates that share of the model's parameters; ranks that share a batch divide its computation evenly."""
        found = None
        if self.given_tflops is None or spec.runs_a_command:
            found = phases_of(spec, self.measured[spec.device_type].ranks, share=share)
        speed = self.flops_per_s(spec)
        if found is None and speed is not None and flops_per_example is not None:
            flops = flops_per_example * spec.batch_per_rank
            found = phases_of_flops(flops, speed, spec.train.accumulate)
        return found and replace(
            found,
            forward_s=found.forward_s / spec.ranks_per_batch,
            backward_s=found.backward_s / spec.ranks_per_batch,
        )

    def doubts(self, spec: RunSpec) -> tuple[str, ...]:
        """Why the measured runs that `phases` uses may be wrong, with their sessions."""
        if self.given_tflops is not None and not spec.runs_a_command:
            return ()
        used = {one.session_id: one for one in runs_alike(spec, self.measured[spec.device_type].ranks)}
        return tuple(
            f"in {name}, {' and '.join(one.doubts)}" for name, one in sorted(used.items()) if one.doubts
        )

    def cores(self, spec: RunSpec) -> Cores:
        if spec.device_type != "cpu":
            return Cores()
        return Cores(
            of_a_rank=max(spec.threads, self.cpus_per_node / spec.ranks_per_node), computing=spec.threads
        )

    def memory_bytes(self, spec: RunSpec) -> int | None:
        """Memory of a rank; if not given, that of a rank on this machine."""
        if self.given_memory_bytes is not None:
            return self.given_memory_bytes
        return local_memory(spec.device_type, spec.ranks_per_node)

    def sources(self, device: str, specs: Sequence[RunSpec]) -> tuple[str, ...]:
        """Where the figures of a type of device come from, or how to get them. `specs`: the predicted runs on it."""
        fabric, measured = self.fabrics[device], self.measured[device]
        sessions = measured.matmul_sessions
        network = (
            "not known; measure it with `bench suite collectives` or give --bus-gbps"
            if fabric is None
            else fabric.source
        )
        of_commands = all(spec.runs_a_command for spec in specs)  # whose FLOPs are unknown
        if of_commands:
            computation = "not known; measure one rank with `bench run --world 1 -- COMMAND`"
        elif self.given_tflops is not None:
            computation = f"{self.given_tflops:g} TFLOP/s of one device, as given"
        elif sessions:
            computation = (
                f"as fast as the largest multiplication of {', '.join(sessions)}, which no model reaches: real steps "
                "take longer and hide more of the network"
            )
        else:
            computation = (
                "not known; measure one rank, as with a case of strategy single and `bench suite SUITE --world 1`, an "
                "upper bound with `bench suite matmul`, or give --tflops"
            )
        measures = of_commands or self.given_tflops is None
        used = [runs_alike(spec, measured.ranks) for spec in specs] if measures else []
        if any(used):
            ours = ", ".join(sorted({one.session_id for runs in used for one in runs}))
            others = "" if all(used) else f"; of other cases {computation}"
            same = ", with as many examples on each rank as there" if of_commands else ""
            computation = f"as measured on one rank in {ours}{same}{others}"
        return (
            f"network: {network}",
            f"computation: {computation}",
            f"memory of a rank: {self._memory_source(device)}",
        )

    def _memory_source(self, device: str) -> str:
        if self.given_memory_bytes is not None:
            return f"{size_text(self.given_memory_bytes)}, as given"
        if device == "cuda":
            return "that of the smallest GPU here; for another machine give --memory"
        return "its share of the memory that is free here; for another machine give --memory"


def machine(options: Mapping[str, Any], measured: Mapping[str, Measured], cpus_per_node: int) -> Machine:
    """`measured`: by the type of device. Raises InputError if an option is invalid."""
    for name in ("latency_us", "inter_bus_gbps", "inter_latency_us"):
        if options["bus_gbps"] is None and options[name] is not None:
            raise InputError(
                f"--{name.replace('_', '-')}: only with --bus-gbps, the bus bandwidth within a node"
            )
    memory_bytes = None if options["memory"] is None else memory_size(options["memory"])
    if options["memory"] is not None and not memory_bytes:
        raise InputError(f"--memory {options['memory']}: give a size as in 80GiB or 500MB")
    return Machine(
        fabrics={kind: _fabric(options, found, trees=kind == "cuda") for kind, found in measured.items()},
        measured=measured,
        given_tflops=options["tflops"],
        given_memory_bytes=memory_bytes,
        cpus_per_node=cpus_per_node,
    )


def _fabric(options: Mapping[str, Any], found: Measured, *, trees: bool) -> Fabric | None:
    if options["bus_gbps"] is not None:
        return given_fabric(
            gbps=options["bus_gbps"],
            latency_us=options["latency_us"],
            inter_gbps=options["inter_bus_gbps"],
            inter_latency_us=options["inter_latency_us"],
            trees=trees,
        )
    if not found.lines:
        return None
    placements = sorted(
        {
            (
                line.nodes,
                line.ranks_per_node or 0,
                "after computation" if line.after_computation else "back to back",
            )
            for line in found.lines
            if line.nodes is not None
        }
    )
    shown = ", ".join(f"{nodes}x{ranks} {how}" for nodes, ranks, how in placements)
    worst = max((line.relative_error or 0.0 for line in found.lines), default=0.0)
    source = (
        f"collectives of {', '.join(found.fabric_sessions)} ({found.device_name}), timed at {shown}, lines off by "
        f"up to {worst:.0%}; other placements are extrapolated"
    )
    return Fabric(lines=found.lines, source=source, trees=trees)


@cache
def local_memory(device: DeviceType, ranks_per_node: int) -> int | None:
    """Bytes per rank on this machine: the smallest GPU's (null without a GPU), or a share of the free main memory."""
    from bench.doctor.gather_facts import memory_available_bytes
    from bench.doctor.gather_nvidia import gather_nvidia
    from bench.machine import gpu_vendor

    if device == "cuda":
        found = () if gpu_vendor.is_amd() else gather_nvidia().gpus
        known = [gpu.memory_bytes for gpu in found if gpu.memory_bytes is not None]
        return min(known, default=None)
    return memory_available_bytes() // ranks_per_node
