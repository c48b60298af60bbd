"""Measure the time from a run's start to its first step: ranks forked from the warm server, and torchrun.

Both start the same two CPU ranks with the same workload and strategy, and write the same recorder file, whose barrier
stamp (one monotonic clock for the whole machine) shows when training began. The two alternate.

    python benchmarks/startup.py [--pairs 5] [--strategy ddp]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from bench.agent.fork_server import WarmServer
from bench.agent.ranks import RankGroup, RunPart
from bench.cluster.leader import LeaderControl
from bench.measure import recorder
from bench.records.messages import Place
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.session.stop import StopRequest
from bench.train import rank as ranks
from bench.train.rank_job import step_file


def run_spec(strategy: str, number: int) -> RunSpec:
    """A run of two ranks of mnist_cnn on the shipped digits, with a few steps."""
    return RunSpec(
        session_id="benchmark", run_id=f"startup{number}", suite="benchmark", case_name="startup", workload="mnist_cnn",
        workload_options={}, data=DataSpec(source="digits"), train=TrainSpec(),
        measure=MeasureSpec(warmup=1, steps=2), strategy=strategy, strategy_options={}, scaling="weak", axis="ranks",
        workers=2, world_size=2, nodes=1, ranks_per_node=2, threads=1, repeat=0, device_type="cpu", batch_per_rank=16,
        global_batch=32,
    )  # fmt: skip


def cores() -> list[list[int]]:
    """One core per rank, as a run has them."""
    given = sorted(os.sched_getaffinity(0))
    return [[given[local % len(given)]] for local in range(2)]


def _nobody(*news: object) -> None:
    """Discard progress."""


def begin_to_barrier_s(scratch: Path, began_ns: int) -> float:
    return (recorder.read(step_file(scratch, 0)).barrier_ns - began_ns) / 1e9


def warm(server: WarmServer, spec: RunSpec, scratch: Path) -> float:
    places = [Place(rank=r, local_rank=r, cpus=cores()[r], gpu=None, sampled_as=None) for r in range(2)]
    rendezvous = f"file://{scratch}/rendezvous"
    part = RunPart(
        run=spec,
        node=0,
        local_task=0,
        places=places,
        rendezvous=rendezvous,
        interface="lo",
        shares_gpus=False,
    )
    began_ns = perf_counter_ns()
    control = LeaderControl(spec, {}, StopRequest(), scratch / "STOP", _nobody)
    outcome = RankGroup(part, server, StopRequest(), scratch, scratch).run(control, _nobody)
    assert outcome.fault is None, outcome.fault
    return begin_to_barrier_s(scratch, began_ns)


def torchrun(spec: RunSpec, scratch: Path) -> float:
    job = {"spec": spec.to_json(), "scratch": str(scratch), "cores": cores()}
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        __file__,
        "--rank",
    ]
    began_ns = perf_counter_ns()
    subprocess.run([*command, json.dumps(job)], check=True, stderr=subprocess.DEVNULL)
    return begin_to_barrier_s(scratch, began_ns)


def be_a_rank(job: dict[str, Any]) -> None:
    """Run a rank under torchrun, by the same entry as a forked rank."""
    number = int(os.environ["RANK"])
    ranks.main(
        json.dumps(
            {
                "spec": job["spec"], "rank": number, "local_rank": number, "node": 0, "local_task": 0,
                "cores": job["cores"][number], "device_index": None, "rendezvous": "env://", "interface": "lo",
                "scratch": job["scratch"], "log": f"{job['scratch']}/rank{number}.log", "server_pid": os.getppid(),
            }
        )
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--rank", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        be_a_rank(options.rank)
    times: dict[str, list[float]] = {"warm": [], "torchrun": []}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        server = WarmServer()
        server.start()
        for number in range(-1, options.pairs):
            for which, taken in times.items():
                spec, scratch = run_spec(options.strategy, number), root / f"{which}{number}"
                scratch.mkdir()
                seconds = warm(server, spec, scratch) if which == "warm" else torchrun(spec, scratch)
                if number >= 0:  # the first pair warms the file cache
                    taken.append(seconds)
    ratios = [slow / fast for slow, fast in zip(times["torchrun"], times["warm"], strict=True)]
    for which, taken in times.items():
        print(f"{which:<9} begin to first step, s: {_spread(taken, 3)}")
    print(f"ratio     torchrun / warm, pair by pair: {_spread(ratios, 1)}")


def _spread(values: list[float], digits: int) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"median {middle:.{digits}f}  ({low:.{digits}f} .. {high:.{digits}f})"


if __name__ == "__main__":
    main()
