"""Collectives that nccl-tests timed: one call of it becomes one run with rows of the table `collectives`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common.errors import InputError
from bench.importing.measurement import Problems
from bench.measure.machine.bandwidth import algorithm_gbps, bus_factor

WORKLOAD = "collectives"
"""Name of our own workload of this kind, so that views show imported runs next to measured ones."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One message size: one line of the output."""

    place: str
    """`line 31`, or `results[3].out_of_place`."""
    message_bytes: int
    time_us: float
    """Time of one operation: the mean over its iterations."""
    bus_gbps: float
    """Bus bandwidth as it was printed, for comparison with the value computed from size, time and ranks."""
    tolerance_gbps: float
    """Largest change of `bus_gbps` by rounding when it was printed."""


@dataclass(frozen=True, kw_only=True)
class CollectiveRun:
    """One call: one operation in many message sizes, on one set of ranks."""

    place: str
    """Name of the file."""
    op: str
    """One of bench.measure.machine.bandwidth.OPS."""
    in_place: bool
    world_size: int
    nodes: int
    devices: tuple[str, ...]
    """Models of the GPUs, each once."""
    nccl: str | None
    timings: tuple[Timing, ...]
    repeat: int = 0

    device_type = "cuda"
    scaling = "none"
    strategy = "process_group"
    seconds = None
    job_id = None
    tag = None

    @property
    def case(self) -> str:
        return f"{self.op}_in_place" if self.in_place else self.op

    @property
    def size(self) -> tuple[str, int, int]:
        """Case, ranks and nodes: equal for repeats."""
        return self.case, self.world_size, self.nodes

    @property
    def device_name(self) -> str | None:
        return ", ".join(self.devices) or None

    @property
    def fingerprint(self) -> dict[str, str]:
        known = {"device_type": "cuda", "gpu": self.device_name, "nccl": self.nccl, "transport": "nccl"}
        return {key: value for key, value in known.items() if value}

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the table `collectives`. A size that occurs again is a further iteration."""
        seen: Counter[int] = Counter()
        found = []
        for one in self.timings:
            time_ns = round(one.time_us * 1_000)
            gbps = algorithm_gbps(one.message_bytes, time_ns)
            found.append(
                {
                    "rank": None,
                    "node": None,
                    "op": self.op,
                    "iteration": seen[one.message_bytes],
                    "message_bytes": one.message_bytes,
                    "time_ns": time_ns,
                    "computation_ns": None,
                    "cpu_ns": None,
                    "algorithm_gbps": gbps,
                    "bus_gbps": gbps * bus_factor(self.op, self.world_size),
                }
            )
            seen[one.message_bytes] += 1
        return found


def check(runs: Sequence[CollectiveRun]) -> None:
    """Raises InputError if timings of a run contradict each other, or if only some of the runs are in-place."""
    for one in runs:
        _refuse_contradictions(one)
    in_place = [one.place for one in runs if one.in_place]
    if 0 < len(in_place) < len(runs):
        raise InputError(
            f"{', '.join(in_place)}: in-place figures only, but the other files have out-of-place ones, which are "
            "used: import these files separately"
        )


def _refuse_contradictions(one: CollectiveRun) -> None:
    """Size, time and ranks determine the bus bandwidth. If the printed one differs, one of the four is misread."""
    problems = Problems(file=one.place)
    if one.world_size % one.nodes:
        problems.add(
            "devices",
            f"{one.world_size} ranks do not divide among {one.nodes} nodes: a placement has the same number on each",
        )
    factor = bus_factor(one.op, one.world_size)
    for timing in one.timings:
        expected = timing.message_bytes / timing.time_us / 1_000 * factor
        if abs(expected - timing.bus_gbps) > timing.tolerance_gbps + 0.01 * expected:
            problems.add(
                timing.place,
                f"bus bandwidth is {timing.bus_gbps:g} GB/s, but {timing.message_bytes:,} bytes in "
                f"{timing.time_us:g} us on {one.world_size} ranks are {expected:.4g}: these figures are not of "
                f"{one.op} on that many ranks",
            )
    problems.raise_if_any()


def write_rows(folder: Path, one: CollectiveRun, owner: Mapping[str, str]) -> None:
    """Write collectives.parquet of a run; `owner` is the metadata that every Parquet file of a session has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bench.measure.write_parquet import arrow_schema

    table = pa.Table.from_pylist(one.rows(), schema=arrow_schema("collectives", owner))
    pq.write_table(table, folder / "collectives.parquet")
