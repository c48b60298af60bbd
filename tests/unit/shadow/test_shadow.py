"""A shadow of one rank of thousands, in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group
from bench.common.byte_sizes import size_text
from bench.common.errors import InputError
from bench.common.process import is_running
from bench.records.run_spec import RunSpec
from bench.shadow.records import Shadow, total_bytes
from bench.shadow.shadow import shadow_of_command, shadows
from tests.shadow_runs import PARAMETERS, runs


def found_together(*asked: tuple[RunSpec, int]) -> list[Shadow]:
    """The shadows of runs and ranks. They share a process, whose import of torch takes longer than they do."""
    found = [one for one in shadows(asked) if isinstance(one, Shadow)]
    assert len(found) == len(asked)
    return found


@pytest.fixture(scope="module")
def of_many_ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shadow]:
    """The shadow of a rank of each case: of the last one under ddp, of the first one under fsdp."""
    cases = {
        "ddp": {"strategy": "ddp", "world": [4096]},
        "fsdp": {"strategy": {"fsdp": {"shard_size": 8}}, "world": [64]},
    }
    ddp, fsdp = runs(tmp_path_factory.mktemp("many"), cases)
    return dict(zip(cases, found_together((ddp, 4095), (fsdp, 0)), strict=True))


def test_a_rank_of_4096_under_ddp_reduces_every_gradient_once(of_many_ranks: dict[str, Shadow]) -> None:
    found = of_many_ranks["ddp"]
    (reduced,) = found.sums()
    assert (reduced.op, reduced.group, reduced.group_size, reduced.group_nodes) == (
        "all_reduce",
        "world",
        4096,
        512,
    )
    assert (reduced.phase, reduced.message_bytes) == ("backward", 4 * PARAMETERS)
    assert {one.micro_batch for one in found.messages} == {1}
    assert (found.parameters, found.memory.parameters) == (PARAMETERS, 4 * PARAMETERS)
    assert found.memory.optimizer >= 8 * PARAMETERS  # AdamW's two moments
    assert Shadow.from_json(found.to_json()) == found


def test_hybrid_sharding_gathers_within_a_node_and_reduces_between_nodes(
    of_many_ranks: dict[str, Shadow],
) -> None:
    found = of_many_ranks["fsdp"]
    gathers = [one for one in found.messages if one.op == "all_gather"]
    assert {(one.group, one.group_size, one.group_nodes) for one in gathers} == {("shard", 8, 1)}
    # each unit for the forward and the backward of two micro-batches
    assert len(gathers) == 2 * 2 * 5
    assert total_bytes(gathers) == 2 * 2 * 4 * PARAMETERS
    reduced = [one for one in found.messages if one.group == "replicate"]
    assert {(one.op, one.group_size, one.group_nodes) for one in reduced} == {("all_reduce", 8, 8)}
    assert total_bytes(reduced) == 4 * PARAMETERS / 8
    assert found.parameters == PARAMETERS / 8


def test_a_shadow_says_why_a_models_flops_cannot_be_counted(tmp_path: Path) -> None:
    (tmp_path / "scaled.py").write_text(
        "import torch\n"
        "from bench.workloads import Workload\n"
        "class Scaled(Workload):\n"
        "    def model(self): return torch.nn.LayerNorm(4)\n"
        "    def batch(self, places, keys): return {'x': torch.ones(len(places), 4)}\n"
        "    def loss(self, model, batch): return model(batch['x']).sum()\n"
    )
    own = {"name": f"{tmp_path}/scaled.py:Scaled"}
    scaled, model = runs(
        tmp_path,
        {
            "scaled": {"strategy": "ddp", "world": [2], "workload": own, "data": {"source": "synthetic"}},
            "model": {"strategy": "ddp", "world": [2]},
        },
    )
    without, counted = shadows([(scaled, 0), (model, 0)], counts_flops=True)
    assert isinstance(without, Shadow)
    assert isinstance(counted, Shadow)
    assert without.flops_per_example is None
    assert without.flops_problem is not None
    assert without.flops_problem.startswith("it has none of the operations that are counted")
    assert counted.flops_problem is None
    assert counted.flops_per_example is not None
    assert counted.flops_per_example > 6 * 16 * 12 * 32 * 32


def test_a_gpu_keeps_the_norms_of_autocast_in_fp32(tmp_path: Path) -> None:
    (spec,) = runs(tmp_path, {"one": {"strategy": "ddp", "world": [2], "train": {"precision": "bf16"}}})
    plain = replace(spec, train=replace(spec.train, precision="fp32"))
    cpu, cuda, plain_cpu, plain_cuda = found_together(
        *((replace(one, device_type=device), 0) for one in (spec, plain) for device in ("cpu", "cuda"))
    )
    assert cuda.memory.activations > cpu.memory.activations
    assert plain_cuda.messages == plain_cpu.messages


def test_offloaded_shards_and_their_optimizer_take_no_memory_of_the_gpu(tmp_path: Path) -> None:
    keys = {"world": [2], "device": "cuda", "batch_per_rank": 2, "workload": {"d_model": 64}}
    plain, offloaded = runs(
        tmp_path,
        {
            "plain": {"strategy": "fsdp", **keys},
            "offloaded": {"strategy": {"fsdp": {"cpu_offload": True}}, **keys},
        },
    )
    memory, of_all = (one.memory for one in found_together((offloaded, 0), (plain, 0)))
    assert (memory.parameters, memory.gradients, memory.optimizer) == (0, 0, 0)
    # the peak of the rest alone is elsewhere than that of the sum
    assert memory.total > of_all.activations + of_all.communication


OFFLOADED = """
from torch import nn
import torch
from bench.workloads import Workload

