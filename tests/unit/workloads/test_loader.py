from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import psutil
import pytest
import torch

from bench.data import loader
from tests.unit.workloads.runs import spec, workload

Batch = dict[str, torch.Tensor]
ROOT = Path(__file__).parents[3]


def equal(a: list[Batch], b: list[Batch]) -> bool:
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(torch.equal(x[name], y[name]) for name in x)
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("persistent", [True, False])
def test_loader_processes_give_the_same_batches_as_none(persistent: bool) -> None:
    made = workload("mnist_cnn")  # 1,438 examples: 5 steps of 400 cross into a second epoch
    alone = list(loader.batches(made, spec(batch_per_rank=400, accumulate=2, workers=0), 0, 5))
    with_processes = spec(batch_per_rank=400, accumulate=2, workers=2, persistent_workers=persistent)
    assert equal(alone, list(loader.batches(made, with_processes, 0, 5)))
    assert len(alone) == 10
    assert alone[0]["images"].shape == (200, 1, 28, 28)


@pytest.mark.parametrize(("world", "accumulate"), [(1, 2), (2, 1), (2, 2), (4, 1), (4, 2)])
def test_all_ranks_together_see_the_global_batch_of_one_rank(world: int, accumulate: int) -> None:
    made = workload("ddpm_unet")
    alone = list(loader.batches(made, spec(batch_per_rank=16), 0, 3))
    run = spec(batch_per_rank=16 // world, world=world, accumulate=accumulate)
    ranks = [list(loader.batches(made, run, rank, 3)) for rank in range(world)]
    for step in range(3):
        parts = [rank[step * accumulate + micro] for rank in ranks for micro in range(accumulate)]
        together = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        assert equal([together], [alone[step]])


def test_another_seed_changes_the_order_and_not_the_examples() -> None:
    first, second = workload("spiral_mlp", seed=0), workload("spiral_mlp", seed=1)
    epoch = first.dataset_size
    [a] = loader.batches(first, spec(batch_per_rank=epoch, seed=0), 0, 1)
    [b] = loader.batches(second, spec(batch_per_rank=epoch, seed=1), 0, 1)
    assert not torch.equal(a["points"], b["points"])
    assert torch.equal(a["points"][:, 0].sort().values, b["points"][:, 0].sort().values)


@pytest.mark.parametrize("workers", [0, 1])
def test_loading_leaves_the_default_random_numbers_alone(workers: int) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    list(loader.batches(workload("spiral_mlp"), spec(batch_per_rank=8, workers=workers), 0, 2))
    assert torch.equal(torch.get_rng_state(), before)


def test_loader_processes_end_with_a_killed_rank() -> None:
    program = (
        "import signal, time\n"
        "from bench.data import loader\n"
        "from tests.unit.workloads.runs import spec, workload\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "stream = loader.batches(workload('spiral_mlp'), spec(batch_per_rank=8, workers=2), 0, 1000)\n"
        "next(stream)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    rank = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert rank.stdout is not None
    try:
        assert rank.stdout.readline() == "ready\n"
        workers = psutil.Process(rank.pid).children()
        assert len(workers) == 2
    finally:
        os.kill(rank.pid, signal.SIGKILL)
        rank.wait()
        rank.stdout.close()
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert [worker for worker in alive if worker.status() != psutil.STATUS_ZOMBIE] == []


def test_the_first_batch_leaves_a_digest_that_tells_batches_apart_and_takes_any_tensor() -> None:
    def digest(batch: dict[str, torch.Tensor]) -> int:
        digests: list[int] = []
        assert list(loader.noting_the_first(iter([batch, {}]), digests.append)) == [batch, {}]
        return digests[0]

    tokens = torch.zeros(1000, 64, dtype=torch.int64)  # the first column is the same in every batch
    others = tokens.clone()
    others[:, 1:] = torch.randint(50, (1000, 63), generator=torch.Generator().manual_seed(0))
    assert digest({"x": tokens}) == digest({"x": tokens.clone()}) != digest({"x": others})
    assert digest({"x": tokens, "graph": object()}) == 0  # type: ignore[dict-item]
    odd = {"empty": torch.empty(0), "one": torch.tensor(1.0), "half": torch.ones(3, dtype=torch.bfloat16)}
    assert digest(odd) == digest(dict(odd))
    assert digest({"sparse": torch.eye(3).to_sparse()}) == 0
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert digest({"nested": nested}) == 0


def test_the_first_batch_is_not_kept_for_the_whole_run() -> None:
    batches = loader.noting_the_first(iter({"x": torch.ones(2)} for _ in range(3)), lambda _digest: None)
    first = weakref.ref(next(batches)["x"])
    next(batches)
    assert first() is None
