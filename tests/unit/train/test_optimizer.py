"""The optimizer and learning rates that a suite asks for are the ones that train."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from bench.common.errors import InputError
from bench.records.run_spec import TrainSpec
from bench.train import optimizer
from bench.train.run_length import RunLength
from tests.unit.suite.test_installed_workloads import folder, install

__all__ = ["folder"]


def of(steps: int, dataset_size: int | None = 10, global_batch: int = 4) -> RunLength:
    return RunLength(steps=steps, dataset_size=dataset_size, global_batch=global_batch)


TEN = of(10)


class One(nn.Module):
    """A model of one parameter."""

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(values))


def build(train: TrainSpec) -> torch.optim.Optimizer:
    (made,) = optimizer.build(One([0.0]), train, TEN)
    return made


def _rates(steps: int, **train: object) -> list[float]:
    """Learning rate of each step, for a peak of 1."""
    spec = TrainSpec(learning_rate=1.0, **train)  # type: ignore[arg-type]
    made = build(spec)
    schedules, rates = optimizer.schedules([made], spec, of(steps)), []
    for _ in range(steps):
        rates.append(made.param_groups[0]["lr"])
        made.step()
        for schedule in schedules:
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
    (made,) = optimizer.build(model, train, TEN)
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
    other = build(TrainSpec(optimizer="RMSprop", optimizer_options={"momentum": 0.5}))
    assert (type(other), other.defaults["momentum"]) == (torch.optim.RMSprop, 0.5)
    rates = _rates(4, lr_schedule="StepLR", lr_schedule_options={"step_size": 2, "gamma": 0.5})
    assert rates == [1, 1, 0.5, 0.5]


OWN = """
import torch

def make(model, learning_rate, decay=0.0):
    matrices = [one for one in model.parameters() if one.dim() == 2]
    others = [one for one in model.parameters() if one.dim() != 2]
    return [
        torch.optim.Muon(matrices, lr=10 * learning_rate),
        torch.optim.AdamW([{"params": others, "weight_decay": decay}], lr=learning_rate),
    ]

def halved(optimizer, steps, after):
    return torch.optim.lr_scheduler.StepLR(optimizer, after, gamma=steps / 20)

def forgets(model, learning_rate):
    return torch.optim.SGD([model.bias], lr=learning_rate)

def twice(model, learning_rate):
    return [torch.optim.SGD(model.parameters(), lr=1), torch.optim.SGD([model.bias], lr=1)]

def foreign(model, learning_rate):
    return torch.optim.SGD([*model.parameters(), torch.nn.Parameter(torch.zeros(1))], lr=1)

def nothing(*_, **__):
    return None

def raises(*_, **__):
    raise ValueError("no such optimizer")

def plateau(optimizer, steps):
    return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)