class Whole(Workload):
    def model(self):
        return nn.Sequential(*(nn.Linear(256, 256) for _ in range(8)))
    def batch(self, places, keys):
        return {"x": torch.zeros(len(places), 256)}
    def loss(self, model, batch):
        return model(batch["x"]).square().mean()
"""


def test_what_an_offloaded_optimizer_makes_takes_no_memory_of_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(OFFLOADED)
    monkeypatch.chdir(tmp_path)
    keys = {"world": [2], "device": "cuda", "train": {"accumulate": 1}, "data": {"source": "synthetic"}}
    cases = {
        f"offloads_{str(offloads).lower()}": {
            **keys,
            "strategy": {"fsdp": {"cpu_offload": offloads}},
            "workload": {"name": "./model.py:Whole"},
        }
        for offloads in (False, True)
    }
    whole, offloaded = (one.memory for one in found_together(*((spec, 0) for spec in runs(tmp_path, cases))))
    # AdamW's temporary tensors are as large as this rank's half of the parameters
    assert whole.activations > whole.parameters > 2 * offloaded.activations


LOOKING = """
from torch import nn
import torch
from bench.workloads import Workload

class Looks(Workload):
    def model(self):
        return nn.Linear(64, 64)
    def batch(self, places, keys):
        return {"x": torch.zeros(len(places), 64)}
    def loss(self, model, batch):
        out = model(batch["x"])
        try:
            out.mean() * READS
        except Exception:
            return out.mean()
