"""The optimizer and learning rates that a suite asks for are the ones that train."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

from bench.records.run_spec import TrainSpec
from bench.train import optimizer


class One(nn.Module):
    """A model of one parameter."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(values))


def build(train: TrainSpec) -> torch.optim.Optimizer:
    return optimizer.build(One([0.0]), train)


def _rates(steps: int, **train: object) -> list[float]:
    """Learning rate of each step, for a peak of 1."""
    spec = TrainSpec(learning_rate=1.0, **train)  # type: ignore[arg-type]
    made = build(spec)
    schedule, rates = optimizer.schedule(made, spec, steps), []
    for _ in range(steps):
        rates.append(made.param_groups[0]["lr"])
        made.step()
        if schedule is not None:
            schedule.step()
    return rates


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ({"lr_schedule": "constant"}, [1, 1, 1, 1, 1, 1]),
        ({"lr_schedule": "linear_warmup", "warmup_steps": 3}, [1 / 3, 2 / 3, 1, 1, 1, 1]),
        ({"lr_schedule": "linear", "warmup_steps": 2}, [0.5, 1, 1, 0.75, 0.5, 0.25]),
        ({"lr_schedule": "linear", "warmup_steps": 2, "total_steps": 4}, [0.5, 1, 1, 0.5, 0, 0]),
        ({"lr_schedule": "linear"}, [1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]),
        ({"lr_schedule": "cosine", "warmup_steps": 2, "total_steps": 4}, [0.5, 1, 1, 0.5, 0, 0]),
        ({"lr_schedule": "cosine", "total_steps": 3}, [1, 0.75, 0.25, 0, 0, 0]),
        ({"lr_schedule": "linear", "warmup_steps": 6, "total_steps": 6}, [n / 6 for n in range(1, 7)]),
    ],
)
def test_a_schedule_gives_these_rates(train: dict[str, object], expected: list[float]) -> None:
    assert _rates(6, **train) == pytest.approx(expected, abs=1e-12)


def _trained(train: TrainSpec) -> torch.Tensor:
    """A parameter after three steps with gradients 1, 2 and 3."""
    model = One([1.0, -2.0])
    parameter = model.weight
    made = optimizer.build(model, train)
    for step in range(3):
        parameter.grad = torch.full_like(parameter, step + 1.0)
        made.step()
    return parameter.detach()


@pytest.mark.parametrize("name", ["adamw", "adam", "sgd"])
def test_a_fused_optimizer_makes_the_same_steps(name: str) -> None:
    plain, fused = TrainSpec(optimizer=name), TrainSpec(optimizer=name, fused_optimizer=True)
    assert build(fused).defaults["fused"] is True
    torch.testing.assert_close(_trained(fused), _trained(plain))


def test_momentum_and_weight_decay_are_those_of_the_suite() -> None:
    # v = 0.9 v + gradient + 0.5 w, w = w - 0.1 v, by hand from w = 1 with gradients 1, 2, 3
    train = TrainSpec(optimizer="sgd", learning_rate=0.1, momentum=0.9, weight_decay=0.5)
    weight, velocity = 1.0, 0.0
    for gradient in (1.0, 2.0, 3.0):
        velocity = 0.9 * velocity + gradient + 0.5 * weight
        weight -= 0.1 * velocity
    assert float(_trained(train)[0]) == pytest.approx(weight)


@pytest.mark.parametrize(("name", "decay"), [("adamw", 0.01), ("adam", 0.0), ("sgd", 0.0)])
def test_left_unsaid_weight_decay_is_torchs(name: str, decay: float) -> None:
    assert build(TrainSpec(optimizer=name)).defaults["weight_decay"] == decay


def test_arguments_reach_torchs_optimizer_and_schedule() -> None:
    made = build(TrainSpec(optimizer_options={"betas": [0.9, 0.95], "eps": 1e-6}, weight_decay=0.1))
    expected = {"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.1}
    assert {key: made.defaults[key] for key in expected} == expected
    rates = _rates(5, lr_schedule="MultiStepLR", lr_schedule_options={"milestones": [2, 4], "gamma": 0.5})
    assert rates == [1, 1, 0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ({"optimizer_options": {"beta": 1}}, "train.optimizer_options: AdamW raised TypeError: .*'beta'"),
        ({"optimizer_options": {"betas": [2, 0]}}, "AdamW raised ValueError: Invalid beta parameter"),
        ({"lr_schedule": "MultiStepLR"}, "train.lr_schedule_options: MultiStepLR raised .*'milestones'"),
        (
            {"lr_schedule": "MultiStepLR", "lr_schedule_options": {"milestones": 5}},
            "train.lr_schedule_options: MultiStepLR raised TypeError: ",
        ),
    ],
)
def test_options_that_torch_refuses_are_a_problem(train: dict[str, Any], said: str) -> None:
    assert re.match(f"(train.optimizer_options: )?{said}", str(optimizer.problem(TrainSpec(**train))))


def test_options_that_torch_accepts_are_none() -> None:
    accepted = TrainSpec(
        optimizer="sgd", momentum=0.9, optimizer_options={"nesterov": True},
        lr_schedule="MultiStepLR", lr_schedule_options={"milestones": [3]},
    )  # fmt: skip
    assert optimizer.problem(accepted) is None
