"""Every option reaches torch: properties of a model on four ranks, by default and when the option is set.

The four ranks are torch's pretended ones: nothing travels, and only the wrappers' arguments can be read."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.testing._internal.distributed.fake_pg import FakeStore

from bench import strategies, workloads
from bench.plan.plan import plan
from bench.records.run_spec import RunSpec, Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.train import rank
from bench.train.rank_job import RankJob

POWERSGD = {"gradient_compression": "powersgd"}


def _unit(model: Any) -> Any:
    return model[0]._get_fsdp_state()


def _policy(model: Any) -> Any:
    return _unit(model)._mp_policy


def _hook(model: Any) -> Any:
    return [hook.__name__ for hook, _ in model._comm_hooks]


class Case(NamedTuple):
    """One option, how to read its effect, and the effect by default and with the value."""

    strategy: str
    option: str
    value: Any
    read: Callable[[Any], Any]
    default: Any
    changed: Any


CASES = [
    Case("ddp", "static_graph", True, lambda m: m.static_graph, False, True),
    Case("ddp", "find_unused_parameters", True, lambda m: m.find_unused_parameters, False, True),
    Case("ddp", "gradient_as_bucket_view", False, lambda m: m.gradient_as_bucket_view, True, False),
    Case("ddp", "bucket_cap_mb", 3, lambda m: m.bucket_bytes_cap, 25 * 2**20, 3 * 2**20),
    Case("ddp", "broadcast_buffers", False, lambda m: m.forward_sync_buffers, True, False),
    Case("ddp", "gradient_compression", "bf16", _hook, [], ["bf16_compress_hook"]),
    Case(
        "fsdp", "reshard", "grad_op", lambda m: _unit(m)._fsdp_param_group._reshard_after_forward, True, False
    ),
    Case("fsdp", "shard_size", 2, lambda m: next(m.parameters()).device_mesh.shape, (4,), (2, 2)),
    Case("fsdp", "param_dtype", "bf16", lambda m: _policy(m).param_dtype, None, torch.bfloat16),
    Case("fsdp", "reduce_dtype", "bf16", lambda m: _policy(m).reduce_dtype, torch.float32, torch.bfloat16),
    Case(
        "fsdp1",
        "sharding_strategy",
        "shard_grad_op",
        lambda m: m.sharding_strategy.name,
        "FULL_SHARD",
        "SHARD_GRAD_OP",
    ),
    Case("fsdp1", "shard_size", 2, lambda m: m.process_group.size(), 4, 2),
    Case("fsdp1", "use_orig_params", False, lambda m: len(list(m.parameters())), 4, 2),
]

ELSEWHERE = {
    ("ddp", "powersgd_rank"): "below",
    ("ddp", "powersgd_start_step"): "below",
    ("fsdp", "cpu_offload"): "needs a GPU",
}


@pytest.fixture(scope="module", autouse=True)
def four_ranks() -> Iterator[None]:
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield
    torch.distributed.destroy_process_group()


def wrapped(name: str, **options: Any) -> Any:
    kind = strategies.load(name)
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    strategy = kind(kind.Options(**options))
    return strategy.wrap(model, [model[0]], device=torch.device("cpu"), precision="fp32")


@pytest.mark.parametrize("case", CASES, ids=[f"{case.strategy}.{case.option}" for case in CASES])
def test_an_option_arrives(case: Case) -> None:
    assert case.read(wrapped(case.strategy)) == case.default
    assert case.read(wrapped(case.strategy, **{case.option: case.value})) == case.changed


def _input(model: Any) -> Any:
    """How the weight of what is between divided layers is placed; null if each rank has all of it by itself."""
    return getattr(model.norm.weight, "placements", None)


MESHES = [
    Case("mesh", "dp_replicate", 2, lambda m: next(m.parameters()).device_mesh.shape, (4,), (2, 2)),
    Case("mesh", "dp_shard", 4, lambda m: next(m.parameters()).device_mesh.shape, (4,), (4,)),
    Case(
        "mesh",
        "tp",
        2,
        lambda m: m.layers[0].attention.project.weight.device_mesh.mesh_dim_names,
        ("dp_shard",),
        ("dp_shard", "tp"),
    ),
    Case("mesh", "sequence_parallel", True, lambda m: len(_input(m)), 1, 2),
    Case("tp", "sequence_parallel", True, lambda m: _input(m) is None, True, False),
]
"""The effects on the first of four ranks."""
NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("mesh", "sequence_parallel"): {"tp": 2, "dp_shard": 2},
}
"""Other options that an option needs."""


def divided(name: str, **options: Any) -> Any:
    asked = {
        "workload": "transformer_lm",
        "source": "synthetic",
        "data_root": None,
        "seed": 0,
    }
    shape = {
        "layers": 8,
        "d_model": 32,
        "heads": 4,
        "sequence_length": 16,
        "vocab_size": 256,
        "tie_embeddings": False,
    }
    workload = workloads.make(asked | {"options": shape})
    kind = strategies.load(name)
    strategy: Any = kind(kind.Options(**options))
    strategy.use(workload)
    model = workload.model()
    return strategy.wrap(model, workload.blocks(model), device=torch.device("cpu"), precision="fp32")


@pytest.mark.parametrize("case", MESHES, ids=[f"{case.strategy}.{case.option}" for case in MESHES])
def test_an_option_of_a_mesh_arrives(case: Case) -> None:
    others = NEEDED.get((case.strategy, case.option), {})
    assert case.read(divided(case.strategy, **others)) == case.default
    assert case.read(divided(case.strategy, **others, **{case.option: case.value})) == case.changed


def test_under_tp_a_rank_has_its_part_of_each_divided_layer() -> None:
    model = divided("tp")
    assert model.layers[0].attention.query_key_value.weight.to_local().shape == (3 * 32 // 4, 32)
    assert model.layers[0].attention.project.weight.to_local().shape == (32, 32 // 4)
    assert model.embedding.weight.to_local().shape == (256 // 4, 32)


def test_powersgds_own_options_arrive() -> None:
    for options, expected in (({}, (1, 2)), ({"powersgd_rank": 4, "powersgd_start_step": 7}, (4, 7))):
        ((_, state),) = wrapped("ddp", **POWERSGD, **options)._comm_hooks
        assert (state.matrix_approximation_rank, state.start_powerSGD_iter) == expected


@pytest.mark.parametrize("keeps", [False, True])
def test_groups_of_fsdp1_free_or_keep_as_all_ranks_would(keeps: bool) -> None:
    chosen = "shard_grad_op" if keeps else "full_shard"
    model = wrapped("fsdp1", shard_size=2, sharding_strategy=chosen)
    assert model.sharding_strategy.name == ("_HYBRID_SHARD_ZERO2" if keeps else "HYBRID_SHARD")


def test_no_option_is_forgotten_here() -> None:
    options = {
        (name, field.name)
        for name in strategies.names()
        for field in dataclasses.fields(strategies.load(name).Options)
    }
    arrived = {(case.strategy, case.option) for case in [*CASES, *MESHES]}
    assert options == arrived | set(ELSEWHERE)


def test_no_option_of_torch_is_given_that_it_is_about_to_drop(recwarn: pytest.WarningsRecorder) -> None:
    wrapped("ddp")
    assert [str(one.message) for one in recwarn if issubclass(one.category, FutureWarning)] == []


def _spec(folder: Path, **train: Any) -> RunSpec:
    suite = {
        "title": "One run",
        "workload": {"name": "spiral_mlp"},
        "train": train,
        "measure": {"warmup": 3, "steps": 3},
        "cases": [
            {"name": "one", "strategy": "single", "scaling": "none", "batch_per_rank": 8, "world": [1]}
        ],
    }
    (folder / "suite.yaml").write_text(json.dumps(suite))
    resolved = load_suite(str(folder / "suite.yaml"), Selection())
    return plan(resolved, Slots(slots_per_node=1, cpus_per_node=1, device_type="cpu"), "session")[0].spec


@pytest.mark.parametrize("asked", [False, True])
def test_cudnn_benchmark_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", not asked)
    threads = torch.get_num_threads()
    rank.configure(_spec(tmp_path, cudnn_benchmark=asked), torch.device("cpu"))
    torch.set_num_threads(threads)
    assert torch.backends.cudnn.benchmark is asked


@pytest.mark.parametrize("mode", ["default", "max-autotune"])
def test_compile_mode_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(torch, "compile", lambda model, **keys: given.update(keys) or model)
    spec = _spec(tmp_path, compile=True, compile_mode=mode)
    job = RankJob(
        spec={}, rank=0, node=0, local_rank=0, local_task=0, cpus=[0], device_index=None,
        cuda_visible_devices=None, shares_gpus=False, rendezvous="", interface=None,
        scratch=str(tmp_path), log="", server_pid=0, variables_of_bench=[],
    )  # fmt: skip
    rank.training_of(job, spec, rank.prepared(spec), torch.device("cpu"))
    assert given == {"mode": mode}
