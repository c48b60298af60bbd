"""If training needs something that the machine lacks, an error says so before a session exists."""

from __future__ import annotations

import json
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from bench.common.error_text import describe
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.session.preflight import question
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from bench.train import preflight

SUITE = """\
title: Asks for much
workload: {name: spiral_mlp}
measure: {warmup: 3, steps: 3}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}
"""


def _problems(folder: Path, *settings: str, data: Path | None = None) -> list[str]:
    (folder / "suite.yaml").write_text(SUITE)
    suite = load_suite(str(folder / "suite.yaml"), Selection(settings=settings))
    planned = plan(suite, Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu"), "session")
    job = question(planned[0].spec) | {"data_root": data and str(data)}
    ours, theirs = Pipe(duplex=False)
    preflight.main(theirs, json.dumps({"jobs": [job], "stacks": str(folder / "stacks")}))
    while isinstance(message := json.loads(ours.recv_bytes()), dict):  # a call that is about to be made
        assert message["cases"] == "case one"
    problems: list[str] = message
    return problems


def test_an_error_is_described_on_one_printable_line() -> None:
    assert describe(ValueError("\x1b[2Jgone\x00\nmore")) == r"ValueError: \x1b[2Jgone\x00"


@pytest.mark.parametrize(
    ("torch_says", "described"),
    [
        (
            "exited unexpectedly with exit code 3. Details are lost.",
            "a loader process ended with exit code 3 before",
        ),
        ("is killed by signal: Killed. ", "a loader process was killed by a signal (Killed) before"),
    ],
)
def test_a_loader_process_that_torch_knows_to_have_ended_is_described(
    torch_says: str, described: str
) -> None:
    error = RuntimeError(f"DataLoader worker (pid 5) {torch_says}")
    assert describe(error).startswith(f"{described} its batches were read: ")


def test_a_parameter_that_the_loss_does_not_use_is_an_error_with_a_remedy_under_ddp() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen, self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
            self.frozen.requires_grad_(False)

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return self.used(self.frozen(values))  # type: ignore[no-any-return]

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = DistributedDataParallel(Half())
        model(torch.ones(1, 2)).sum().backward()
        with pytest.raises(RuntimeError) as refused:
            model(torch.ones(1, 2))
    finally:
        dist.destroy_process_group()
    assert describe(refused.value) == (
        "RuntimeError: Expected to have finished reduction: the loss does not use every trained parameter, and ddp "
        "requires that: take the others out of the model, freeze them, or set strategy: {name: ddp, "
        "find_unused_parameters: true}; trained parameters without gradient, by place: 2, 3"
    )


def test_compiling_without_a_compiler_is_refused(tmp_path: Path) -> None:
    from torch._inductor import config

    with config.patch({"cpp.cxx": ("no-such-compiler",)}):
        assert _problems(tmp_path) == []
        assert _problems(tmp_path, "train.compile=true") == [
            "case one: train.compile: on a CPU it needs a C++ compiler, and none was found: "
            "install g++, or name one in CXX"
        ]


def test_compiling_with_one_is_not(tmp_path: Path) -> None:
    assert _problems(tmp_path, "train.compile=true") == []


def test_a_folder_that_cannot_be_read_is_named_with_its_case(tmp_path: Path) -> None:
    for name in ("ant", "bee"):
        (tmp_path / "train" / name).mkdir(parents=True)
    (tmp_path / "train" / "loop").symlink_to("loop")
    settings = ("workload.name=vit_b_16", "data.source=imagefolder")
    assert _problems(tmp_path, *settings, data=tmp_path) == [
        f"case one: {tmp_path}/train/loop cannot be read: Too many levels of symbolic links"
    ]


TWICE = """
from torch import nn
made = []
class Net:
    def model(self):
        made.append(1)
        if len(made) > MOST: raise KeyError("spent")
        return nn.Linear(2, 1)
    def batch(self, places, keys): return {"x": places[:, None].expand(-1, 2).float()}
    def loss(self, model, batch): return model(batch["x"]).mean()
"""


def test_an_error_in_a_later_call_is_a_problem_with_its_line_too(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TWICE.replace("MOST", "2"))
    settings = (f"workload.name={tmp_path}/net.py:Net", "train.optimizer=RMSprop", "train.checkpointing=true")
    assert _problems(tmp_path, *settings) == [
        "case one: KeyError: 'spent' (in model() of net.py:Net, line 7)"
    ]


def test_a_shipped_workload_validates_on_nothing_if_its_examples_come_from_a_loader(tmp_path: Path) -> None:
    (tmp_path / "loader.py").write_text(
        "import torch\n"
        "def loader(shard):\n"
        "    size = shard.batch_size\n"
        "    return [{'points': torch.zeros(size, 2), 'arms': torch.zeros(size, dtype=torch.int64)}]\n"
    )
    assert _problems(tmp_path, "measure.validate_every=2") == []
    settings = (f"data={tmp_path}/loader.py:loader", "measure.validate_every=2")
    assert _problems(tmp_path, *settings) == [
        "case one: measure.validate_every: spiral_mlp has no examples to validate on: leave the key out, or set it to "
        "0, as with --set measure.validate_every=0"
    ]


PAIR = """
import torch
from torch import nn

class Pair:
    def model(self):
        return nn.ModuleDict({"first": nn.Linear(3, 3), "second": nn.Linear(3, 1)})
    def batch(self, places, keys):
        return {"x": torch.ones(len(places), 3)}
    def loss(self, model, batch):
        return model["second"](model["first"](batch["x"])).mean()
"""


def test_members_have_no_longer_messages(tmp_path: Path) -> None:
    """Each is distributed by itself, also if the workload makes no own steps, which the suite would tell."""
    (tmp_path / "pair.py").write_text(PAIR)
    settings = (
        f"workload={{name: {tmp_path}/pair.py:Pair}}",
        "cases.one.strategy=ddp",
        "cases.one.world=[2]",
    )
    assert _problems(tmp_path, *settings) == []
    (problem,) = _problems(tmp_path, *settings, "measure.wire=[2]")
    assert "measure.wire is for models that are trained as one, and the model of pair.py:Pair is" in problem
