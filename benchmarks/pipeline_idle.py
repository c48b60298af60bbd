"""Compare the measured idle share of pipelines whose stages all take equally long with the share of the formula.

The stages wait for a fixed time in forward and in backward, so that cores need not be free. Prints a table: schedule,
ranks, micro-batches, idle share measured and by the formula, and their ratio.

    python benchmarks/pipeline_idle.py [--wait-ms 20] [--ranks 2 4]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

BENCH = str(Path(sys.executable).parent / "bench")
WAITING = '''
import time

import torch
from torch import nn

WAIT_S = {wait_s}


class Wait(torch.autograd.Function):
    """The identity, which takes a fixed time forward, and twice that backward."""

    @staticmethod
    def forward(ctx, x, scale):
        time.sleep(WAIT_S)
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * WAIT_S)
        (scale,) = ctx.saved_tensors
        return gradient * scale, gradient.sum()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return Wait.apply(x, self.scale)


class Part(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x, inputs):
        x = inputs if x is None else x
        for layer in self.layers:
            x = layer(x)
        return x


class Waiting:
    dataset_size = 1024

    def model(self):
        class Whole(Part):
            def forward(self, inputs):
                return super().forward(None, inputs)

        return Whole([Layer() for _ in range({layers})])

    def stages(self, model, count):
        each = len(model.layers) // count
        return [Part(model.layers[each * i : each * (i + 1)]) for i in range(count)]

    def batch(self, places, keys):
        return {{"inputs": torch.ones(len(places), 8)}}

    def loss(self, model, batch):
        return model(batch["inputs"]).mean()

    def __init__(self, options, source, data_root, seed):
        self.options, self.source, self.data_root, self.seed = options, source, data_root, seed
'''
LAYERS = 4
TABLE = """
SELECT schedule, pp, micro_batches, stages_per_rank, avg(idle_share), any_value(ideal_idle_share)
FROM pipeline_idle GROUP BY ALL ORDER BY ALL
"""


def cases(every_ranks: list[int]) -> list[dict[str, Any]]:
    found = []
    for schedule in ("gpipe", "1f1b", "interleaved"):
        for ranks in every_ranks:
            if schedule == "interleaved" and ranks == 4:
                continue  # it has two stages for each rank
            for micro_batches in (4, 8):
                found.append(
                    {
                        "name": f"{schedule.replace('1f1b', 'one_f_one_b')}_{ranks}_{micro_batches}",
                        "strategy": {"pp": {"schedule": schedule}},
                        "scaling": "none",
                        "batch_per_rank": micro_batches,
                        "world": [ranks],
                        "train": {"accumulate": micro_batches},
                    }
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--wait-ms", type=float, default=20.0, help="of a layer in forward; twice that in backward"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    asked = parser.parse_args()
    wait_ms = asked.wait_ms
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "waiting.py").write_text(WAITING.format(wait_s=wait_ms / 1e3, layers=LAYERS))
        suite = {
            "title": "Stages that wait",
            "workload": {"name": "./waiting.py:Waiting"},
            "device": "cpu",
            "measure": {"warmup": 2, "steps": 10, "repeats": 1, "timeout_s": 300},
            "cases": cases(asked.ranks),
        }
        (folder / "waiting.yaml").write_text(json.dumps(suite))
        run = [
            BENCH,
            "suite",
            str(folder / "waiting.yaml"),
            "--results",
            str(folder / "r"),
            "--ranks-per-node",
            "4",
        ]
        subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
        rows = duckdb.connect(str(folder / "r" / "results.duckdb"), read_only=True).execute(TABLE).fetchall()
    print("| schedule | ranks | micro-batches | stages per rank | idle, measured | idle, formula | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for schedule, ranks, micro_batches, stages, idle, ideal in rows:
        ratio = idle / ideal
        print(
            f"| {schedule} | {ranks} | {micro_batches} | {stages} | {idle:.4f} | {ideal:.4f} | {ratio:.3f} |"
        )


if __name__ == "__main__":
    main()
