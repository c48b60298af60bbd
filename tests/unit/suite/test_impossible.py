"""Combinations that torch does not support are refused by name, with the reason; supported ones are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.suite.models import ResolvedSuite
from bench.suite.resolve import load_suite


def suite(folder: Path, strategy: dict[str, object], **keys: object) -> ResolvedSuite:
    case = {"name": "one", "strategy": strategy, "scaling": "strong", "global_batch": 24, "world": [1, 2, 4]}
    path = folder / "s.yaml"
    path.write_text(
        json.dumps(
            {
                "title": "One case",
                "workload": {"name": "spiral_mlp"},
                "cases": [{"measure": {"warmup": 3, "steps": 4}, **case, **keys}],
            }
        )
    )
    return load_suite(str(path))


def refusal(folder: Path, strategy: dict[str, object], **keys: object) -> str:
    with pytest.raises(InputError) as raised:
        suite(folder, strategy, **keys)
    return str(raised.value)


def test_what_a_static_graph_ignores_is_refused(tmp_path: Path) -> None:
    both = {"name": "ddp", "static_graph": True, "find_unused_parameters": True}
    assert "torch ignores find_unused_parameters under static_graph" in refusal(tmp_path, both)


def test_float8_takes_the_place_of_bf16_in_whole_layers(tmp_path: Path) -> None:
    assert "but train.precision is fp32: use bf16" in refusal(
        tmp_path, {"name": "ddp"}, train={"float8": True}
    )
    train = {"float8": True, "precision": "bf16"}
    assert "tp gives each rank a part" in refusal(
        tmp_path, {"name": "tp"}, train=train, workload={"name": "transformer_lm"}
    )
    assert suite(tmp_path, {"name": "fsdp"}, train=train).cases


def test_powersgd_in_fp16_is_refused_and_in_bf16_is_not(tmp_path: Path) -> None:
    powersgd = {"name": "ddp", "gradient_compression": "powersgd"}
    text = refusal(tmp_path, powersgd, train={"precision": "fp16"})
    assert "after the first overflow of fp16 every step is skipped" in text
    assert suite(tmp_path, powersgd, train={"precision": "bf16"}).cases
    halved = {"name": "ddp", "gradient_compression": "fp16"}
    assert suite(tmp_path, halved, train={"precision": "fp16"}).cases


def test_a_fused_optimizer_under_fsdp1_in_fp16_is_refused(tmp_path: Path) -> None:
    train = {"precision": "fp16", "fused_optimizer": True}
    assert "cannot tell a fused optimizer about overflows" in refusal(
        tmp_path, {"name": "fsdp1"}, train=train
    )
    assert suite(tmp_path, {"name": "fsdp"}, train=train).cases
    assert suite(tmp_path, {"name": "fsdp1"}, train=train | {"precision": "bf16"}).cases


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_batchnorm_in_half_precision_under_fsdp_is_refused_with_what_runs(
    tmp_path: Path, precision: str
) -> None:
    asked = {"workload": {"name": "resnet50"}, "train": {"precision": precision}}
    text = refusal(tmp_path, {"name": "fsdp"}, **asked)
    assert f"fsdp gathers parameters in {precision}, and BatchNorm, which resnet50 has, accepts none" in text
    for runs in ({"name": "fsdp", "param_dtype": "fp32"}, {"name": "fsdp1"}, {"name": "ddp"}):
        assert suite(tmp_path, runs, **asked).cases
    assert suite(tmp_path, {"name": "fsdp"}, **{**asked, "workload": {"name": "vit_b_16"}}).cases


def test_powersgd_must_begin_in_the_warm_up(tmp_path: Path) -> None:
    powersgd = {"name": "ddp", "gradient_compression": "powersgd", "powersgd_start_step": 3}
    text = refusal(tmp_path, powersgd)
    assert "begins after 3 uncompressed steps (powersgd_start_step), and measure.warmup is 3" in text
    assert "use 4 or more warm-up steps" in text
    assert suite(tmp_path, {**powersgd, "powersgd_start_step": 2}).cases


def refused_plan(folder: Path, strategy: dict[str, object], **keys: object) -> str:
    slots = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu")
    with pytest.raises(InputError) as raised:
        plan(suite(folder, strategy, **keys), slots, "s")
    return str(raised.value)


@pytest.mark.parametrize("name", ["fsdp", "fsdp1"])
def test_groups_that_do_not_make_up_the_world_are_refused_with_the_numbers(tmp_path: Path, name: str) -> None:
    text = refused_plan(tmp_path, {"name": name, "shard_size": 3})
    assert "case one: 4 ranks do not divide into groups of shard_size 3 (4 / 3 = 1.33333)" in text
    slots = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu")
    runs = plan(suite(tmp_path, {"name": name, "shard_size": 3}, world="auto"), slots, "s")
    assert {run.spec.world_size: run.skip_reason is None for run in runs} == {
        1: True,
        2: True,
        4: False,
        8: False,
    }
    assert plan(suite(tmp_path, {"name": name, "shard_size": 2}), slots, "s")


def test_offloading_to_the_host_needs_a_gpu(tmp_path: Path) -> None:
    offloads = {"name": "fsdp", "cpu_offload": True}
    assert "cpu_offload on device cpu: parameters are in host memory already" in refused_plan(
        tmp_path, offloads
    )
    slots = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu")
    runs = plan(suite(tmp_path, offloads, device="cuda"), slots, "s")
    assert all("needs a GPU" in str(run.skip_reason) for run in runs)


def test_parameters_gathered_in_another_precision_than_the_steps_are_refused(tmp_path: Path) -> None:
    gathers = {"name": "fsdp", "param_dtype": "bf16"}
    text = refusal(tmp_path, gathers)
    assert "param_dtype gathers bf16, but train.precision fp32 computes in fp32: layers" in text
    assert "use fp32, or another train.precision" in text
    half = refusal(tmp_path, {**gathers, "param_dtype": "fp16"}, train={"precision": "bf16"})
    assert "use bf16 or fp32, or another train.precision" in half
    assert suite(tmp_path, gathers, train={"precision": "bf16"}).cases
    assert suite(tmp_path, {**gathers, "param_dtype": "fp32"}, train={"precision": "bf16"}).cases


def with_wire(*factors: float) -> dict[str, object]:
    return {"measure": {"warmup": 3, "steps": 4, "wire": list(factors)}}


def test_longer_and_shorter_messages_need_a_strategy_that_sends_them(tmp_path: Path) -> None:
    for name in ("fsdp1", "tp", "mesh"):
        text = refusal(tmp_path, {"name": name}, workload={"name": "transformer_lm"}, **with_wire(0.5, 2))
        assert (
            f"measure.wire needs a strategy whose messages can be longer or shorter, and {name} has none"
            in text
        )
        assert "use ddp or fsdp, or leave it out" in text
    single = refusal(tmp_path, {"name": "single"}, world=[1], **with_wire(0.5, 2))
    assert "measure.wire needs a strategy" in single
    assert suite(tmp_path, {"name": "ddp"}, **with_wire(0.25, 0.5, 1, 2, 4)).cases
    assert "it must list at most 16" in refusal(tmp_path, {"name": "ddp"}, **with_wire(*17 * [2]))
    assert suite(tmp_path, {"name": "single"}, world=[1], **with_wire()).cases


def test_fsdp_cannot_send_a_part_of_its_parameters(tmp_path: Path) -> None:
    assert "measure.wire has 0.5, and fsdp cannot compute with a part of the parameters" in refusal(
        tmp_path, {"name": "fsdp"}, **with_wire(0.5, 1, 2)
    )
    assert suite(tmp_path, {"name": "fsdp"}, **with_wire(1, 2)).cases
    assert "cannot lengthen the all-reduce between the groups of shard_size" in refusal(
        tmp_path, {"name": "fsdp", "shard_size": 2}, world=[4], **with_wire(2)
    )


def test_two_communication_hooks_are_refused(tmp_path: Path) -> None:
    compressed = {"name": "ddp", "gradient_compression": "bf16"}
    assert "torch allows one, which gradient_compression has" in refusal(tmp_path, compressed, **with_wire(2))


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ((2, 2), "names a factor twice"),
        ((0,), "greater than or equal to 0.01"),
        ((17,), "less than or equal to 16"),
    ],
)
def test_factors_of_messages_are_checked(tmp_path: Path, factors: tuple[float, ...], said: str) -> None:
    assert said in refusal(tmp_path, {"name": "ddp"}, **with_wire(*factors))
