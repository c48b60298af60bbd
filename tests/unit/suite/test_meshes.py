"""Tensor parallelism: which meshes a plan accepts, and what it says of those that it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import PlannedRun, Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

SLOTS = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu")
LM = {"name": "transformer_lm", "layers": 4, "d_model": 32, "heads": 4, "sequence_length": 16, "vocab_size": 256,
      "tie_embeddings": False}  # fmt: skip


def planned(folder: Path, strategy: Any, **keys: Any) -> list[PlannedRun]:
    case = {"name": "one", "strategy": strategy, "scaling": "strong", "global_batch": 32, "world": [8]}
    suite = {"title": "Meshes", "workload": LM, "measure": {"steps": 2, "repeats": 1}, "cases": [case | keys]}
    (folder / "s.yaml").write_text(json.dumps(suite))
    return list(plan(load_suite(str(folder / "s.yaml")), SLOTS, "s"))


def refusal(folder: Path, strategy: Any, **keys: Any) -> str:
    with pytest.raises(InputError) as refused:
        planned(folder, strategy, **keys)
    return str(refused.value)


@pytest.mark.parametrize(
    ("strategy", "world", "shared", "per_rank"),
    [
        ("tp", 4, 4, 32),
        ({"mesh": {"tp": 2}}, 8, 2, 8),
        ({"mesh": {"tp": 4, "dp_replicate": None, "dp_shard": 1}}, 8, 4, 16),
        ({"mesh": {"dp_shard": 2, "dp_replicate": 4}}, 8, 1, 4),
    ],
)
def test_ranks_of_tp_share_a_batch_and_those_of_dp_divide_it(
    tmp_path: Path, strategy: Any, world: int, shared: int, per_rank: int
) -> None:
    (run,) = planned(tmp_path, strategy, world=[world], train={"accumulate": 4})
    assert run.skip_reason is None
    assert (run.spec.ranks_per_batch, run.spec.batch_per_rank, run.spec.global_batch) == (
        shared,
        per_rank,
        32,
    )


def test_the_name_as_the_only_key_is_the_same_as_a_name_with_options(tmp_path: Path) -> None:
    (short,) = planned(tmp_path, {"mesh": {"tp": 2, "sequence_parallel": True}})
    (long,) = planned(tmp_path, {"name": "mesh", "tp": 2, "sequence_parallel": True})
    assert short.spec == long.spec
    assert short.spec.strategy_options["sequence_parallel"] is True


def test_the_name_as_the_only_key_may_be_set(tmp_path: Path) -> None:
    planned(tmp_path, {"mesh": {"tp": 4}})
    settings = ("cases.one.strategy={mesh: {tp: 2, sequence_parallel: true}}",)
    suite = load_suite(str(tmp_path / "s.yaml"), Selection(settings=settings))
    (run,) = plan(suite, SLOTS, "s")
    options = run.spec.strategy_options
    assert (run.spec.strategy, options["tp"], options["sequence_parallel"]) == ("mesh", 2, True)


@pytest.mark.parametrize(
    ("strategy", "keys", "message"),
    [
        (
            {"mesh": {"tp": 3}},
            {},
            "a mesh of dp_replicate x dp_shard x tp = 1 x 2 x 3 has 6 ranks, but world is 8",
        ),
        (
            {"mesh": {"dp_shard": 2, "tp": 2}},
            {},
            "1 x 2 x 2 has 4 ranks, but world is 8: choose a world that the dimensions divide, and leave out",
        ),
        (
            {"mesh": {"dp_shard": None, "dp_replicate": None}},
            {},
            "dp_replicate and dp_shard are both null: give one of them",
        ),
        ({"mesh": {"sequence_parallel": True}}, {}, "sequence_parallel needs tp: 2 or more"),
        ("tp", {"train": {"precision": "fp16"}}, "use bf16"),
        ("tp", {"train": {"optimizer": "sgd", "fused_optimizer": True}}, "torch's fused SGD cannot update divided"),
        ("fsdp", {"train": {"optimizer": "sgd", "fused_optimizer": True}}, "use train.optimizer: adamw"),
        ("tp", {"workload": {"name": "spiral_mlp"}}, "spiral_mlp has no method tp_plan"),
        ("tp", {"scaling": "weak", "global_batch": None, "batch_per_rank": 4, "world": [2, 4]}, "same ranks_per_batch"),
    ],
)  # fmt: skip
def test_a_mesh_that_cannot_be_is_refused_with_its_numbers_and_a_remedy(
    tmp_path: Path, strategy: Any, keys: dict[str, Any], message: str
) -> None:
    assert message in refusal(tmp_path, strategy, **keys)


def test_an_automatic_size_that_the_mesh_does_not_fit_is_skipped(tmp_path: Path) -> None:
    runs = planned(tmp_path, {"mesh": {"tp": 2}}, world="auto")
    reasons = {run.spec.world_size: run.skip_reason for run in runs}
    assert reasons[2] is reasons[4] is reasons[8] is None
    assert str(reasons[1]).startswith("a mesh of dp_replicate x dp_shard x tp = 1 x 1 x 2 has 2 ranks")
