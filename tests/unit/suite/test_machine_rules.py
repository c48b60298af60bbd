"""A workload that measures the machine accepts only settings that affect it, and none that only training uses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import PlannedRun, Slots
from bench.suite.resolve import load_suite

CASE: dict[str, Any] = {"name": "one", "strategy": "process_group", "scaling": "none", "world": "auto"}


def planned(folder: Path, workload: dict[str, Any], slots: int = 4, **keys: Any) -> tuple[PlannedRun, ...]:
    path = folder / "s.yaml"
    measure = {"steps": 4, **keys.pop("measure", {})}
    cases = [{**CASE, "measure": measure, **keys}]
    path.write_text(json.dumps({"title": "One", "workload": workload, "cases": cases}))
    machine = Slots(slots_per_node=slots, cpus_per_node=slots, device_type="cpu")
    return plan(load_suite(str(path)), machine, "s")


def refusal(folder: Path, workload: str, **keys: Any) -> str:
    with pytest.raises(InputError) as raised:
        planned(folder, {"name": workload}, **keys)
    return str(raised.value)


def test_it_needs_no_batch_and_collectives_no_single_rank(tmp_path: Path) -> None:
    runs = planned(tmp_path, {"name": "collectives"})
    assert [(run.spec.world_size, run.spec.global_batch) for run in runs[:2]] == [(2, 0), (4, 0)]
    assert [run.spec.world_size for run in planned(tmp_path, {"name": "matmul"})[:3]] == [1, 2, 4]


def test_where_there_is_one_slot_collectives_say_what_they_need(tmp_path: Path) -> None:
    (run, *_) = planned(tmp_path, {"name": "collectives"}, slots=1)
    assert run.skip_reason is not None
    assert run.skip_reason.startswith("needs 2 ranks or more")
    assert "case one: collectives needs 2 ranks or more, but world is 1" in refusal(
        tmp_path, "collectives", world=[1]
    )


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"batch_per_rank": 8}, "batch_per_rank"),
        ({"find_batch": True}, "find_batch"),
        ({"train": {"accumulate": 2}}, "train.accumulate"),
        ({"train": {"compile": True}}, "train.compile"),
        ({"data": {"workers": 2}}, "data.workers"),
        ({"measure": {"validate_every": 5}}, "measure.validate_every"),
        ({"measure": {"profiled": 5}}, "measure.profiled"),
        ({"measure": {"until": "5%", "max_repeats": 9}}, "measure.until"),
        ({"measure": {"until_efficiency": "5%", "max_repeats": 9}}, "measure.until_efficiency"),
    ],
)
def test_what_would_have_no_effect_is_refused(tmp_path: Path, keys: dict[str, Any], key: str) -> None:
    assert f"matmul measures the machine and trains nothing: {key} has no effect" in refusal(
        tmp_path, "matmul", **keys
    )


def test_a_model_is_not_laid_over_it_nor_a_bare_group_under_a_model(tmp_path: Path) -> None:
    assert "collectives has no model to distribute: use process_group" in refusal(
        tmp_path, "collectives", strategy="ddp"
    )
    assert "process_group does not distribute a model, but spiral_mlp is trained" in refusal(
        tmp_path, "spiral_mlp", batch_per_rank=8
    )
    assert "scaling is weak" in refusal(tmp_path, "matmul", scaling="weak")


def test_a_precision_that_is_no_type_of_a_message_is_refused(tmp_path: Path) -> None:
    text = refusal(tmp_path, "collectives", train={"precision": "tf32"})
    assert "train.precision is tf32: collectives takes fp32, bf16, fp16" in text


def test_options_that_fit_nowhere_are_refused(tmp_path: Path) -> None:
    for options, said in (
        ({"name": "collectives", "smallest_bytes": 2048, "largest_bytes": 1024}, "it must not be larger"),
        ({"name": "collectives", "largest_bytes": 2**40}, "less than or equal to 17179869184"),
        ({"name": "matmul", "sizes": [], "shapes": []}, "give at least one shape"),
        ({"name": "matmul", "shapes": [[8, 8]]}, "[8, 8]"),
    ):
        with pytest.raises(InputError) as raised:
            planned(tmp_path, options)
        assert said in str(raised.value)
