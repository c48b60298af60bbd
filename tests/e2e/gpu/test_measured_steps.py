"""The measured loop on a GPU: the host never waits in it, and its clock agrees with the host's over many steps."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

PROGRAM = Path(__file__).with_name("measured_steps.py")
PHASES = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")
STEPS = 50
SMALL: dict[str, dict[str, Any]] = {
    "ddpm_unet": {"base_channels": 32, "channel_multipliers": [1, 2], "image_size": 16, "dropout": 0.1},
    "transformer_lm": {"layers": 2, "d_model": 128, "heads": 4, "sequence_length": 64, "vocab_size": 512},
    "resnet50": {"image_size": 64, "classes": 10, "layers": [1, 1, 1, 1]},
}
TRAIN: dict[str, dict[str, Any]] = {
    "as_it_is": {},
    "much_asked": {"clip_norm": 1.0, "ema_decay": 0.99, "accumulate": 2, "lr_schedule": "cosine"},
    # the scaler of a fused optimizer checks for overflows on the device; otherwise torch waits for that check
    "fp16_fused": {"precision": "fp16", "fused_optimizer": True},
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Output of one process."""

    found: list[dict[str, Any]]
    """Results, from the first settings on; the list ends at settings that raised."""
    complaint: str


def measured(name: str, options: dict[str, Any], batch: int, *trains: dict[str, Any]) -> Measured:
    arguments = [name, json.dumps(options), str(batch), str(STEPS), *map(json.dumps, trains)]
    done = subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return Measured(found=[json.loads(line) for line in lines], complaint=done.stderr[-3000:])


@cache
def small(name: str) -> Measured:
    return measured(name, SMALL[name], 16, *TRAIN.values())


@pytest.mark.parametrize("train", TRAIN)
@pytest.mark.parametrize("name", SMALL)
def test_the_host_waits_for_nothing_in_a_measured_step(name: str, train: str) -> None:
    written = small(name)
    place = list(TRAIN).index(train)
    assert place < len(written.found), written.complaint
    found = written.found[place]
    assert len(found["loss"]) == STEPS
    assert all(math.isfinite(loss) for loss in found["loss"])
    assert all(span >= 0 for phase in PHASES for span in found[phase])
    assert all(
        later >= earlier + sum(found[phase][step] for phase in PHASES) - 2_000  # float32 milliseconds
        for step, (earlier, later) in enumerate(pairwise(found["start_ns"]))
    )
    allocated, reserved = found["memory_allocated_bytes"], found["memory_reserved_bytes"]
    assert all(0 < inside <= outside for inside, outside in zip(allocated, reserved, strict=True))


def test_phases_by_events_add_up_to_the_wall_time() -> None:
    """Steps of tens of milliseconds, so that the device is never idle between two of them."""
    written = measured("resnet50", {}, 128, {"fused_optimizer": True})
    assert written.found, written.complaint
    found = written.found[0]
    assert sum(sum(found[phase]) for phase in PHASES) == pytest.approx(found["wall_ns"], rel=0.01)


FLASH_ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
import one_rank, torch
from torch.nn.attention import SDPBackend, sdpa_kernel

options = {"transformer_lm": {"preset": "10m"}, "ddpm_unet": {"base_channels": 32}}
for name in options:
    loop = one_rank.training(
        name, options[name], batch=4, steps=1, device=torch.device("cuda", 0), precision="bf16"
    )
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        loop.unrecorded_step()
"""


def test_attention_in_bf16_takes_the_flash_kernel() -> None:
    """Under sdpa_kernel torch raises if that kernel does not accept its input."""
    benchmarks = Path(__file__).parents[3] / "benchmarks"
    command = [sys.executable, "-c", FLASH_ALONE, str(benchmarks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
