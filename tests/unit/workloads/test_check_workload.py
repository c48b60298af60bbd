"""A user's workload is tried before anything starts; an error gives the method's name."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import nn

from bench.common.errors import InputError
from bench.train.check_workload import checked
from bench.train.error_place import place_of
from bench.workloads._custom import WORKLOAD


class Net:
    """Right in every part; each test spoils one."""

    dataset_size = 10
    validation_size = 4

    def prepare(self) -> None:
        self.examples = torch.randn(14, 3, generator=torch.Generator().manual_seed(0))

    def model(self) -> Any:
        return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Any:
        return {"x": self.examples[places]}

    def loss(self, model: Any, batch: Any) -> Any:
        return model(batch["x"]).square().mean()


def check(strategy: str = "ddp", **parts: Any) -> Any:
    kind: Any = WORKLOAD.complete(type("Net", (Net,), parts), "my_model.py:Net")
    return checked(lambda: kind(kind.Options(), "synthetic", None, 0), "/somewhere/my_model.py:Net", strategy)


def raises(*_: Any) -> None:
    raise KeyError("vocabulary")


def test_three_methods_are_a_whole_workload_and_the_rest_has_defaults() -> None:
    made = check()
    model = made.model()
    assert (made.sources, made.tokens_per_example, made.seed) == (("synthetic",), None, 0)
    assert made.blocks(model) == [model[0], model[2]]  # a model without parameters cannot be sharded
    assert torch.equal(made.validation_batch([0, 3])["x"], made.examples[[10, 13]])


def test_a_builtin_as_a_method_does_not_say_what_it_takes_and_is_let_through() -> None:
    kind: Any = WORKLOAD.complete(type("Net", (Net,), {"loss": staticmethod(torch.dot)}), "my_model.py:Net")
    assert kind.loss is torch.dot


def test_layers_of_a_list_are_units_and_parts_that_share_parameters_are_none() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(7, 3)
            self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ModuleDict({"a": nn.Linear(3, 3)})])
            self.scales = nn.ParameterList([torch.ones(3)])
            self.head = nn.Linear(3, 7, bias=False)
            self.head.weight = self.embedding.weight

    model: Any = Tied()
    assert check().blocks(model) == [model.layers[0], model.layers[1]["a"]]


def leaves(*_: Any) -> None:
    raise SystemExit("bye")


def interrupts(*_: Any) -> None:
    raise KeyboardInterrupt


def test_without_an_evaluation_of_its_own_the_held_out_loss_is_the_loss() -> None:
    made = check()
    model = made.model()
    losses, correct = made.evaluate(model, made.validation_batch([0, 1, 2, 3]))
    assert losses.shape == (4,)
    assert correct is None
    torch.testing.assert_close(losses.mean(), model(made.examples[10:]).square().mean())


@pytest.mark.parametrize(
    ("parts", "method", "said"),
    [
        ({"__init__": raises}, "__init__()", "raised KeyError: 'vocabulary'"),
        ({"prepare": lambda self: raises()}, "prepare()", "raised KeyError: 'vocabulary'"),
        ({"model": leaves}, "model()", "raised SystemExit: bye"),
        ({"batch": lambda self, places, keys: leaves()}, "batch()", "raised SystemExit: bye"),
        (
            {"loss": lambda self, model, batch: interrupts()},
            "loss()",
            "raised KeyboardInterrupt: no message",
        ),
        ({"dataset_size": 0}, "dataset_size", "is 0: give a whole number, 1 or more"),
        ({"validation_size": 0.5}, "validation_size", "is 0.5"),
        ({"tokens_per_example": 0}, "tokens_per_example", "is 0"),
        ({"model": lambda self: [nn.Linear(3, 1)]}, "model()", "returned a list: give a torch.nn.Module"),
        ({"model": lambda self: nn.ReLU()}, "model()", "returned a module without parameters"),
        ({"model": lambda self: nn.Linear(3, 1, device="meta")}, "model()", "has parameters on meta"),
        ({"blocks": lambda self, model: [nn.Linear(3, 3)]}, "blocks()", "returned a Linear at place 0"),
        ({"blocks": lambda self, model: [model]}, "blocks()", "which is not a submodule of the given model"),
        (
            {
                "model": lambda self: nn.ModuleList([nn.ModuleList([nn.Linear(3, 1)])]),
                "blocks": lambda _, model: model,
            },
            "blocks()",
            "returned a ModuleList at place 0, which has no forward of its own: give its parts",
        ),
        ({"blocks": lambda self, model: None}, "blocks()", "returned None: give a list"),
        (
            {"batch": lambda self, places, keys: self.examples[places]},
            "batch()",
            "returned a tensor of shape [2, 3]: give a dict of tensors",
        ),
        (
            {"batch": lambda self, places, keys: {"x": [1, 2]}},
            "batch()",
            "returned {'x': 'a list'}: give a dict of tensors",
        ),
        (
            {"batch": lambda self, places, keys: {"x": torch.ones(7, 3)}},
            "batch()",
            "returned x [7, 3] for 2 places: give 2 examples",
        ),
        (
            {"batch": lambda self, places, keys: {"x": torch.ones(2, 3, device="meta")}},
            "batch()",
            "returned x on meta: give CPU tensors",
        ),
        ({"dataset_size": 50}, "batch()", "raised IndexError: index 49 is out of bounds"),
        (
            {"loss": lambda self, model, batch: model(batch["x"]).square().squeeze(1)},
            "loss()",
            "returned shape [2]: give one scalar, the mean over the batch",
        ),
        ({"loss": lambda self, model, batch: 0.5}, "loss()", "returned a float: give a tensor"),
        (
            {"loss": lambda self, model, batch: model(batch["x"]).mean().detach()},
            "loss()",
            "returned a tensor without gradient",
        ),
        ({"loss": lambda self, model, batch: model(batch["y"]).mean()}, "loss()", "raised KeyError: 'y'"),
        ({"validation_size": 5}, "validation_batch()", "raised IndexError: index 14 is out of bounds"),
        (
            {"evaluate": lambda self, model, batch: model(batch["x"]).mean()},
            "evaluate()",
            "returned a tensor of shape []",
        ),
        (
            {"evaluate": lambda self, model, batch: (model(batch["x"]), None)},
            "evaluate()",
            "returned a tensor of shape [2, 1] as loss for 2 examples: give one number for each",
        ),
        (
            {"evaluate": lambda self, model, batch: (batch["x"][:, 0], 0.9)},
            "evaluate()",
            "returned a float as correctness for 2 examples",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_method(parts: dict[str, Any], method: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        check(**parts)
    assert str(refused.value).startswith(f"{method} of my_model.py:Net ")
    assert said in str(refused.value)


class Graph:
    """A batch's part that is no tensor and can be moved."""

    def __init__(self, edges: torch.Tensor) -> None:
        self.edges = edges

    def to(self, device: Any, *, non_blocking: bool = False) -> Graph:
        return Graph(self.edges.to(device, non_blocking=non_blocking))