word = "not a function"
"""


def test_a_packages_functions_are_chosen_by_their_names(folder: Path) -> None:
    install(folder, "fine_rates", "fine_halved = fine_rates:halved", OWN, group="bench.schedules")
    install(folder, "fine_makers", "FineMuon = fine_makers:make", OWN, group="bench.optimizers")
    train = TrainSpec(
        optimizer="FineMuon", lr_schedule="fine_halved", lr_schedule_options={"after": 1}, learning_rate=1e-3
    )
    made = optimizer.build(nn.Linear(3, 2), train, TEN)
    assert [type(one) for one in made] == [torch.optim.Muon, torch.optim.AdamW]
    (first, _) = optimizer.schedules(made, train, TEN)
    assert isinstance(first, torch.optim.lr_scheduler.StepLR)
    for name, wanted in (
        ("fine_muo", "unknown optimizer 'fine_muo'"),
        ("forgotten", "unknown optimizer 'forgotten'"),
    ):
        with pytest.raises(InputError, match=wanted):
            optimizer.build(nn.Linear(3, 2), TrainSpec(optimizer=name), TEN)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "own.py"


def test_a_users_function_makes_several_optimizers_with_a_schedule_each(own: Path) -> None:
    train = TrainSpec(
        optimizer=f"{own}:make", optimizer_options={"decay": 0.1},
        lr_schedule=f"{own}:halved", lr_schedule_options={"after": 1},
    )  # fmt: skip
    model = nn.Linear(3, 2)
    muon, adamw = made = optimizer.build(model, train, TEN)
    assert (muon.param_groups[0]["params"], muon.param_groups[0]["lr"]) == ([model.weight], 0.01)
    assert (adamw.param_groups[0]["params"], adamw.param_groups[0]["weight_decay"]) == ([model.bias], 0.1)
    for one, schedule in zip(made, optimizer.schedules(made, train, TEN), strict=True):
        one.step()
        schedule.step()
    assert (muon.param_groups[0]["lr"], adamw.param_groups[0]["lr"]) == (0.005, 0.0005)


@pytest.mark.parametrize(
    ("train", "said"),
    [
        (
            {"optimizer": "RMSProp"},
            r"train.optimizer RMSProp: torch.optim has no such class; did you mean .*RMSprop",
        ),
        ({"optimizer": "LBFGS"}, "train.optimizer LBFGS computes the loss several times per step"),
        ({"optimizer_options": {"beta": 1}}, r"train.optimizer adamw raised TypeError: .*'beta'"),
        ({"lr_schedule": "StepLr"}, r"train.lr_schedule StepLr: .* has no such class; did you mean .*StepLR"),
        ({"lr_schedule": "StepLR"}, r"train.lr_schedule StepLR raised TypeError: .*'step_size'"),
        ({"lr_schedule": "ReduceLROnPlateau"}, "ReduceLROnPlateau follows a result of validation"),
        ({"lr_schedule": "OWN:plateau"}, "ReduceLROnPlateau follows a result of validation"),
        (
            {"lr_schedule": "OWN:nothing"},
            r"own.py:nothing\(\) returned None: return a torch.optim.lr_scheduler",
        ),
        (
            {"optimizer": "OWN:forgets"},
            r"own.py:forgets\(\) leaves out weight: every parameter that is trained",
        ),
        ({"optimizer": "OWN:twice"}, r"own.py:twice\(\) gives to two optimizers bias: every parameter"),
        ({"optimizer": "OWN:foreign"}, r"own.py:foreign\(\) holds parameters that are not the model's"),
        ({"optimizer": "OWN:nothing"}, r"own.py:nothing\(\) returned None: return a torch.optim.Optimizer"),
        ({"optimizer": "OWN:raises"}, r"own.py:raises\(\) raised ValueError: no such optimizer \(line 28\)"),
        ({"optimizer": "OWN:word"}, "own.py has no function word"),
    ],
)
def test_what_cannot_be_made_is_refused_with_its_reason(own: Path, train: dict[str, Any], said: str) -> None:
    given = {
        key: item.replace("OWN", str(own)) if isinstance(item, str) else item for key, item in train.items()
    }
    spec = TrainSpec(**given)
    assert not optimizer.is_ours(spec)
    with pytest.raises(InputError, match=said):
        optimizer.schedules(optimizer.build(nn.Linear(3, 2), spec, TEN), spec, TEN)


def test_an_overflow_skips_the_step_of_every_optimizer_so_that_clipping_spreads_it_to_none() -> None:
    model = nn.Linear(3, 2)
    before = [one.detach().clone() for one in model.parameters()]
    made = [torch.optim.SGD([one], lr=0.1) for one in model.parameters()]
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(1, 3)).sum()).backward()
    assert model.bias.grad is not None
    model.bias.grad[0] = math.nan
    optimizer.apply(made, scaler, lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0) and None)
    scaler.update()
    assert all(torch.equal(one, old) for one, old in zip(model.parameters(), before, strict=True))


def test_a_schedule_that_refuses_a_later_step_is_refused_at_once() -> None:
    train = TrainSpec(lr_schedule="OneCycleLR", lr_schedule_options={"max_lr": 0.1, "total_steps": 10})
    (made,) = optimizer.build(nn.Linear(3, 2), train, TEN)
    optimizer.try_schedules(optimizer.schedules([made], train, TEN), train, 10)
    with pytest.raises(
        InputError, match="OneCycleLR, which the run steps 11 times, raised ValueError: Tried to step 11"
    ):
        optimizer.try_schedules(optimizer.schedules([made], train, of(11)), train, 11)


BY_EPOCHS = """
import torch


