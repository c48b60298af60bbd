"""A program that runs the measured loop on the first GPU, as a rank does; torch raises wherever the host waits for the
device. For each TRAIN it prints a line of JSON: the recorder's rows, and the wall time from idle device to idle device.
All run in one process, because importing torch takes longer than training.

    python tests/e2e/gpu/measured_steps.py WORKLOAD OPTIONS BATCH STEPS TRAIN...
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import one_rank
import torch

from bench.measure import recorder

_WARMUP = 10
"""Steps for one-time work: making tables on the device, reserving memory, choosing kernels."""


def main(name: str, options: dict[str, Any], batch: int, steps: int, train: dict[str, Any]) -> dict[str, Any]:
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    given = {"precision": "bf16"} | train
    loop = one_rank.training(name, options, batch=batch, steps=_WARMUP + steps, device=device, **given)
    with tempfile.TemporaryDirectory() as folder:
        clock = one_rank.clock(device, Path(folder), _WARMUP + steps)
        for _ in range(_WARMUP):
            loop.step(clock, recorder.WARMUP)
        clock.flush()
        torch.cuda.set_sync_debug_mode("error")
        began_ns = perf_counter_ns()
        for _ in range(steps):
            loop.step(clock, recorder.MEASURED)
        torch.cuda.set_sync_debug_mode("default")
        clock.flush()
        wall_ns = perf_counter_ns() - began_ns
        rows = recorder.read(Path(folder) / "steps.raw")
    measured = rows.words[rows.column("kind") == recorder.MEASURED]
    columns = {field: measured[:, place].tolist() for place, field in enumerate(recorder.FIELDS)}
    columns["loss"] = measured[:, recorder.FIELDS.index("loss")].copy().view("f8").tolist()
    return {"wall_ns": wall_ns, **columns}


if __name__ == "__main__":
    workload, options, batch, steps, *trains = sys.argv[1:]
    for train in trains:
        found = main(workload, json.loads(options), int(batch), int(steps), json.loads(train))
        print(json.dumps(found), flush=True)  # noqa: T201
