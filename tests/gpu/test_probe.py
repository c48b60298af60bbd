"""The probe in scripts on stand-in GPUs: the device that its marks are on, and CUDA graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from bench.command.rank import PROBE_FOLDER
from bench.measure import recorder
from bench.measure.recorder import StepRows
from tests.e2e.processes import KEEPS_GARBAGE
from tests.gpu.conftest import TIMEOUT_S, Gpus

STEPS = 4
BEGIN = f"""{KEEPS_GARBAGE}
import torch
from torch import nn
import bench_probe
import bench_probe.record

def device():
    print("DEVICE", bench_probe.record.RECORDER.device.device)
"""


def run(gpus: Gpus, text: str) -> tuple[StepRows, dict[str, Any], str]:
    """The rows of a script, the facts that the probe wrote at its end, and its output."""
    job = {
        "scratch": str(gpus.folder), "rank": 0, "identity": {}, "warmup": 1, "steps": STEPS, "profiled": 0,
    }  # fmt: skip
    probe = {"BENCH_PROBE": json.dumps(job), "PYTHONPATH": str(PROBE_FOLDER)}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + text], cwd=gpus.folder, env=gpus.environment() | probe, text=True,
        capture_output=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads((gpus.folder / "outcome.rank0.json").read_text())
    return recorder.read(gpus.folder / "steps.rank0.raw"), outcome, done.stdout


@pytest.mark.parametrize(
    ("devices", "chosen"),
    [
        (("cuda:1",), "cuda:1"),  # and the current device is another
        (("cuda:2", "cuda:1"), "cuda:1"),  # a model in parts
        (("cuda:10", "cuda:2"), "cuda:2"),
        (("cpu", "cuda:1"), "cuda:1"),  # a part of it on the host
        (("cpu",), "cpu"),  # also if the script uses a GPU for another purpose
    ],
)
def test_the_marks_are_on_the_gpu_that_holds_the_parameters(
    gpus: Gpus, devices: tuple[str, ...], chosen: str
) -> None:
    gpus.count = 12
    rows, outcome, log = run(
        gpus,
        f"""
torch.ones(1, device="cuda:3")
parts = [nn.Parameter(torch.empty(1 << 20, device=device)) for device in {devices}]
optimizer = torch.optim.SGD(parts, lr=0.1)
for _ in range(100):
    torch.autograd.backward([part.square().mean() for part in parts])
    optimizer.step()
    device()
""",
    )
    assert log.split()[-1] == chosen
    assert outcome["device_name"] == (None if chosen == "cpu" else "NVIDIA A100-SXM4-80GB")
    if chosen != "cpu":
        assert rows.column("memory_allocated_bytes").min() >= 4 << 20  # of the part there


def test_without_an_optimizer_of_torch_the_marks_are_on_the_current_gpu(gpus: Gpus) -> None:
    _, outcome, log = run(
        gpus,
        """
torch.cuda.set_device(1)
weights = torch.empty(8, device="cuda")
for _ in range(100):
    weights.mul_(0.5)
    bench_probe.step(loss=0.5, examples=1)
    device()
""",
    )
    assert log.split()[-1] == "cuda:1"
    assert outcome["device_name"] == "NVIDIA A100-SXM4-80GB"


CAPTURED = """
net = nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batch = torch.empty(8, 64, device="cuda")
def train():
    optimizer.zero_grad(set_to_none=False)
    net(batch).square().mean().backward()
    optimizer.step()
stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
with torch.cuda.stream(stream):
    for _ in range(2):
        train()
torch.cuda.synchronize()
"""


def test_a_step_that_is_captured_is_no_step(gpus: Gpus) -> None:
    """A mark in a capture would become a part of the graph, and could never be read."""
    gpus.settings["graphs"] = 1
    rows, outcome, log = run(
        gpus,
        CAPTURED
        + """
with torch.cuda.graph(graph, stream=stream):
    train()
    train()
print("CAPTURED", bench_probe.record.RECORDER.counting.taken)
for _ in range(100):
    graph.replay()
    train()
""",
    )
    assert "CAPTURED 1\n" in log
    assert len(rows.column("kind")) == 1 + STEPS
    assert rows.column("backward_ns").min() > 0
    assert outcome["command"]["steps"] == 1 + STEPS


def test_a_graph_that_cannot_be_captured_does_not_end_the_recording(gpus: Gpus) -> None:
    rows, _, log = run(
        gpus,
        CAPTURED
        + """
try:
    with torch.cuda.graph(graph, stream=stream):
        train()
except RuntimeError:
    print("NOT CAPTURED")
for _ in range(100):
    train()
""",
    )
    assert "NOT CAPTURED" in log
    assert len(rows.column("kind")) == 1 + STEPS
