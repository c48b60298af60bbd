"""Collectives that another program timed: one call of it, which becomes one run with rows of `collectives`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.errors import InputError
from bench.importing.found import Problems
from bench.measure.bandwidth import algorithm_gbps, bus_factor

WORKLOAD = "collectives"
"""What our own runs of this kind are called, so that both stand side by side."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of its output."""

    place: str
    """`line 31`, or `results[3].out_of_place`."""
    message_bytes: int
    time_us: float
    """Of one operation: the mean over its iterations."""
    bus_gbps: float
    """As it was written, to be held against what follows from size, time and ranks."""
    tolerance_gbps: float
    """How far rounding of what was written may move it."""


@dataclass(frozen=True, kw_only=True)
class Exchanges:
    """One call: one operation in many sizes, on one set of ranks."""

    place: str
    """The file's name."""
    op: str
    """One of bench.measure.bandwidth.OPS."""
    in_place: bool
    world_size: int
    nodes: int
    devices: tuple[str, ...]
    """Models, each once."""
    nccl: str | None
    figures: tuple[Figure, ...]
    repeat: int = 0

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
        """What repeats have in common."""
        return self.case, self.world_size, self.nodes

    @property
    def device_name(self) -> str | None:
        return ", ".join(self.devices) or None

    @property
    def fingerprint(self) -> dict[str, str]:
        known = {"device_type": "cuda", "gpu": self.device_name, "nccl": self.nccl, "transport": "nccl"}
        return {key: value for key, value in known.items() if value}

    def rows(self) -> list[dict[str, Any]]:
        """Of the table `collectives`. A size that is there several times is a further iteration."""
        seen: Counter[int] = Counter()
        found = []
        for one in self.figures:
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
                    "algorithm_gbps": gbps,
                    "bus_gbps": gbps * bus_factor(self.op, self.world_size),
                }
            )
            seen[one.message_bytes] += 1
        return found


def checked(found: Sequence[Exchanges]) -> list[Exchanges]:
    """With their repeats counted. Raises InputError where figures contradict each other or do not go together."""
    for one in found:
        _refuse_contradictions(one)
    if len({one.in_place for one in found}) > 1:
        raise InputError(
            f"{_names(found, in_place=True)}: in-place figures only, the other files have out-of-place ones, which "
            "are taken: import them by a call of its own"
        )
    return _numbered(found)


def _names(found: Iterable[Exchanges], *, in_place: bool) -> str:
    return ", ".join(one.place for one in found if one.in_place == in_place)


def _refuse_contradictions(one: Exchanges) -> None:
    """Bus bandwidth follows from size, time and ranks: where it does not, one of the four is not what it seems."""
    problems = Problems(file=one.place)
    if one.world_size % one.nodes:
        problems.add(
            "devices",
            f"{one.world_size} ranks do not divide among {one.nodes} nodes: a placement has the same number on each",
        )
    factor = bus_factor(one.op, one.world_size)
    for figure in one.figures:
        expected = figure.message_bytes / figure.time_us / 1_000 * factor
        if abs(expected - figure.bus_gbps) > figure.tolerance_gbps + 0.01 * expected:
            problems.add(
                figure.place,
                f"bus bandwidth is {figure.bus_gbps:g} GB/s, but {figure.message_bytes:,} bytes in "
                f"{figure.time_us:g} us on {one.world_size} ranks are {expected:.4g}: these are no figures of {one.op} "
                "on as many ranks",
            )
    problems.raise_if_any()


def _numbered(found: Sequence[Exchanges]) -> list[Exchanges]:
    """Files of the same operation and size are its repeats, in the order in which they were named."""
    seen: Counter[tuple[str, int, int]] = Counter()
    done = []
    for one in found:
        done.append(replace(one, repeat=seen[one.size]))
        seen[one.size] += 1
    return done


def write_rows(folder: Path, one: Exchanges, owner: Mapping[str, str]) -> None:
    """collectives.parquet of a run; `owner` are the keys that every file of ours carries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("rank", pa.int32()),
            ("node", pa.int32()),
            ("op", pa.string()),
            ("iteration", pa.int64()),
            ("message_bytes", pa.int64()),
            ("time_ns", pa.int64()),
            ("algorithm_gbps", pa.float64()),
            ("bus_gbps", pa.float64()),
        ],
        metadata=dict(owner),
    )
    pq.write_table(pa.Table.from_pylist(one.rows(), schema=schema), folder / "collectives.parquet")
