"""If training needs something that the machine lacks, an error says so before a session exists."""

from __future__ import annotations

import json
from multiprocessing import Pipe
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import parallel
from torch.nn.parallel import DistributedDataParallel

from bench import strategies
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
    problems, skipped = _answer(folder, *settings, data=data)
    assert skipped == []
    return problems


def _answer(
    folder: Path, *settings: str, data: Path | None = None
) -> tuple[list[str], list[tuple[int, str]]]:
    (folder / "suite.yaml").write_text(SUITE)
    suite = load_suite(str(folder / "suite.yaml"), Selection(settings=settings))
    planned = plan(suite, Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu"), "session")
    job = question(planned[0].spec) | {"data_root": data and str(data)}
    ours, theirs = Pipe(duplex=False)
    preflight.main(theirs, json.dumps({"jobs": [job], "stacks": str(folder / "stacks")}))
    while isinstance(message := json.loads(ours.recv_bytes()), dict):  # a call that is about to be made
        assert message["cases"] == "case one"
    problems, skipped = message
    return problems, [(place, reason) for place, reason in skipped]


def test_a_case_that_the_installed_torch_cannot_run_is_skipped_with_the_version_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = (
        "cases.one.strategy=fsdp",
        "cases.one.scaling=weak",
        "cases.one.world=[2]",
        "measure.wire=[1, 2]",
    )
    assert _answer(tmp_path, *wanted) == ([], [])
    monkeypatch.delattr(FSDPModule, "set_custom_all_gather")
    reason = "FSDP2 lets no one replace its collectives, which measure.wire needs; torch 2.10 does"
    assert _answer(tmp_path, *wanted) == ([], [(0, f"strategy fsdp on torch {torch.__version__}: {reason}")])
    assert _answer(tmp_path, *wanted[:3]) == ([], [])


def test_strategies_name_what_older_versions_of_torch_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_in_torch_2_6(module, device_mesh=None, parallelize_plan=None):
        raise AssertionError

    two_parts = {"tp": 2, "dp_shard": 1}
    assert strategies.lacking("mesh", two_parts, "cpu", wire=False) is None
    monkeypatch.setattr(parallel, "parallelize_module", as_in_torch_2_6)
    assert "torch 2.8 has it" in (strategies.lacking("mesh", two_parts, "cpu", wire=False) or "")
    assert "torch 2.8 has it" in (strategies.lacking("tp", {}, "cuda", wire=False) or "")
    assert strategies.lacking("mesh", {}, "cpu", wire=False) is None
    monkeypatch.setattr(torch.cpu, "Stream", object)
    for name in ("fsdp", "mesh"):
        assert "torch 2.8" in (strategies.lacking(name, {}, "cpu", wire=False) or "")
        assert strategies.lacking(name, {}, "cuda", wire=False) is None
    assert strategies.lacking("ddp", {}, "cpu", wire=True) is None


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
from bench.workloads import Workload
made = []
class Net(Workload):
    def model(self):
        made.append(1)
        if len(made) > MOST: raise KeyError("spent")
        return nn.Linear(2, 1)
    def batch(self, places, keys): return {"x": places[:, None].expand(-1, 2).float()}
    def loss(self, model, batch): return model(batch["x"]).mean()
"""


def test_an_error_in_a_later_call_is_a_problem_with_its_line_too(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TWICE.replace("MOST", "2"))
    (problem,) = _problems(tmp_path, f"workload.name={tmp_path}/net.py:Net", "train.checkpointing=true")
    first, *traceback = problem.splitlines()
    assert first == "case one: net.py:8, in model: KeyError: 'spent'"
    assert (traceback[0], traceback[-1]) == ("Traceback (most recent call last):", "KeyError: 'spent'")
