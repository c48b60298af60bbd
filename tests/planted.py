"""Sessions whose steps consist of known parts; tests compare the views' results with these parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.run_spec import RunSpec
from bench.records.vocabulary import Axis, Scaling
from tests.factory import Case, make_session, specs
from tests.factory_tables import SAMPLE_SCHEMA
from tests.profile_rows import Figures, add_profile
from tests.rewriting import rewrite_steps

BACKWARD_TO_FORWARD = 1.5
SLOWDOWN = 3
"""Factor by which the profiler slows a step."""
SESSION = "20261121T014925Z-planted-3f9a"


@dataclass(frozen=True, kw_only=True)
class Step:
    """Parts of a rank's step, in ms. All ranks are alike except the last one; the others wait for it in backward."""

    computation: float
    """Computation of each rank, a tenth of it in the optimizer."""
    data: float = 0.0
    """Time that the last rank waits for its batch, beyond `data_of_all`."""
    data_of_all: float = 0.0
    imbalance: float = 0.0
    """Extra computation of the last rank, in forward and backward."""
    communication: float = 0.0
    other: float = 0.0
    """Time without operators, in backward."""
    late: float = 0.0
    """Time that the last rank sleeps in backward."""

    @property
    def total(self) -> float:
        parts = (
            self.data,
            self.data_of_all,
            self.imbalance,
            self.communication,
            self.computation,
            self.other,
            self.late,
        )
        return sum(parts)

    def phases(self, is_last: bool) -> tuple[float, float, float, float]:
        """Data, forward, backward and optimizer, in ms. Backward ends on all ranks at once; the last never waits."""
        optimizer = self.computation / 10
        forward = (self.computation - optimizer) / (1 + BACKWARD_TO_FORWARD)
        data = self.data_of_all
        if is_last:
            data += self.data
            forward += self.imbalance / (1 + BACKWARD_TO_FORWARD)
        return (data, forward, self.total - data - forward - optimizer, optimizer)

    def profile(self, is_last: bool) -> Figures:
        """Figures of a profiled step. The other ranks wait for the last one, and count that wait as communication."""
        waiting = 0.0 if is_last else self.data + self.imbalance + self.late
        exposed = self.communication + waiting
        compute = self.computation + (self.imbalance if is_last else 0.0)
        step, exposed, compute = (SLOWDOWN * ms for ms in (self.total, exposed, compute))
        return (step, exposed, exposed, compute)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A case that consists of such steps."""

    steps: Mapping[int, Step | Sequence[Step]]
    """n -> step of every repeat, or one for each."""
    profiled: frozenset[int] | Literal["all"] = frozenset()
    """n with profiled steps."""
    clock_mhz: Mapping[int, float] | None = None
    """n -> clock; a case with clocks is of GPUs."""
    strategy: str = "ddp"
    scaling: Scaling = "strong"
    axis: Axis = "ranks"
    baseline: str | None = None
    ranks_per_node: int = 8
    rounds: bool = True

    def step(self, spec: RunSpec) -> Step:
        steps = self.steps[spec.workers]
        return steps if isinstance(steps, Step) else steps[spec.repeat]

    def case(self, name: str) -> Case:
        """Repeat each size as often as steps are given for any size."""
        repeats = max(1 if isinstance(steps, Step) else len(steps) for steps in self.steps.values())
        return Case(
            name=name,
            step_ms={
                n: steps.total if isinstance(steps, Step) else [step.total for step in steps]
                for n, steps in self.steps.items()
            },
            strategy=self.strategy,
            scaling=self.scaling,
            axis=self.axis,
            repeats=repeats,
            ranks_per_node=self.ranks_per_node,
            warmup=1,
            steps=4,
            accuracy=None,
            device_type="cuda" if self.clock_mhz else "cpu",
            baseline=self.baseline,
            rounds=self.rounds,
        )


def plant(results: Path, planted: Mapping[str, Planted], session_id: str = SESSION) -> Path:
    """Write a session of these cases, by their names, and return its folder."""
    cases = {name: case.case(name) for name, case in planted.items()}
    folder = make_session(results, list(cases.values()), session_id=session_id, suite="planted")
    for name, case in cases.items():
        for spec in specs(case, session_id, "planted", ()):
            step = planted[name].step(spec)
            _rewrite(folder, spec, step)
            if clock_mhz := planted[name].clock_mhz:
                set_clocks(folder, spec.run_id, [clock_mhz[spec.workers]] * spec.ranks_per_node)
    add_profile(folder, lambda spec, rank: _figures(planted[spec.case_name], spec, rank), {})
    return folder


def _rewrite(folder: Path, spec: RunSpec, step: Step) -> None:
    for node in range(spec.nodes):
        ranks = range(node * spec.ranks_per_node, (node + 1) * spec.ranks_per_node)
        phases = [step.phases(rank == spec.world_size - 1) for rank in ranks]
        columns = np.rint(np.array(phases).T * 1e6).astype(np.int64)
        names = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
        rewrite_steps(
            folder, spec.run_id, {n: c[:, None] for n, c in zip(names, columns, strict=True)}, node=node
        )


def set_clocks(folder: Path, run_id: str, clocks_mhz: Sequence[float]) -> None:
    """Give the run's node one GPU for each of these clocks."""
    for path in (folder / run_id).glob("samples.*"):
        metadata = pq.read_schema(path).metadata
        rows = pq.read_table(path).to_pylist()
        host = [row for row in rows if row["device"] is None]
        gpus = [
            {**row, "device": device, "sm_clock_mhz": mhz}
            for device, mhz in enumerate(clocks_mhz)
            for row in rows
            if row["device"] == 0
        ]
        table = pa.Table.from_pylist([*host, *gpus], schema=SAMPLE_SCHEMA)
        pq.write_table(table.replace_schema_metadata(metadata), path)


def _figures(planted: Planted, spec: RunSpec, rank: int) -> Figures | None:
    if planted.profiled != "all" and spec.workers not in planted.profiled:
        return None
    return planted.step(spec).profile(rank == spec.world_size - 1)
