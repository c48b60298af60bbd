"""Scripts of a user on stand-in GPUs: nothing in a step waits for the device."""

from __future__ import annotations

import sys

from tests.e2e.processes import KEEPS_GARBAGE
from tests.gpu.conftest import Gpus
from tests.unit.analysis.conftest import ask

SCRIPT = f"""{KEEPS_GARBAGE}
import os, torch
from torch import distributed, nn

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
distributed.init_process_group("nccl")
model = nn.parallel.DistributedDataParallel(nn.Linear(64, 64).cuda(), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    if step == 2:
        torch.cuda.set_sync_debug_mode("error")
    batch = torch.empty(8, 64, device="cuda")
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
"""


def test_the_probe_waits_for_nothing_in_a_step(gpus: Gpus) -> None:
    (gpus.folder / "train.py").write_text(SCRIPT)
    short = ("--session", "s", "--world", "1,2", "--repeats", "1", "--warmup", "3", "--steps", "8")
    done = gpus.bench("run", *short, "--device", "cuda", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ask(gpus.results, "SELECT DISTINCT status, ranks_train FROM runs") == [
        {"status": "ok", "ranks_train": None}
    ]
    (steps,) = ask(
        gpus.results,
        "SELECT count(*) AS n, min(forward_ns) > 0 AND min(backward_ns) > 0 AND min(optimizer_ns) > 0 AS has_phases, "
        "min(memory_allocated_bytes) > 0 AS has_memory FROM steps WHERE kind <> 'profiled'",
    )
    assert steps == {"n": 3 * 11, "has_phases": True, "has_memory": True}