def test_a_part_of_a_batch_may_be_anything_that_can_be_moved() -> None:
    parts: dict[str, Any] = {
        "batch": lambda self, places, keys: {"graph": Graph(torch.ones(7, 3))},
        "loss": lambda self, model, batch: model(batch["graph"].edges).square().mean(),
    }
    check(**parts, validation_size=0)
    with pytest.raises(
        InputError, match=r"evaluate\(\) of .*no tensor whose first dimension counts the examples"
    ):
        check(**parts)


def test_a_loss_may_be_a_dict_that_names_others() -> None:
    def loss(_: Any, model: Any, batch: Any) -> Any:
        found = model(batch["x"]).square().mean()
        return {"loss": found, "half": found / 2}

    check(loss=loss)


@pytest.mark.parametrize(
    ("losses", "problem"),
    [
        (
            {"other": torch.tensor(1.0)},
            r"loss\(\) of .* returned the losses other: name the one to train `loss`",
        ),
        ({}, "returned the losses of an empty dict: name the one to train `loss`"),
        (
            {"loss": torch.tensor(1.0), "x" * 33: 1},
            "names a loss 'x+': give a name of 1 to 32 ASCII characters",
        ),
        ({"loss": torch.tensor(1.0), "Löss": 1}, "names a loss 'Löss': give a name"),
        (
            {"loss": torch.tensor(1.0), "all": torch.ones(2)},
            r"the loss all as shape \[2\]: give one scalar tensor",
        ),
    ],
)
def test_a_dict_of_losses_that_cannot_be_kept_is_refused(losses: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        check(loss=lambda *_: losses)


def test_an_error_is_said_with_its_line_in_the_users_file() -> None:
    kind: Any = WORKLOAD.complete(type("Net", (Net,), {"dataset_size": 50}), f"{__file__}:Net")
    with pytest.raises(InputError) as refused:
        checked(lambda: kind(kind.Options(), "synthetic", None, 0), f"{__file__}:Net", "ddp")
    line = inspect.getsourcelines(Net.batch)[1] + 1
    said = str(refused.value)
    assert said.startswith(
        "batch() of test_check_workload.py:Net raised IndexError: index 49 is out of bounds"
    )
    assert said.endswith(f" (line {line})")


WHY = "; places go up to dataset_size - 1, and dataset_size is 4,096 unless the class sets it"


@pytest.mark.parametrize("says", [False, True])
def test_of_too_short_a_data_set_it_is_said_where_the_places_come_from(says: bool) -> None:
    class Short:
        def __init__(self, *_: Any) -> None:
            if says:
                self.dataset_size = 4_096

        model, loss = Net.model, Net.loss

        def batch(self, places: Any, keys: Any) -> Any:
            return {"x": torch.zeros(10, 3)[places]}

    kind: Any = WORKLOAD.complete(Short, "my_model.py:Short")
    with pytest.raises(InputError, match="IndexError: index 4095 is out of bounds") as refused:
        checked(lambda: kind(kind.Options(), "synthetic", None, 0), "my_model.py:Short", "ddp")
    assert str(refused.value).endswith(WHY) is not says


def test_a_loss_that_is_not_finite_is_no_mistake_of_the_class() -> None:
    check(loss=lambda self, model, batch: model(batch["x"]).mean() * float("nan"))


def test_a_loss_that_gathers_from_all_ranks_is_left_to_the_run() -> None:
    def loss(self: Any, model: Any, batch: Any) -> Any:
        torch.distributed.all_reduce(torch.ones(1))
        return None

    check(loss=loss)


def large() -> nn.Module:
    return nn.Sequential(*[nn.Linear(8_000, 8_000, bias=False) for _ in range(2)])


def test_a_large_model_is_looked_at_where_it_takes_no_memory() -> None:
    def batch(self: Any, places: Any, keys: Any) -> Any:
        return {"x": torch.zeros(len(places), 8_000)}

    devices = []

    def loss(self: Any, model: Any, batch: Any) -> Any:
        devices.append(batch["x"].device.type)
        return model(batch["x"])

    with pytest.raises(InputError, match=r"loss\(\) of my_model.py:Net returned shape \[2, 8000\]"):
        check(model=lambda self: large(), batch=batch, loss=loss)
    assert set(devices) == {"meta"}
    check(model=lambda self: large(), batch=batch, loss=lambda self, model, batch: batch["x"].sum().item())


def test_the_check_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    check()
    assert torch.equal(torch.get_rng_state(), before)


def test_an_error_in_a_run_says_which_method_and_line_it_came_from() -> None:
    def of(error: Exception, workload: str) -> str:
        try:
            raise error
        except ValueError as raised:
            return place_of(raised, workload)

    class Own:
        def loss(self) -> None:
            raise ValueError("no such class")

    with pytest.raises(ValueError, match="no such class") as raised:
        Own().loss()
    line = raised.traceback[-1].lineno + 1
    assert (
        place_of(raised.value, f"{__file__}:Own")
        == f" (in loss() of test_check_workload.py:Own, line {line})"
    )
    assert place_of(raised.value, "/elsewhere/net.py:Own") == place_of(raised.value, "spiral_mlp") == ""
    assert of(ValueError(), f"{__file__}:Own") == ""


class Layer(nn.Module):
    """A layer with layers of its own, two of which are alike."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Sequential(nn.Linear(3, 3)), nn.Sequential(nn.Linear(3, 3))])


class Decoder(nn.Module):
    """A language model's shape: blocks inside a body, and a head that shares the embedding's parameters."""

    def __init__(self, many: type[nn.ModuleList] | type[nn.Sequential]) -> None:
        super().__init__()
        self.body = nn.Module()
        self.body.embedding = nn.Embedding(7, 3)
        self.body.blocks = many(*[[Layer(), Layer()]] if many is nn.ModuleList else [Layer(), Layer()])
        self.body.norm = nn.LayerNorm(3)
        self.head = nn.Linear(3, 7, bias=False)
        self.head.weight = self.body.embedding.weight


@pytest.mark.parametrize("many", [nn.ModuleList, nn.Sequential])
def test_repeated_layers_are_units_wherever_they_are(many: Any) -> None:
    model: Any = Decoder(many)
    assert check().blocks(model) == [*model.body.blocks, model.body.norm]


def test_a_model_that_is_a_sequence_of_layers_has_each_as_a_unit() -> None:
    model = nn.Sequential(Layer(), Layer())
    assert check().blocks(model) == list(model)


class Parted(nn.Module):
    """Its parts can be used one by one, as long as nothing wraps it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def __getitem__(self, name: str) -> nn.Parameter:
        return self.weight

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encode(x)


@pytest.mark.parametrize(
    ("loss", "problem"),
    [
        (
            lambda _, model, batch: (batch["x"] * model.weight).mean(),
            "AttributeError: 'Wrapper' object has no attribute 'weight'",
        ),
        (
            lambda _, model, batch: (batch["x"] * model["a"]).mean(),
            "TypeError: 'Wrapper' object is not subscriptable",
        ),
        (
            lambda _, model, batch: model.encode(batch["x"]).mean(),
            "AttributeError: 'Wrapper' object has no attribute 'encode'",
        ),
    ],
)
def test_a_loss_that_takes_the_model_apart_is_refused_if_the_strategy_wraps_it(
    loss: Any, problem: str
) -> None:
    parts: dict[str, Any] = {"model": lambda _: Parted(), "loss": loss}
    check("single", **parts)
    check("fsdp", **parts)
    with pytest.raises(InputError) as refused:
        check("ddp", **parts)
    text = str(refused.value)
    assert text.startswith(f"loss() of my_model.py:Net does more with the model than call it: {problem}")
    assert text.endswith("can only be called: move this into its forward, or use another strategy")


def test_so_is_a_validation_that_does() -> None:
    def evaluate(_: Any, model: Any, batch: Any) -> Any:
        return (batch["x"] * model.weight).mean(dim=1), None

    with pytest.raises(
        InputError, match=r"evaluate\(\) of my_model.py:Net does more with the model than call it"
    ):
        check(model=lambda _: Parted(), evaluate=evaluate)


def test_a_validation_may_ask_whether_the_model_is_training() -> None:
    def evaluate(_: Any, model: Any, batch: Any) -> Any:
        assert not model.training
        return model(batch["x"]).mean(dim=1), None

    check(model=lambda _: Parted(), evaluate=evaluate)


def test_a_loss_may_read_what_a_wrapper_has_too() -> None:
    def loss(_: Any, model: Any, batch: Any) -> Any:
        return (
            model(batch["x"]).mean()
            + sum(part.square().sum() for part in model.parameters()) * model.training
        )

    check(loss=loss)