"""
READS = {
    "item": "out.max().item()",
    "allclose": "torch.allclose(out, out)",
    "save": "torch.save(out, 'last.pt')",
    "serialization": "torch.serialization.save(out, 'last.pt')",
}


@pytest.fixture(scope="module")
def looking(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Shadow | InputError]]:
    """The folder of models that each read a value, and why there is no shadow, by name in READS."""
    folder = tmp_path_factory.mktemp("looking")
    cases = {}
    for name, reads in READS.items():
        (folder / f"{name}_model.py").write_text(LOOKING.replace("READS", reads))
        own = {"name": f"{folder}/{name}_model.py:Looks"}
        cases[name] = {"strategy": "ddp", "world": [8], "workload": own, "data": {"source": "synthetic"}}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        found = shadows([(spec, 0) for spec in runs(folder, cases)])
    return folder, dict(zip(READS, found, strict=True))


@pytest.mark.parametrize("name", READS)
def test_a_model_that_reads_a_value_is_refused_with_the_line_of_the_read(
    looking: tuple[Path, dict[str, Shadow | InputError]], name: str
) -> None:
    folder, found = looking
    said = rf"{name}: .*{name}_model\.py, line 14: the code reads a value .*: remove it"
    assert isinstance(found[name], InputError)
    assert re.fullmatch(said, str(found[name]))
    assert not (folder / "last.pt").exists()


PRODUCTS = """
from torch import nn
import torch
from bench.workloads import Workload

class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList(torch.ones(2**18) for _ in range(8))
    def forward(self, x):
        for scale in self.scales:
            x = x * scale
        return x

class Layers(Workload):
    counted = False
    def model(self):
        return nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))) if self.counted else Scales()
    def batch(self, places, keys):
        return {"x": torch.zeros(len(places), 512 if self.counted else 2**18)}
    def loss(self, model, batch):
        return model(batch["x"]).square().mean()

class Counted(Layers):
    counted = True
"""


def test_buckets_come_after_the_computation_of_their_gradients_even_if_it_has_no_flops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text(PRODUCTS)
    case = {"strategy": {"ddp": {"bucket_cap_mb": 2}}, "world": [8], "data": {"source": "synthetic"}}
    monkeypatch.chdir(tmp_path)
    names = ("Layers", "Counted")
    cases = {
        name.lower(): {**case, "workload": {"name": f"./model.py:{name}"}, "train": {"accumulate": 1}}
        for name in names
    }
    for found in found_together(*((spec, 0) for spec in runs(tmp_path, cases))):
        sent = found.messages
        shares = [one.computed_before for one in sent]
        assert len(sent) >= 4
        assert not any(one.waits for one in sent)
        assert shares == sorted(shares)
        # eight layers of 1 MiB
        so_far = [total_bytes(sent[: number + 1]) / total_bytes(sent) for number in range(len(sent))]
        assert shares == pytest.approx(so_far, abs=0.13)
        assert shares[-1] == 1.0


SCRIPT = """import gc; gc.disable()  # looking for garbage takes a tenth of its time
import sys, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(64, 64))
optimizer = torch.optim.AdamW(model.parameters())
data = TensorDataset(torch.randn(1_000_000, 64))
for (batch,) in DataLoader(data, batch_size=4, sampler=DistributedSampler(data)):
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def script(folder: Path, text: str) -> list[str]:
    (folder / "train.py").write_text(text)
    return [sys.executable, str(folder / "train.py")]


def test_a_script_of_thousands_of_ranks_reduces_its_gradients(tmp_path: Path) -> None:
    found = shadow_of_command(script(tmp_path, SCRIPT), world_size=4096, ranks_per_node=512)
    (reduced,) = found.sums()
    assert (reduced.op, reduced.phase, reduced.group_size, reduced.group_nodes) == (
        "all_reduce",
        "backward",
        4096,
        8,
    )
    assert reduced.message_bytes == 4 * found.parameters == 4 * (64 * 64 + 64)
    assert found.memory.optimizer >= 2 * found.memory.parameters


