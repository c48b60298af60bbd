"""Operations of made-up pipeline-parallel jobs, in the columns of StragglerAnalysis: a schedule with a forward and a
backward in turn, random durations, and a slow worker."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TRANSFER_S = 0.004


@dataclass(frozen=True, kw_only=True)
class PipelineJob:
    """A job whose worker `slow` (replica, stage) computes twice as long."""

    seed: int
    replicas: int = 2
    stages: int = 2
    microbatches: int = 4
    steps: int = 3
    slow: tuple[int, int] | None = (0, 1)

    def rows(self) -> list[dict[str, Any]]:
        draw = random.Random(self.seed)
        return [row for step in range(self.steps) for row in self._step(step, draw)]

    def write(self, path: Path) -> Path:
        types = {
            "rank": pa.int16(),
            "optype": pa.string(),
            "start_ts": pa.float64(),
            "duration": pa.float64(),
        }
        rows = self.rows()
        schema = pa.schema([(name, types.get(name, pa.int32())) for name in rows[0]])
        kinds = pa.Table.from_pylist(rows, schema=schema)
        at = kinds.schema.get_field_index("optype")
        kinds = kinds.set_column(at, "optype", kinds["optype"].dictionary_encode())
        pq.write_table(kinds, path)
        return path

    def _order(self, stage: int) -> list[tuple[str, int]]:
        """Computations of a stage: some forwards, then a forward and a backward in turn, then the last backwards."""
        ahead = min(self.stages - stage - 1, self.microbatches)
        order = [("forward", number) for number in range(ahead)]
        for number in range(self.microbatches - ahead):
            order += [("forward", ahead + number), ("backward", number)]
        return order + [
            ("backward", number) for number in range(self.microbatches - ahead, self.microbatches)
        ]

    def _step(self, step: int, draw: random.Random) -> Iterator[dict[str, Any]]:
        """Its rows. Times are in seconds; steps are 100 s apart."""
        zero = 100.0 * step
        workers = [(replica, stage) for replica in range(self.replicas) for stage in range(self.stages)]
        times: dict[tuple[Any, ...], tuple[float, float]] = {}
        gather = {worker: draw.uniform(0.01, 0.02) for worker in workers}
        for replica, stage in workers:
            begun = max(gather[other, stage] for other in range(self.replicas))
            times[replica, stage, "params-all-gather", 0] = (gather[replica, stage], begun + 0.01)
        waiting = {worker: self._order(worker[1]) for worker in workers}
        free = {worker: times[*worker, "params-all-gather", 0][1] for worker in workers}
        done_before: dict[tuple[Any, ...], float] = {}
        while any(waiting.values()):
            for worker in workers:
                if waiting[worker] and self._ready(times, worker, *waiting[worker][0]):
                    self._compute(times, worker, *waiting[worker].pop(0), free, done_before, draw)
        self._finish(times, workers, free, draw)
        for (replica, stage, kind, number), (begin, end) in times.items():
            yield {
                "dp_rank": replica, "stage": stage, "rank": replica * self.stages + stage, "step": step, "optype": kind,
                "start_ts": zero + begin, "duration": end - begin, "seq_id": number, "mc": 0,
                "mb_id": number if kind.endswith("-compute") else -1, "gmc": stage,
            }  # fmt: skip

    def _source(self, stage: int, direction: str) -> int | None:
        """The stage that sends a worker its input; null if there is none."""
        source = stage - 1 if direction == "forward" else stage + 1
        return source if 0 <= source < self.stages else None

    def _ready(self, times: dict[Any, Any], worker: tuple[int, int], direction: str, number: int) -> bool:
        source = self._source(worker[1], direction)
        return source is None or (worker[0], source, f"{direction}-compute", number) in times

    def _compute(
        self,
        times: dict[Any, Any],
        worker: tuple[int, int],
        direction: str,
        number: int,
        free: dict[Any, float],
        done_before: dict[Any, float],
        draw: random.Random,
    ) -> None:
        begin = free[worker]
        source = self._source(worker[1], direction)
        if source is not None:
            sender = (worker[0], source)
            asked = done_before.get((worker, direction), 0.0)
            sent = times[*sender, f"{direction}-compute", number][1]
            arrived = max(asked, sent) + TRANSFER_S
            times[*worker, f"{direction}-recv", number] = (asked, arrived)
            times[*sender, f"{direction}-send", number] = (sent, arrived)
            begin = max(begin, arrived)
        length = draw.uniform(0.9, 1.1) * (0.2 if direction == "forward" else 0.4)
        end = begin + length * (2 if worker == self.slow else 1)
        times[*worker, f"{direction}-compute", number] = (begin, end)
        free[worker] = done_before[worker, direction] = end

    def _finish(
        self,
        times: dict[Any, Any],
        workers: list[tuple[int, int]],
        free: dict[Any, float],
        draw: random.Random,
    ) -> None:
        """The exchanges of gradients after the last computation, and the optimizer."""
        for worker in workers:
            times[*worker, "gc", 0] = (free[worker], free[worker])
            times[*worker, "layernorm-grads-all-reduce", 0] = (free[worker], free[worker] + 0.001)
            free[worker] += 0.001
        ends = sorted({0, self.stages - 1})
        for replica in range(self.replicas):
            self._together(
                times, [(replica, stage) for stage in ends], "embedding-grads-all-reduce", 0.02, free
            )
        for stage in range(self.stages):
            among = [(replica, stage) for replica in range(self.replicas)]
            self._together(times, among, "grads-reduce-scatter", 0.05, free)
        self._together(times, workers, "optimizer-clip-main-grad", 0.003, free)
        for worker in workers:
            times[*worker, "optimizer", 0] = (free[worker], free[worker] + draw.uniform(0.02, 0.03))

    @staticmethod
    def _together(
        times: dict[Any, Any],
        workers: list[tuple[int, int]],
        kind: str,
        length: float,
        free: dict[Any, float],
    ) -> None:
        end = max(free[worker] for worker in workers) + length
        for worker in workers:
            times[*worker, kind, 0] = (free[worker], end)
            free[worker] = end


JOBS = {
    "slow-worker": PipelineJob(seed=1),
    "even": PipelineJob(seed=2, slow=None),
    "slow-stage": PipelineJob(seed=3, replicas=3, stages=3, microbatches=6, slow=(1, 2)),
}
"""Jobs of which tests/data/straggler_answers.json has StragglerAnalysis' answers."""


def main() -> None:
    """Write the jobs and their descriptions, for other programs: `python -m tests.pipeline_operations FOLDER`."""
    import sys

    folder = Path(sys.argv[1])
    for name, job in JOBS.items():
        job.write(folder / f"trace-{name}.parquet")
        (folder / f"meta-{name}.yaml").write_text(
            f"trial_name: {name}\nrun_id: 0\ndp_size: {job.replicas}\ndsp_size: 1\npp_size: {job.stages}\n"
            f"tp_size: 1\nvpp_size: 1\nworld_size: {job.replicas * job.stages}\n"
        )


if __name__ == "__main__":
    main()