def by_epoch(optimizer, steps, steps_per_epoch, factor=1.0):
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: factor * (1 if steps_per_epoch is None else 0.5 ** (step // steps_per_epoch))
    )


def make(model, learning_rate, steps, steps_per_epoch):
    return torch.optim.SGD(model.parameters(), lr=learning_rate * steps, weight_decay=steps_per_epoch)


def with_its_own(model, learning_rate, steps=3):
    return torch.optim.SGD(model.parameters(), lr=learning_rate * steps)
"""


def test_a_users_functions_get_the_length_of_the_run_and_of_an_epoch_by_name(tmp_path: Path) -> None:
    (tmp_path / "by.py").write_text(BY_EPOCHS)
    train = TrainSpec(
        optimizer=f"{tmp_path}/by.py:make", learning_rate=0.5,
        lr_schedule=f"{tmp_path}/by.py:by_epoch", lr_schedule_options={"factor": 4.0},
    )  # fmt: skip
    (made,) = optimizer.build(One([0.0]), train, TEN)
    assert (made.defaults["lr"], made.defaults["weight_decay"]) == (5.0, 3)  # 10 examples in batches of 4
    (schedule,) = optimizer.schedules([made], train, TEN)
    rates = []
    for _ in range(7):
        rates += schedule.get_last_lr()
        made.step()
        schedule.step()
    assert rates == [20, 20, 20, 10, 10, 10, 5]
    (of_a_stream,) = optimizer.schedules([made], train, of(10, None))
    assert of_a_stream.get_last_lr() == [20]


def test_an_option_of_that_name_comes_from_the_suite(tmp_path: Path) -> None:
    (tmp_path / "by.py").write_text(BY_EPOCHS)
    train = TrainSpec(
        optimizer=f"{tmp_path}/by.py:with_its_own", optimizer_options={"steps": 2}, learning_rate=0.5
    )
    (made,) = optimizer.build(One([0.0]), train, TEN)
    assert made.defaults["lr"] == 1.0


PLACES = """
import torch


def none(model, steps, /, learning_rate):
    pass


def only_by_name(*models, learning_rate, steps):
    return torch.optim.SGD(models[0].parameters(), lr=learning_rate * steps)


def of_the_suite(model, learning_rate, **options):
    return torch.optim.SGD(model.parameters(), lr=learning_rate + len(options))


def steps_first(steps, learning_rate):
    pass


def epoch_second(optimizer, steps_per_epoch):
    pass


def epoch_by_name(*given, steps_per_epoch):
    return torch.optim.lr_scheduler.StepLR(given[0], steps_per_epoch)
"""


def test_the_length_is_given_by_name_and_never_in_the_place_of_another_argument(tmp_path: Path) -> None:
    (tmp_path / "by.py").write_text(PLACES)

    def made(name: str) -> torch.optim.Optimizer:
        return build(TrainSpec(optimizer=f"{tmp_path}/by.py:{name}", learning_rate=0.5))

    assert (made("only_by_name").defaults["lr"], made("of_the_suite").defaults["lr"]) == (5.0, 0.5)
    with pytest.raises(InputError, match=r"missing 1 required positional argument: 'steps'"):
        made("none")
    with pytest.raises(
        InputError,
        match=r"^by.py:steps_first\(\) has steps in the place of model: its parameters begin with model, and steps "
        "may follow$",
    ):
        made("steps_first")
    second = TrainSpec(lr_schedule=f"{tmp_path}/by.py:epoch_second")
    with pytest.raises(
        InputError, match=r"has steps_per_epoch in the place of steps: .* begin with optimizer, steps, and"
    ):
        optimizer.schedules([build(second)], second, TEN)
    by_name = TrainSpec(lr_schedule=f"{tmp_path}/by.py:epoch_by_name")
    (schedule,) = optimizer.schedules([build(by_name)], by_name, TEN)
    assert isinstance(schedule, torch.optim.lr_scheduler.StepLR)
    assert schedule.step_size == 3


@pytest.mark.parametrize("text", ["3epochs", "3 Epochs", "-1 epochs", "1e3 epochs", f"{'9' * 400} epochs"])
def test_what_is_no_number_of_epochs_is_refused_with_the_way_to_write_it(text: str) -> None:
    train = TrainSpec(lr_schedule="StepLR", lr_schedule_options={"step_size": text})
    said = "^train.lr_schedule_options.step_size: '.*' is not a number of epochs: write it as `3 epochs`$"
    with pytest.raises(InputError, match=said):
        optimizer.schedules([build(train)], train, TEN)


@pytest.mark.parametrize(
    ("name", "options", "attribute", "steps"),
    [
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": "run"}, "total_steps", 10),
        ("OneCycleLR", {"max_lr": 0.1, "total_steps": "4 epochs"}, "total_steps", 10),
        ("CosineAnnealingLR", {"T_max": "3 epochs"}, "T_max", 8),
        ("StepLR", {"step_size": "0.5 epochs", "gamma": 0.5}, "step_size", 2),
        ("StepLR", {"step_size": "1 epoch"}, "step_size", 3),
        ("MultiStepLR", {"milestones": ["1 epoch", 7, "run"]}, "milestones", {3: 1, 7: 1, 10: 1}),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "mode": "exp_range"}, "mode", "exp_range"),
    ],
)
def test_torchs_schedules_count_in_epochs_and_runs(
    name: str, options: dict[str, Any], attribute: str, steps: object
) -> None:
    train = TrainSpec(optimizer="sgd", momentum=0.9, lr_schedule=name, lr_schedule_options=options)
    (made,) = optimizer.schedules([build(train)], train, TEN)
    assert getattr(made, attribute) == steps


def test_the_epochs_of_a_stream_are_refused_with_the_place() -> None:
    train = TrainSpec(lr_schedule="MultiStepLR", lr_schedule_options={"milestones": [1, "3 epochs"]})
    with pytest.raises(
        InputError,
        match=r"train.lr_schedule_options.milestones: 3 epochs: the length of a stream is not known: give a number "
        "of steps, or run",
    ):
        optimizer.schedules([build(train)], train, of(10, None))
