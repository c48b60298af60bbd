"""Measure the bytes of a step row in Parquet, in one rank's real run of at least 10,000 steps.

python benchmarks/parquet_bytes.py [--steps 10000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import one_rank
import torch

from bench.measure import recorder, write_parquet
from bench.measure.clock_cpu import CpuClock
from bench.measure.recorder import StepFile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "steps.rank0.raw"
        identity = {"session_id": "benchmark", "run_id": "bytes", "attempt": 0, "rank": 0, "node": 0}
        clock = CpuClock(StepFile(raw, steps, identity))
        clock.barrier()
        loop = one_rank.training("spiral_mlp", {}, batch=128, steps=steps, device=torch.device("cpu"))
        loop.run(clock, lambda _steps: None)
        rows = write_parquet.write_steps(Path(folder), 0, [recorder.read(raw)])
        size = (Path(folder) / "steps.node0.parquet").stat().st_size
        print(f"{rows} rows, {size} bytes of Parquet: {size / rows:.1f} bytes per row")
        print(f"the recorder's raw file: {raw.stat().st_size / rows:.1f} bytes per row")


if __name__ == "__main__":
    main()
