"""Memory per rank by hand: a model of 1,000 parameters, two blocks of 400 and 200 for the rest."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench import strategies
from bench.predict.memory import MemoryPerRank, ModelSize, WorkingSet, memory_per_rank
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec

SIZE = ModelSize(
    parameters=1_000,
    parameter_bytes=4_000,
    buffer_bytes=8,
    largest_parameter_bytes=800,
    block_parameters=[400, 400],
)
WORKING = WorkingSet(kept_bytes=50_000, peak_bytes=60_000, peak_with_gradients_bytes=62_000)


def spec(strategy: str, options: dict[str, Any] | None = None, world_size: int = 4, **train: Any) -> RunSpec:
    kind = strategies.load(strategy)
    return RunSpec(
        session_id="s", run_id="c.1x4.r0", suite="s", case_name="c", workload="w", workload_options={}, data=DataSpec(),
        train=TrainSpec(**train), measure=MeasureSpec(steps=1), strategy=strategy,
        strategy_options=dataclasses.asdict(kind.Options(**(options or {}))), scaling="strong", axis="ranks",
        workers=world_size, world_size=world_size, nodes=1, ranks_per_node=world_size, threads=1, repeat=0,
        device_type="cuda", batch_per_rank=8, global_batch=8 * world_size,
    )  # fmt: skip


def memory(
    strategy: str, options: dict[str, Any] | None = None, world_size: int = 4, **train: Any
) -> MemoryPerRank:
    return memory_per_rank(spec(strategy, options, world_size, **train), SIZE, WORKING)


def test_ddp_holds_everything_on_every_rank() -> None:
    found = memory("ddp")
    assert found == MemoryPerRank(
        parameters=4_008, gradients=4_000, optimizer=8_000, activations=60_000, communication=0
    )
    assert found.total == 76_008


def test_gradients_outside_of_the_buckets_are_there_twice() -> None:
    assert memory("ddp", {"gradient_as_bucket_view": False}).communication == 4_000


def test_sgd_without_momentum_keeps_nothing_with_momentum_one_copy_and_an_average_is_one_more() -> None:
    assert memory("ddp", optimizer="sgd").optimizer == 0
    assert memory("ddp", optimizer="sgd", momentum=0.9).optimizer == 4_000
    assert memory("ddp", optimizer="sgd", momentum=0.9, ema_decay=0.99).optimizer == 8_000


def test_fsdp_holds_a_share_and_gathers_a_block_after_the_other() -> None:
    found = memory("fsdp")
    assert (found.parameters, found.gradients, found.optimizer) == (1_008, 1_000, 2_000)
    # the rest and a block whole, their gradients, the next block, the copy that is reduced
    assert found.communication == 4 * (200 + 400 + 200 + 400 + 400 + 400)


def test_fsdp_in_bf16_gathers_half_and_reduces_in_fp32() -> None:
    assert memory("fsdp", precision="bf16").communication == 2 * (600 + 600 + 400) + 4 * 400


def test_fsdp_that_keeps_what_it_gathered_has_the_whole_model() -> None:
    more = memory("fsdp", {"reshard": "grad_op"}).communication - memory("fsdp").communication
    assert more == 4 * (1_000 - 600)


def test_hybrid_sharding_divides_by_the_ranks_of_a_group() -> None:
    assert memory("fsdp", {"shard_size": 2}, world_size=8).gradients == 2_000


def test_fsdp_with_several_micro_batches_sums_gradients_up_whole() -> None:
    assert memory("fsdp", accumulate=2).communication - memory("fsdp").communication == 4_000


def test_a_bare_model_frees_activations_while_gradients_come() -> None:
    assert memory("single", world_size=1).activations == 62_000 - 4_000
    assert memory("single", world_size=1, accumulate=2).activations == 60_000


def test_offloaded_shards_are_not_on_the_device() -> None:
    found = memory("fsdp", {"cpu_offload": True})
    assert (found.parameters, found.gradients, found.optimizer) == (8, 0, 0)


@pytest.mark.parametrize(("fused", "expected"), [(False, 4_000), (True, 0)])
def test_an_update_of_all_parameters_at_once_may_be_what_takes_most(fused: bool, expected: int) -> None:
    small = WorkingSet(kept_bytes=0, peak_bytes=0, peak_with_gradients_bytes=0)
    found = memory_per_rank(spec("ddp", fused_optimizer=fused), SIZE, small)
    assert found.activations == expected
