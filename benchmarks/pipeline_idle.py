"""Compare the measured idle share of pipelines whose stages all take equally long with that of the simulated schedule,
which is the formula's except for zero_bubble.

The stages wait for a fixed time in forward and in backward, so that cores need not be free. Prints a table: schedule,
ranks, micro-batches, idle share measured and simulated, and their ratio.

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

from bench.predict.schedules import Part, works
from bench.predict.timeline import Sending, simulate

BENCH = str(Path(sys.executable).parent / "bench")
WAITING = '''
import time

import torch
from torch import nn

WAIT_S = {wait_s}


class Wait(torch.autograd.Function):
    """The identity, which takes a fixed time forward, and as long backward."""

    @staticmethod
    def forward(ctx, x):
        time.sleep(WAIT_S)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(WAIT_S)
        return gradient


class Weight(torch.autograd.Function):
    """The identity, which takes a fixed time backward alone: a product computes its weight's gradient apart."""

    @staticmethod
    def forward(ctx, scale):
        return scale.view_as(scale)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(WAIT_S)
        return gradient


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return Wait.apply(x) * Weight.apply(self.scale)


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
        # Its gradient makes the first stage wait as long as the others in backward.
        return {{"inputs": torch.ones(len(places), 8, requires_grad=True)}}

    def loss(self, model, batch):
        return model(batch["inputs"]).mean()

    def __init__(self, options, source, data_root, seed):
        self.options, self.source, self.data_root, self.seed = options, source, data_root, seed
'''
LAYERS = 4
SECONDS: dict[Part, float] = {"forward": 1, "backward": 2, "backward_input": 1, "backward_weight": 1}
TABLE = """
SELECT schedule, pp, micro_batches, stages_per_rank, avg(idle_share)
FROM pipeline_idle GROUP BY ALL ORDER BY ALL
"""


def cases(every_ranks: list[int]) -> list[dict[str, Any]]:
    found = []
    for schedule in ("gpipe", "1f1b", "interleaved", "zero_bubble"):
        for ranks in every_ranks:
            if schedule == "interleaved" and ranks == 4:
                continue  # it has two stages for each rank
            for micro_batches in (4, 8):
                found.append(
                    {
                        "name": f"{schedule.replace('1f1b', 'one_f_one_b')}_{ranks}_{micro_batches}",
                        "strategy": {"pp": {"schedule": schedule}},  # zero_bubble: one stage per rank
                        "scaling": "none",
                        "batch_per_rank": micro_batches,
                        "world": [ranks],
                        "train": {"accumulate": micro_batches},
                    }
                )
    return found


def simulated_idle_share(schedule: Any, ranks: int, stages_per_rank: int, micro_batches: int) -> float:
    """Mean over the ranks, from the first work of the rank to its last, as the table pipeline_steps counts."""
    made = works(
        schedule, ranks=ranks, stages_per_rank=stages_per_rank, micro_batches=micro_batches, seconds=SECONDS
    )
    timeline = simulate(made, lambda _: Sending(seconds=0))
    return sum(timeline.idle_s(rank) for rank in range(ranks)) / ranks / timeline.step_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--wait-ms",
        type=float,
        default=20.0,
        help="of a layer in forward, in backward of its input, and in that of its weight",
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
    print("| schedule | ranks | micro-batches | stages per rank | idle, measured | idle, simulated | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for schedule, ranks, micro_batches, stages, idle in rows:
        ideal = simulated_idle_share(schedule, ranks, stages, micro_batches)
        ratio = idle / ideal
        print(
            f"| {schedule} | {ranks} | {micro_batches} | {stages} | {idle:.4f} | {ideal:.4f} | {ratio:.3f} |"
        )


if __name__ == "__main__":
    main()
