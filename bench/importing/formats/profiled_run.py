"""A run whose steps were profiled elsewhere, with rows of the profile tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.importing.replay import Nanoseconds, WhatIf

_MOST_NAMED = 10
"""Most of the slowest workers that a row lists."""
_LARGEST_ERROR = 0.1
"""Largest relative difference of the replayed steps from the measured ones: a worse model answers nothing."""

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ProfiledRun:
    """All ranks of one run."""

    place: str
    """The first file."""
    case: str
    world_size: int
    nodes: int
    device_type: str | None
    """Null if the files do not tell it."""
    device_name: str | None = None
    backend: str | None = None
    nccl: str | None = None
    ranks: int
    """Ranks of which there is a trace."""
    tables: Mapping[str, Sequence[Row]]
    """Rows by table."""
    strategy: str | None = None

    repeat = 0
    scaling = "none"
    seconds = None
    job_id = None
    tag = None

    @property
    def size(self) -> tuple[str, int, int]:
        """Case, ranks and nodes: equal for repeats."""
        return self.case, self.world_size, self.nodes

    @property
    def fingerprint(self) -> dict[str, str]:
        known = {
            "device_type": self.device_type,
            "gpu": self.device_name if self.device_type == "cuda" else None,
            "nccl": self.nccl,
            "transport": self.backend,
        }
        return {key: value for key, value in known.items() if value}

    @property
    def coverage(self) -> str:
        """`1 of 128 ranks`; empty if all ranks are there."""
        return "" if self.ranks == self.world_size else f"{self.ranks} of {self.world_size} ranks"


def write_rows(folder: Path, one: ProfiledRun, owner: Mapping[str, str]) -> None:
    """Write a Parquet file for each table with rows; `owner` is the metadata that every file of a session has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bench.measure.write_parquet import arrow_schema

    for table, rows in one.tables.items():
        if rows:
            written = pa.Table.from_pylist(list(rows), schema=arrow_schema(table, owner))
            pq.write_table(written, folder / f"{table}.parquet", compression="zstd")


def replay_rows(
    numbers: Sequence[int], measured_ns: Nanoseconds, answer: WhatIf, slowest: Sequence[str]
) -> Iterator[Row]:
    """Rows of `profile_replays`; none if the replay does not reproduce the steps as they were.

    `slowest`: the names of the slowest workers."""
    measured = measured_ns.mean()
    if abs(answer.replayed_ns.mean() - measured) > _LARGEST_ERROR * measured:
        return
    for at, number in enumerate(numbers):
        yield {
            "step": number,
            "step_ns": round(float(measured_ns[at])),
            "replayed_ns": round(float(answer.replayed_ns[at])),
            "even_ns": round(float(answer.even_ns[at])),
            "without_slowest_ns": round(float(answer.without_slowest_ns[at])),
            "slowest": ", ".join(slowest[:_MOST_NAMED]) + (", ..." if len(slowest) > _MOST_NAMED else ""),
        }
