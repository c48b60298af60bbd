"""A step that a workload makes itself: its phases, its updates, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn

from bench.common.errors import InputError
from bench.measure.recorder import by_phase
from bench.train.check_workload import checked
from bench.train.custom_step import CustomStep, Trained
from bench.workloads._custom import WORKLOAD


class Two:
    """Two members; each test may spoil one part."""

    dataset_size = 10

    def prepare(self) -> None:
        self.examples = torch.randn(10, 3, generator=torch.Generator().manual_seed(0))

    def model(self) -> Any:
        return nn.ModuleDict({"first": nn.Linear(3, 3), "second": nn.Linear(3, 1)})

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Any:
        return {"x": self.examples[places]}

    def step(self, model: Any, batch: Any, step: Any) -> Any:
        with step.forward():
            loss = model["second"](model["first"](batch["x"])).square().mean()
        step.backward(loss)
        step.update("first")
        with step.forward():
            loss = model["second"](batch["x"]).square().mean()
        step.backward(loss)
        step.update("second")
        return loss


def check(**parts: Any) -> Any:
    kind: Any = WORKLOAD.complete(type("Two", (Two,), parts), "two.py:Two")
    return checked(lambda: kind(kind.Options(), "synthetic", None, 0), "/somewhere/two.py:Two", "ddp")


def test_a_workload_with_a_step_needs_no_loss_and_its_members_may_be_called_one_by_one() -> None:
    assert not hasattr(check(), "loss")


def returning(value: Any, *, updates: bool = True) -> Any:
    def step(_: Any, model: Any, batch: Any, step: CustomStep) -> Any:
        step.backward(model["second"](batch["x"]).mean())
        if updates:
            step.update()
        return value

    return step


class Sharing(nn.ModuleDict):
    """Its members share a parameter."""

    def __init__(self) -> None:
        super().__init__({"first": nn.Linear(3, 3), "second": nn.Linear(3, 3)})
        self["second"].weight = self["first"].weight


class WithOwn(nn.ModuleDict):
    """It has a parameter of its own."""

    def __init__(self) -> None:
        super().__init__({"first": nn.Linear(3, 3), "second": nn.Linear(3, 1)})
        self.scale = nn.Parameter(torch.ones(1))


def of_no_member(_: Any, model: Any, batch: Any, step: CustomStep) -> None:
    step.update("third")


def inside_the_member(_: Any, model: Any, batch: Any, step: CustomStep) -> torch.Tensor:
    loss: torch.Tensor = (batch["x"] @ model["first"].weight).mean()
    step.backward(loss)
    step.update()
    return loss


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            {"step": returning(None)},
            "TypeError: it returned None: return the loss to record, one scalar tensor",
        ),
        ({"step": returning({"a": torch.tensor(1.0)})}, "it returned None: return the loss to record"),
        (
            {"step": returning({"loss": torch.tensor(1.0), "a": 2})},
            "returned the loss a as int: give one scalar tensor",
        ),
        ({"step": returning(torch.ones(2))}, r"it returned shape \[2\]: return the loss to record"),
        ({"step": returning(torch.tensor(1.0), updates=False)}, "it trained nothing: call step.update()"),
        (
            {"model": lambda _: Sharing()},
            "whose members first and second share a parameter: make them one member",
        ),
        (
            {"model": lambda _: WithOwn()},
            "a ModuleDict with the parameter scale of its own: move it into a member",
        ),
        ({"step": of_no_member}, "step.update\\('third'\\): the model has the members first, second"),
        (
            {"step": inside_the_member},
            "does more with the model than call it: AttributeError: 'Wrapper' object",
        ),
        ({"step": lambda self, model, batch: None}, r"write step\(self, model, batch, step\)"),
        (
            {"dataset_size": 5, "validation_size": 4},
            r"evaluate\(\) of two.py:Two raised TypeError: .* needs its own evaluate",
        ),
    ],
)
def test_what_is_wrong_is_said_before_a_session_begins(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check(**parts)


def test_phases_last_from_mark_to_mark_and_each_member_is_updated_by_itself() -> None:
    torch.manual_seed(0)
    work, times = check(), iter(range(100, 1000, 100))
    model = work.model()
    before = {name: member.weight.clone() for name, member in model.items()}
    trained = {
        name: Trained(optimizers=[torch.optim.SGD(one.parameters(), lr=0.1)]) for name, one in model.items()
    }
    seen: list[str] = []

    def step(tools: CustomStep) -> torch.Tensor:
        with tools.forward():
            loss = model["second"](model["first"](torch.ones(2, 3))).square().mean()
        tools.backward(loss)
        tools.end("forward")
        tools.update("first")
        seen.extend(name for name, member in model.items() if not torch.equal(member.weight, before[name]))
        result: torch.Tensor = loss
        return result

    own = CustomStep(trained, None, nullcontext())
    marks = [0, 10]
    own.make(step, lambda: next(times), marks)
    marks.append(1000)
    assert (seen, marks) == (["first"], [0, 10, 100, 200, 300, 400, 1000])
    spans = [10, 90, 100, 100, 100, 600]
    assert by_phase(spans, own.phases) == [10, 190, 100, 700]
    assert all(one.grad is None for one in model.parameters())  # of the second, too, which was not updated


def generator_first(model: nn.ModuleDict, step: CustomStep, *, resets: bool) -> torch.Tensor:
    """The gradient with which the second member is updated after the first member's loss went through it."""
    found = []
    model["second"].weight.register_hook(lambda gradient: found.append(gradient.clone()))
    step.backward(model["second"](model["first"](torch.ones(2, 3))).square().mean())
    step.update("first")
    if resets:
        step.reset("second")
    step.backward(model["second"](torch.ones(2, 3)).square().mean())
    assert model["second"].weight.grad is not None
    given = model["second"].weight.grad.clone()
    assert torch.equal(given, found[1]) is resets
    step.update("second")
    return torch.tensor(1.0)