def test_a_script_that_logs_its_loss_or_compiles_its_model_says_what_is_assumed(tmp_path: Path) -> None:
    plain = shadow_of_command(script(tmp_path, SCRIPT), world_size=16, ranks_per_node=8)
    logs = SCRIPT.replace(
        "loss.backward()", "loss.backward(); print(loss.item() + 1)\n    assert float(loss) == 1"
    )
    logs = logs.replace("nn.Linear(64, 64)", "torch.compile(nn.Linear(64, 64))")
    found = shadow_of_command(script(tmp_path, logs), world_size=16, ranks_per_node=8)
    train = tmp_path / "train.py"
    kept = "what the script keeps between steps is on the device; a data set in host memory takes none of it"
    assert plain.notes == (kept,)
    assert found.notes == (
        kept,
        "without torch.compile: messages are the same, but compiled code usually needs less memory",
        f"real numbers that a shadow does not compute are read as 1 ({train}, line 15; {train}, line 16)",
    )
    assert found.messages == plain.messages


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("loss.backward()", "print(batch.argmax().item())", r"train\.py, line 15: the code reads a value"),
        (
            "loss.backward()",
            "torch.rand(1).item(); loss.backward()",
            r"train\.py, line 15: the code reads a value",
        ),
        ("loss.backward()", "loss > 0 and loss.backward()", r"train\.py, line 15: the code reads a value"),
        (
            "DataLoader(data, ",
            "DataLoader(data, num_workers=1, collate_fn=lambda items: [items[0][0].sum().item()], ",
            r"train\.py, line 13: the code reads a value",
        ),
        (
            "loss.backward()",
            "torch.save(model.state_dict(), 'last.pt')",
            r"train\.py, line 15: the code reads a value \(torch\.save\)",
        ),
        (
            "loss.backward()",
            "loss.backward(); batch.to_sparse()",
            r"train\.py, line 15: .*layout torch\.sparse_coo, and a shadow counts dense tensors only",
        ),
        (
            "nn.Linear(64, 64)",
            "nn.Linear(64, 64).cuda()",
            r"train\.py, line 10: .*torch\.cuda\.is_available\(\)",
        ),
        (
            "1_000_000",
            "1",
            "ended with exit code 0 after 1 step of an optimizer, and a shadow needs three: give each rank more data",
        ),
        (
            "1_000_000",
            "1 if print('ends', file=sys.stderr) else sys.exit(3)",
            "ended with exit code 3 before the first step of an optimizer: ends: run the command alone to see why",
        ),
        (
            "loss.backward()",
            "import os; os.kill(os.getpid(), 9)",
            "ended with signal 9 before the first step of an optimizer: run the command alone",
        ),
        (
            "optimizer.step()",
            "break",
            "exit code 0 before the first step of an optimizer: a shadow needs a script whose first process calls",
        ),
    ],
)
def test_a_script_that_cannot_go_on_is_refused(tmp_path: Path, before: str, after: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        shadow_of_command(script(tmp_path, SCRIPT.replace(before, after)), world_size=16, ranks_per_node=8)


TORCH_AND_WHAT_IT_NEEDS = (
    "torch", "torchgen", "functorch", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "filelock",
    "typing_extensions.py", "nvidia", "cuda", "triton",
)  # fmt: skip
"""Files and folders of site-packages."""


def python_of(folder: Path, *installed: str) -> str:
    """Another Python, whose site-packages has nothing but these files and folders of ours."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = Path(find_spec("torch").origin).parents[1]
    for name in installed:
        if (ours / name).exists():
            (packages / name).symlink_to(ours / name)
    return str(folder / "bin/python")


def test_a_script_has_the_modules_of_its_own_python_alone(tmp_path: Path) -> None:
    other = python_of(tmp_path / "other", *TORCH_AND_WHAT_IT_NEEDS)
    looks = "from importlib.util import find_spec\nassert not find_spec('setproctitle') and not find_spec('analysis')\n"
    _, file = script(tmp_path, looks + SCRIPT)
    found = shadow_of_command([other, file], world_size=4, ranks_per_node=2)
    assert total_bytes(found.messages) == 4 * (64 * 64 + 64)


@pytest.mark.parametrize("python", [(sys.executable, "-I"), ("env", "-u", "PYTHONPATH", sys.executable)])
def test_a_script_without_its_shadow_waits_for_no_other_rank(tmp_path: Path, python: tuple[str, ...]) -> None:
    _, file = script(tmp_path, SCRIPT)
    options = ["--world", "2", "--timeout", "300", "--results", str(tmp_path / "r")]
    done = CliRunner().invoke(group, ["predict", *options, "--", *python, file])
    assert isinstance(done.exception, InputError), done.output
    assert done.exception.exit_code == 2
    assert "no Python with torch had begun a shadow when it ended with exit code 1: ValueError" in done.output


def test_a_command_that_begins_no_shadow_is_not_taken_for_a_slow_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Python with torch had begun a shadow after 1 s: start"):
        shadow_of_command(["sleep", "100"], world_size=2, ranks_per_node=2, timeout_s=1)


def test_a_python_without_torch_is_named(tmp_path: Path) -> None:
    _, file = script(tmp_path, SCRIPT)
    with pytest.raises(InputError, match="No module named 'torch': start the script with a Python"):
        shadow_of_command([python_of(tmp_path / "bare"), file], world_size=2, ranks_per_node=2)


def test_a_torch_in_which_no_shadow_runs_is_named(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("__version__ = '1.0'")
    own = {"PYTHONPATH": str(tmp_path)}
    with pytest.raises(InputError, match=r"no shadow runs with torch 1\.0 and Python 3.*: start the script"):
        shadow_of_command(script(tmp_path, SCRIPT), world_size=2, ranks_per_node=2, variables=own)


def test_gradients_that_a_script_averages_itself_are_sent_after_backward(tmp_path: Path) -> None:
    plain = SCRIPT.replace("DistributedDataParallel(nn.Linear(64, 64))", "nn.Linear(64, 64)")
    averages = "loss.backward()\n    for one in model.parameters():\n        dist.all_reduce(one.grad)"
    words = script(tmp_path, plain.replace("loss.backward()", averages))
    found = shadow_of_command(words, world_size=4, ranks_per_node=2)
    assert [(one.phase, one.message_bytes) for one in found.messages] == [
        ("optimizer", 4 * 64 * 64),
        ("optimizer", 4 * 64),
    ]


def test_a_data_set_of_a_script_is_no_activation(tmp_path: Path) -> None:
    found = shadow_of_command(script(tmp_path, SCRIPT), world_size=2, ranks_per_node=2)
    assert found.memory.kept == 4 * 1_000_000 * 64
    assert 0 < found.memory.activations < 2**20
    assert len(found.notes) == 1


def test_a_group_without_a_name_is_shown_by_its_ranks(tmp_path: Path) -> None:
    group = "group = dist.new_group([0, 2])\nothers = dist.new_group([0, 1, 3])\n"
    joined = SCRIPT.replace("model = Dis", f"{group}model = Dis")
    reduces = "optimizer.step()\n    dist.all_reduce(batch, group=group)\n    dist.broadcast(batch, 0, group=others)"
    words = script(tmp_path, joined.replace("optimizer.step()", reduces))
    found = shadow_of_command(words, world_size=4, ranks_per_node=2)
    sent = {(one.op, one.group, one.group_size, one.group_nodes) for one in found.messages}
    assert sent == {
        ("all_reduce", "world", 4, 2),
        ("all_reduce", "ranks 0-2 by 2", 2, 2),
        ("broadcast", "ranks 0, 1, 3", 3, 2),
    }


def test_a_process_that_a_script_started_ends_with_its_shadow(tmp_path: Path) -> None:
    started = tmp_path / "started"
    begins = "import subprocess\nhelper = subprocess.Popen(['sleep', '1000'])\n"
    writes = f"open({str(started)!r}, 'w').write(str(helper.pid))\n"
    words = script(tmp_path, begins + writes + SCRIPT)
    found = shadow_of_command(words, world_size=4, ranks_per_node=2)
    assert found.messages
    until_s = time.monotonic() + 60
    while (running := is_running(int(started.read_text()))) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert not running


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import torch\n", r"train\.py cannot be started \(Exec format error\): write `python .*train\.py`"),
        (None, r"train\.py does not exist: correct the path"),
    ],
)
def test_a_file_that_cannot_be_started_is_refused_with_the_remedy(
    tmp_path: Path, content: str | None, said: str
) -> None:
    file = tmp_path / "train.py"
    if content is not None:
        file.write_text(content)
        file.chmod(0o755)
    with pytest.raises(InputError, match=said):
        shadow_of_command([str(file)], world_size=2, ranks_per_node=2)


def test_a_command_that_no_folder_has_is_not_on_path() -> None:
    with pytest.raises(InputError, match="no-such-program is not on PATH"):
        shadow_of_command(["no-such-program"], world_size=2, ranks_per_node=2)


def test_a_case_that_cannot_be_shadowed_leaves_the_others_their_messages(tmp_path: Path) -> None:
    (tmp_path / "looks.py").write_text(LOOKING.replace("READS", READS["item"]))
    own = {"name": f"{tmp_path}/looks.py:Looks"}
    cases = {
        "looks": {"strategy": "ddp", "world": [4], "workload": own, "data": {"source": "synthetic"}},
        "whole": {"strategy": "ddp", "world": [4]},
        "uneven": {
            "strategy": "ddp",
            "world": [2],
            "scaling": "strong",
            "global_batch": 4,
            "batch_per_rank": None,
        },
    }
    runs(tmp_path, cases)
    call = ["predict", str(tmp_path / "miniatures.yaml"), "--world", "1x8", "--results", str(tmp_path / "r")]
    done = CliRunner().invoke(group, [*call, "--messages"])
    assert done.exit_code == 0, done.output
    looks, whole, uneven = done.stdout.split("\n\n")[1:]
    assert "\n8 ranks: no prediction: looks: " in looks
    assert ": the code reads a value" in looks
    assert "\n8 ranks: no prediction: global_batch 4 does not divide" in uneven
    sent = f"backward  world  all_reduce      8      1         1  {size_text(4 * PARAMETERS)}"
    assert whole.splitlines()[-3:] == [
        "8 ranks: messages of a step",
        "phase     group  operation   ranks  nodes  messages    bytes",
        sent,
    ]
    done = CliRunner().invoke(group, [*call, "--json", "--case", "[lu]*"])
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    found = json.loads(done.stdout)["predictions"]
    assert [(bool(one["problem"]), "message_sums" in one) for one in found] == [(True, False)] * 2


def test_a_command_without_data_for_one_size_has_the_messages_of_another(tmp_path: Path) -> None:
    words = script(tmp_path, SCRIPT.replace("1_000_000", "32"))  # four steps of 2 ranks, one step of 8
    options = ["--messages", "--json", "--world", "8,2", "--timeout", "300", "--results", str(tmp_path / "r")]
    done = CliRunner().invoke(group, ["predict", *options, "--", *words])
    assert done.exit_code == 0, done.output
    eight, two = json.loads(done.stdout)["predictions"]
    assert "a shadow needs three" in eight["problem"]
    assert eight["message_sums"] == []
    assert two["message_sums"] == [
        {
            "phase": "backward",
            "group": "world",
            "group_size": 2,
            "group_nodes": 1,
            "op": "all_reduce",
            "messages": 1,
            "message_bytes": two["message_bytes"],
        }
    ]


def test_one_rank_alone_sends_no_messages(tmp_path: Path) -> None:
    runs(tmp_path, {"alone": {"strategy": "ddp", "world": [1]}})
    call = ["predict", str(tmp_path / "miniatures.yaml"), "--messages", "--results", str(tmp_path / "r")]
    done = CliRunner().invoke(group, call)
    assert done.stdout.endswith("1 rank: a step sends no messages\n"), done.output
