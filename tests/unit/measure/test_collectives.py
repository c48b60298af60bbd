"""Collectives and products are checked before they are timed, and nothing is allocated that does not fit."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.machine import cgroup
from bench.measure.machine import collectives, free_memory, matmuls
from bench.measure.machine.speed import Machine
from bench.measure.timed import timed
from bench.train import memory_limit
from bench.workloads.collectives import CollectivesOptions, Workload

CPU = torch.device("cpu")


def machine(kept: dict[str, Any] | None = None, **keys: Any) -> Machine:
    """Rank 0 of two, without a process group."""
    given: dict[str, Any] = {
        "device": CPU,
        "rank": 0,
        "world_size": 2,
        "ranks_per_node": 2,
        "precision": "bf16",
        "warmup": 1,
        "iterations": 3,
        "barrier": lambda: None,
        "keep": lambda table, rows: (kept if kept is not None else {}).setdefault(table, []).append(rows),
    }
    return Machine(**given | keys)


@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter", "broadcast"])
def test_an_operation_that_does_nothing_is_found_out(op: str) -> None:
    lost = machine(rank=1)  # a broadcast's root has the right values from the start
    buffers = collectives._Buffers(torch.zeros(8), torch.zeros(4), lost)
    with pytest.raises(RuntimeError, match=f"{op} of 32 bytes over 2 ranks gave values from 0 to"):
        buffers.check(op, lambda: None)


def test_a_sum_that_counts_a_rank_twice_is_found_out() -> None:
    buffers = collectives._Buffers(torch.zeros(8), torch.zeros(4), machine())

    def twice() -> None:
        buffers.whole.mul_(2)

    with pytest.raises(RuntimeError, match="from 0 to 2 on rank 0 instead of 1"):
        buffers.check("all_reduce", twice)


def test_a_right_sum_passes_and_leaves_zeros() -> None:
    buffers = collectives._Buffers(torch.ones(8), torch.ones(4), machine())
    buffers.check("all_reduce", lambda: buffers.whole.fill_(1))
    assert buffers.whole.count_nonzero() == buffers.part.count_nonzero() == 0


def test_sizes_grow_by_the_factor_up_to_the_bound_of_the_device() -> None:
    asked = Workload(CollectivesOptions(smallest_bytes=1024, factor=4), "synthetic", None, 0)
    assert asked.sizes_bytes("cpu") == [1024 * 4**power for power in range(8)]
    assert asked.sizes_bytes("cuda")[-1] == 2**30
    bound = Workload(CollectivesOptions(largest_bytes=5000), "synthetic", None, 0)
    assert bound.sizes_bytes("cpu") == [1024, 2048, 4096]


def test_a_size_that_does_not_divide_is_rounded_down_and_each_rank_has_one_element() -> None:
    assert collectives._element_counts([4, 100, 104], element_bytes=4, world_size=3) == [3, 24]


def test_products_are_timed_in_every_shape_and_iteration() -> None:
    kept: dict[str, Any] = {}
    matmuls.measure(machine(kept), [(8, 4, 16), (16, 16, 16)])
    rows = np.concatenate(kept["matmuls"])
    assert rows["iteration"].tolist() == [0, 1, 2, 0, 1, 2]
    assert (rows["flops_per_s"] == 2 * rows["m"] * rows["n"] * rows["k"] / (rows["time_ns"] / 1e9)).all()


def test_a_wrong_product_is_found_out() -> None:
    a, b = torch.randn(4, 64), torch.randn(64, 4)
    matmuls._check(a, b, a @ b, "fp32")
    with pytest.raises(RuntimeError, match="fp32 product of"):
        matmuls._check(a, b, a @ b + 0.01, "fp32")


def test_what_does_not_fit_is_out_of_memory_with_the_remedy_before_anything_is_allocated() -> None:
    with pytest.raises(MemoryError, match=r"a rank needs .* MiB are free for each: give a smaller") as raised:
        collectives.measure(machine(), ("all_reduce",), [2**50])
    assert memory_limit.is_out_of_memory(raised.value, limited=False)


def test_a_jobs_limit_counts_above_and_below_the_group_without_pages_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, step = tmp_path / "job", tmp_path / "job" / "step"
    step.mkdir(parents=True)
    (tmp_path / "of_process").write_text("0::/job/step\n")
    (step / "memory.max").write_text("max\n")
    (step / "memory.current").write_text("100\n")
    (job / "memory.max").write_text(f"{2**20}\n")
    (job / "memory.current").write_text(f"{2**19 + 4096}\n")
    (job / "memory.stat").write_text("anon 1\ninactive_file 4096\n")
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    monkeypatch.setattr(cgroup, "_OF_PROCESS", tmp_path / "of_process")
    assert cgroup.memory_left_bytes() == 2**19
    two = dataclasses.replace(machine(), ranks_per_node=2)
    free_memory.refuse_more_than_is_free(2**18, two, "less")
    with pytest.raises(MemoryError):
        free_memory.refuse_more_than_is_free(2**18 + 1, two, "less")


def test_every_iteration_is_kept_in_order() -> None:
    calls: list[int] = []
    times = timed(lambda: calls.append(os.getpid()), 5, CPU)
    assert len(calls) == len(times) == 5
    assert times.min() >= 0
