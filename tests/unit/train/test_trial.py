"""One step with a class of the suite's own, before a session exists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch

from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.session.preflight import question
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.train import preflight, trial

NET = """
import torch
from torch import nn
from bench.workloads import Workload

class Net(Workload):
    def model(self):
        return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))

    def batch(self, places, keys):
        return {"x": torch.stack([places, keys], dim=1).float()}

    def loss(self, model, batch):
        return model(batch["x"]).square().mean()
"""
STRATEGY = """
import copy
from bench.strategies import Strategy

class Mine(Strategy):
    def wrap(self, model, blocks, *, device, precision):
        return model.to(device)
"""
SUITE = """\
title: Own
measure: {warmup: 1, steps: 2}
cases:
  - {name: one, workload: {name: ./net.py:Net}, strategy: STRATEGY, scaling: none, batch_per_rank: 4, world: [1]}
"""


@pytest.fixture(autouse=True)
def _random_numbers_stay() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        yield


def problems(
    folder: Path, net: str = NET, strategy: str = "ddp", *settings: str, mine: str = STRATEGY
) -> list[str]:
    (folder / "net.py").write_text(net)
    (folder / "mine.py").write_text(mine)
    (folder / "suite.yaml").write_text(SUITE.replace("STRATEGY", strategy))
    suite = load_suite(str(folder / "suite.yaml"), Selection(settings=settings))
    (run, *_) = plan(suite, Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu"), "session")
    ours, theirs = Pipe(duplex=False)
    preflight.main(theirs, json.dumps({"jobs": [question(run.spec)], "stacks": str(folder / "stacks")}))
    while isinstance(message := json.loads(ours.recv_bytes()), dict):  # a call that is about to be made
        assert message["cases"] == "case one"
    found: list[str] = message[0]
    return found


@pytest.mark.parametrize("strategy", ["single", "ddp", "fsdp", "./mine.py:Mine"])
def test_a_model_its_batches_and_its_loss_are_enough(tmp_path: Path, strategy: str) -> None:
    assert problems(tmp_path, NET, strategy, "train.clip_norm=1.0", "train.precision=bf16") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("    def loss", "    def lost"), "TypeError: Can't instantiate abstract class Net"),
        (('["x"])', '["y"])'), "net.py:14, in loss: KeyError: 'y'"),
        ((".square()", ".no_such()"), "net.py:14, in loss: AttributeError: 'Tensor' object has no attribute"),
        (("model(batch", "model[0](batch"), "net.py:14, in loss: TypeError: 'DistributedDataParallel' object"),
        (("class Net(Workload):", "class Net(Workload):\n    def prepare(self): 1 / 0"), "net.py:7, in prepare: Zero"),
        (("self, places, keys", "self"), "TypeError: Net.batch() takes 1 positional argument but 3 were given"),
        (
            ("class Net(Workload):", "class Net(Workload):\n    def examples_in(self, batch): return 0.5"),
            "TypeError: examples_in() returned 0.5: return a whole number, 1 or more",
        ),
        (
            (
                "class Net(Workload):",
                "class Net(Workload):\n    validation_size = 3\n    def evaluate(self, *_): 1 / 0",
            ),
            "net.py:8, in evaluate: ZeroDivisionError: division by zero",
        ),
        (
            (
                "class Net(Workload):",
                "class Net(Workload):\n    validation_size = 3\n"
                "    def evaluate(self, model, batch): return self.loss(model, batch), None",
            ),
            "ValueError: evaluate() of net.py:Net returned shape [] for 2 examples: return a number for each",
        ),
        (
            (
                "class Net(Workload):",
                "class Net(Workload):\n    validation_size = 3\n"
                "    def evaluate(self, model, batch): return batch['x'].sum(1), batch['x'].sum(1)",
            ),
            "ValueError: evaluate() of net.py:Net returned a score outside of 0 to 1: return a fraction",
        ),
    ],
)  # fmt: skip
def test_a_wrong_workload_is_refused_with_its_line_the_error_and_the_traceback(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert change[0] in NET
    (problem,) = problems(tmp_path, NET.replace(*change))
    first, second, *_ = problem.splitlines()
    assert first.startswith(f"case one: {said}")
    assert second == "Traceback (most recent call last):"


COUNT = "set it to a whole number, at least"
LOSS = (
    "return the mean loss over the examples, a tensor of one number that follows from what the model returned"
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tokens_per_example = -7", "tokens_per_example of net.py:Net is -7: set it to a number, above 0 and at most"),
        ("tokens_per_example = 'many'", "tokens_per_example of net.py:Net is 'many': set it to a number"),
        ("dataset_size = 0", f"dataset_size of net.py:Net is 0: {COUNT} 1 and at most 1,000,000,000,000,000"),
        ("dataset_size = -4", f"dataset_size of net.py:Net is -4: {COUNT} 1"),
        ("dataset_size = 64.0", f"dataset_size of net.py:Net is 64.0: {COUNT} 1"),
        ("dataset_size = property(lambda self: None)", f"dataset_size of net.py:Net is None: {COUNT} 1"),
        ("validation_size = -3", f"validation_size of net.py:Net is -3: {COUNT} 0"),
        ("largest_validation_batch = 0", f"largest_validation_batch of net.py:Net is 0: {COUNT} 1"),
        (
            ("torch.stack([places, keys], dim=1)", "torch.stack([places, keys], dim=1)[:1]"),
            "batch() of net.py:Net was asked for 2 examples and returned tensors whose first dimension is 1: return an "
            "example for each place; if batches differ in size, write examples_in, which counts the examples of",
        ),
        ((".float()}", ".float()}.keys()"), "batch() of net.py:Net returned dict_keys: return a dict of tensors"),
        (("return nn.Sequential", "return print"), "model() of net.py:Net returned NoneType: return a torch.nn.Module"),
        (
            ("nn.Linear(3, 1))", "nn.Linear(3, 1)).requires_grad_(False)"),
            "model() of net.py:Net returned a model without parameters to train: return one with a parameter that",
        ),
        (("nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)", "nn.ReLU()"), "model() of net.py:Net returned a model with"),
        (('model(batch["x"]).square().mean()', "0.5"), f"loss() of net.py:Net returned float: {LOSS}"),
        ((".mean()", ""), f"loss() of net.py:Net returned a tensor of shape [2, 1]: {LOSS}"),
        ((".mean()", ".mean().detach()"), f"loss() of net.py:Net returned a tensor without gradient: {LOSS}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("largest", [0, 50_000_000])
def test_a_wrong_fact_or_answer_of_the_class_is_refused_also_of_a_large_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str | tuple[str, str], said: str, largest: int
) -> None:
    if isinstance(change, str):
        change = ("class Net(Workload):", f"class Net(Workload):\n    {change}")
    assert change[0] in NET
    monkeypatch.setattr(trial, "LARGEST_PARAMETERS", largest)
    (problem,) = problems(tmp_path, NET.replace(*change))
    assert problem.startswith(f"case one: {said}")
    assert "Traceback" not in problem


def test_a_class_that_counts_its_examples_may_return_fewer(tmp_path: Path) -> None:
    counts = (
        NET.replace("dim=1)", "dim=1)[:1]")
        + "    def examples_in(self, batch):\n        return len(batch['x'])\n"
    )
    assert problems(tmp_path, counts) == []


@pytest.mark.parametrize(
    ("net", "strategy", "said"),
    [
        ("metric = 5", "", "metric of net.py:Net is 5: set it to a name of up to 32 letters and digits, such as Dice"),
        ("sources = 'synthetic'", "", "sources of net.py:Net is 'synthetic': set it to a list of text"),
        (
            "class Options:\n        width = 3",
            "",
            "Options of net.py:Net is <class 'bench_custom_net.Net.Options'>: set it to a class under @dataclass(",
        ),
        ("", "max_world_size = 'two'", "max_world_size of mine.py:Mine is 'two': set it to a whole number, at least 1"),
        ("", "conflicts = lambda *_: None", "conflicts() of mine.py:Mine returned None: return a list of (text, text)"),
        ("", "conflicts = lambda *_: [5]", "conflicts() of mine.py:Mine returned [5]: return a list of (text, text)"),
        ("", "misfit = lambda *_: 5", "misfit() of mine.py:Mine returned 5: return text, or None"),
        ("", "misfit = lambda *_: True", "misfit() of mine.py:Mine returned True: return text, or None"),
        ("", "needs_tp_plan = lambda *_: 1", "needs_tp_plan() of mine.py:Mine returned 1: return True or False"),
    ],
)  # fmt: skip
def test_what_a_plan_asks_of_a_class_is_refused_before_the_trial(
    tmp_path: Path, net: str, strategy: str, said: str
) -> None:
    own = NET.replace("class Net(Workload):", f"class Net(Workload):\n    {net or 'x = 1'}")
    mine = STRATEGY.replace("class Mine(Strategy):", f"class Mine(Strategy):\n    {strategy or 'x = 1'}")
    with pytest.raises(InputError) as refused:
        problems(tmp_path, own, "./mine.py:Mine", mine=mine)
    assert said in str(refused.value)


def test_a_data_set_that_is_shorter_than_dataset_size_is_found(tmp_path: Path) -> None:
    short = NET.replace('{"x": torch', '{"y": torch.zeros(100)[places], "x": torch')
    (problem,) = problems(tmp_path, short)
    assert problem.startswith("case one: net.py:11, in batch: IndexError: index 4095 is out of bounds")
    own = "class Net(Workload):\n    dataset_size = 100"
    assert problems(tmp_path, short.replace("class Net(Workload):", own)) == []


def test_a_wrong_strategy_is_refused_too(tmp_path: Path) -> None:
    fails = STRATEGY.replace("return model", "raise ValueError('no')\n        return model")
    (problem,) = problems(tmp_path, NET, "./mine.py:Mine", mine=fails)
    assert problem.startswith(
        "case one: mine.py:7, in wrap: ValueError: no\nTraceback (most recent call last):\n"
    )
    copies = STRATEGY.replace("return model", "return copy.deepcopy(model)")
    assert problems(tmp_path, NET, "./mine.py:Mine", mine=copies) == [
        "case one: wrap() of mine.py:Mine returned a module with other parameters than the model's, which would not be "
        "trained: change the model in place"
    ]


def test_a_strategy_that_one_rank_is_too_few_for_leaves_the_step_to_the_run(tmp_path: Path) -> None:
    needs_two = STRATEGY.replace("return model", "raise ValueError('one rank')\n        return model") + (
        "    @staticmethod\n"
        "    def misfit(options, world_size, device_type):\n"
        "        return 'too few' if world_size < 2 else None\n"
    )
    world = ("cases.one.world=[2]",)
    assert problems(tmp_path, NET, "./mine.py:Mine", *world, mine=needs_two) == []
    # of another length: Python's cache knows a file by its second and its size
    lost = NET.replace('["x"])', '["target"])')
    (problem,) = problems(tmp_path, lost, "./mine.py:Mine", *world, mine=needs_two)
    assert problem.startswith("case one: net.py:14, in loss: KeyError: 'target'")


def test_a_large_model_takes_its_step_on_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "LARGEST_PARAMETERS", 4)
    assert problems(tmp_path) == []
    reads = NET.replace(".mean()", ".mean() * batch['x'].max().item()")
    assert problems(tmp_path, reads) == []
    (problem,) = problems(tmp_path, NET.replace('["x"])', '["target"])'))
    assert problem.startswith("case one: net.py:14, in loss: KeyError: 'target'")