@pytest.mark.parametrize("resets", [False, True])
def test_gradients_that_another_loss_has_left_can_be_reset(resets: bool) -> None:
    model = check().model()
    trained = {
        name: Trained(optimizers=[torch.optim.SGD(one.parameters(), lr=0.1)]) for name, one in model.items()
    }
    own = CustomStep(trained, None, nullcontext())
    own.make(lambda step: generator_first(model, step, resets=resets), lambda: None, [])


def wgan(model: nn.ModuleDict, step: CustomStep) -> torch.Tensor:
    """The second member is updated three times, then the first with the gradients that all three have left."""
    for number in range(3):
        step.backward(model["second"](model["first"](torch.full((2, 3), 1.0 + number))).square().mean())
        step.update("second")
    step.update("first")
    return torch.zeros(())


def trained_by(model: nn.ModuleDict, optimizers: int) -> dict[str, Trained]:
    """Each member with one optimizer, or with one for each parameter."""

    def trained(member: nn.Module) -> Trained:
        parameters = list(member.parameters())
        parts = [parameters] if optimizers == 1 else [[one] for one in parameters]

        def clip() -> None:
            nn.utils.clip_grad_norm_(parameters, 0.5)

        return Trained(optimizers=[torch.optim.SGD(part, lr=0.125) for part in parts], clip=clip)

    return {name: trained(member) for name, member in model.items()}


@pytest.mark.parametrize("optimizers", [1, 2])
def test_under_fp16_several_updates_of_a_member_are_those_without_a_scaler(optimizers: int) -> None:
    found = []
    for scaler in (None, torch.amp.GradScaler("cpu", init_scale=2.0**10)):
        torch.manual_seed(0)
        model = check().model()
        own = CustomStep(trained_by(model, optimizers), scaler, nullcontext())
        for _ in range(4):
            own.make(lambda step, model=model: wgan(model, step), lambda: None, [])  # type: ignore[misc]
        found.append([one.detach().clone() for one in model.parameters()])
        assert scaler is None or scaler.get_scale() == 2.0**10
    for plain, scaled in zip(*found, strict=True):
        assert torch.equal(plain, scaled)  # the scale is a power of two


def test_under_fp16_an_update_that_overflows_is_left_out_and_halves_the_scale_once() -> None:
    model = check().model()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    own = CustomStep(trained_by(model, 1), scaler, nullcontext())
    seen = []

    def thrice(step: CustomStep) -> torch.Tensor:
        for factor in (1.0, float("inf"), 1.0):
            before = model["second"].weight.clone()
            step.backward(model["second"](torch.ones(2, 3)).mean() * factor)
            step.update("second")
            seen.append(torch.equal(before, model["second"].weight))
        return torch.zeros(())

    own.make(thrice, lambda: None, [])
    assert seen == [False, True, False]
    assert scaler.get_scale() == 2.0**9


def test_under_fp16_a_member_without_gradients_is_left_out() -> None:
    model = check().model()
    own = CustomStep(trained_by(model, 1), torch.amp.GradScaler("cpu"), nullcontext())
    before = model["first"].weight.clone()

    def only_the_second(step: CustomStep) -> torch.Tensor:
        step.backward(model["second"](torch.ones(2, 3)).mean())
        step.update()
        return torch.zeros(())

    own.make(only_the_second, lambda: None, [])
    assert torch.equal(model["first"].weight, before)


def test_a_phase_that_does_not_exist_is_refused() -> None:
    own = CustomStep({}, None, nullcontext())
    with pytest.raises(
        ValueError, match=r"step.end\('optimiser'\): the phases are data, forward, backward, optimizer"
    ):
        own.end("optimiser")  # type: ignore[arg-type]


def test_a_step_knows_its_number() -> None:
    own = CustomStep({"": Trained(optimizers=[])}, None, nullcontext())
    seen: list[int] = []

    def step(tools: CustomStep) -> torch.Tensor:
        seen.append(tools.index)
        tools.update()
        return torch.zeros(())

    for _ in range(3):
        own.make(step, lambda: None, [])
    assert seen == [0, 1, 2]
