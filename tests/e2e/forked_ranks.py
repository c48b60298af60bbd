"""A program that takes steps of runs on real gloo ranks, and the same steps as shadows, in forked processes.

Arguments: a file with RunSpecs, and a folder for the answers `real.NAME.RANK.json` and `shadow.NAME.RANK.json`."""

from __future__ import annotations

import itertools
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.tensor.parallel
from torch.profiler import ProfilerActivity, profile

import bench.agent.fork_server_preload  # noqa: F401 - what every rank imports
from bench.common.process import die_with_parent
from bench.records.run_spec import RunSpec
from bench.shadow import one_step
from bench.shadow.join_fake import joined


def main() -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    folder = Path(sys.argv[2])
    for spec in map(RunSpec.from_json, json.loads(Path(sys.argv[1]).read_text())):
        ranks = range(spec.world_size)
        children = [fork(lambda rank=rank, spec=spec: real(spec, rank, folder)) for rank in ranks]
        children += [fork(lambda rank=rank, spec=spec: shadow(spec, rank, folder)) for rank in {0, ranks[-1]}]
        for child in children:
            os.waitpid(child, 0)


def fork(work: Callable[[], None]) -> int:
    """A process of its own, because torch remembers process groups that are gone."""
    child = os.fork()
    if child:
        return child
    try:
        die_with_parent()
        work()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def real(spec: RunSpec, rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    if spec.strategy != "single":
        where = f"file://{folder}/{spec.case_name}.rendezvous"
        dist.init_process_group("gloo", init_method=where, rank=rank, world_size=spec.world_size)
    if spec.strategy == "single":
        (folder / f"allocated.{spec.case_name}.json").write_text(json.dumps(allocated_bytes(spec)))
    found = one_step.step_of(spec, rank, hollow=False)
    (folder / f"real.{spec.case_name}.{rank}.json").write_text(json.dumps(found.to_json()))


def allocated_bytes(spec: RunSpec) -> int:
    """The most that torch's allocator has given at once, by its own account."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        one_step.step_of(spec, 0, hollow=False)
    events = profiler.profiler.kineto_results.events()
    changes = sorted((one.start_ns(), one.nbytes()) for one in events if one.name() == "[memory]")
    return max(itertools.accumulate(size for _, size in changes))


def shadow(spec: RunSpec, rank: int, folder: Path) -> None:
    with joined(spec, rank):
        found = one_step.step_of(spec, rank, hollow=True)
    (folder / f"shadow.{spec.case_name}.{rank}.json").write_text(json.dumps(found.to_json()))


if __name__ == "__main__":
    main()
