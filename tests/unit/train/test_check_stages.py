"""Stages and plans of a custom workload that would train another model than its own are refused before a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from bench import strategies
from bench.common.errors import InputError
from bench.records.run_spec import TrainSpec
from bench.train import check_stages
from bench.workloads._custom import WORKLOAD


class Layers(nn.Module):
    """Some layers of a model, called as a stage."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, before: Any, x: Any) -> Any:
        return self.layers(x if before is None else before)


class Own:
    def model(self) -> Any:
        return nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Any:
        return {"x": torch.randn(len(places), 4, generator=torch.Generator().manual_seed(0))}

    def loss(self, model: Any, batch: Any) -> Any:
        return model(batch["x"]).square().mean()

    def stages(self, model: Any, count: int) -> Any:
        return [Layers(model[0], model[1]), Layers(model[2], model[3])]

    def tp_plan(self, model: Any, *, size: int, sequence_parallel: bool) -> Any:
        return {}


class Detached(Layers):
    def forward(self, before: Any, x: Any) -> Any:
        return super().forward(before, x).detach()


class Pair(Layers):
    def forward(self, before: Any, x: Any) -> Any:
        output = super().forward(before, x)
        return output, output


def workload(**methods: Callable[..., Any]) -> Any:
    kind: Any = WORKLOAD.complete(type("Own", (Own,), methods), "my_model.py:Own")
    return kind(kind.Options(), "synthetic", None, 0)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (lambda _self, _model, _count: None, "stages() returned NoneType: give a list of torch.nn.Module"),
        (lambda _self, _model, _count: ["a", "b"], "stages() returned list: give a list of torch.nn.Module"),
        (
            lambda _self, model, _count: [Layers(*model[:3]), Layers(*model[2:])],
            "gives the parameter 2.weight to the stages 0 and 1",
        ),
        (
            lambda _self, model, _count: [Layers(model[0]), Layers(*model[2:])],
            "gives the parameter 1.weight to no stage",
        ),
        (
            lambda _self, model, _count: [Layers(*model[:2]), Layers(*model[2:], nn.Linear(4, 4))],
            "a stage 1 with a parameter layers.2.weight that the model does not have",
        ),
        (lambda _self, model, _count: [Layers(*model), Layers()], "a stage 1 without parameters"),
    ],
)
def test_each_parameter_is_in_one_stage(stages: Callable[..., Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        strategies.suits("pp", {}, 2, workload(stages=stages), TrainSpec())
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"stages": lambda _self, model, _count: [Layers(*model[2:]), Layers(*model[:2])]},
            "the stages of stages() are not the model",
        ),
        (
            {"stages": lambda _self, model, _count: [Detached(*model[:2]), Layers(*model[2:])]},
            "stage 0 of stages() returned a tensor without gradient",
        ),
        (
            {"stages": lambda _self, model, _count: [Pair(*model[:2]), Layers(*model[2:])]},
            "stage 0 of stages() returned tuple: give one tensor",
        ),
        (
            {"loss": lambda _self, model, batch: (model(batch["x"]) * model(-batch["x"])).mean()},
            "loss() calls the model 2 times",
        ),
    ],
)
def test_stages_one_after_the_other_are_the_model(
    methods: dict[str, Callable[..., Any]], message: str
) -> None:
    with pytest.raises(InputError) as refused:
        check_stages.check(workload(**methods), 2)
    assert message in str(refused.value)


def test_stages_that_are_the_model_are_accepted_and_leave_the_random_numbers_alone() -> None:
    before = torch.get_rng_state()
    strategies.suits("pp", {}, 2, workload(), TrainSpec())
    check_stages.check(workload(), 2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (None, "tp_plan() returned NoneType: give a dict"),
        ({"0": 3}, "tp_plan() gives 0 int: give a style"),
        ({"5": None}, "tp_plan() names 5, which is no submodule of the model"),
    ],
)
def test_a_plan_has_styles_for_submodules(made: Any, message: str) -> None:
    plan = workload(tp_plan=lambda _self, _model, **_sizes: made)
    with pytest.raises(InputError) as refused:
        strategies.suits("tp", {}, 2, plan, TrainSpec())
    assert message in str(refused.value)
