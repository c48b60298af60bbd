"""A shadow sends what real gloo ranks send: the same operations in the same order, groups, phases and bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.shadow.records import Shadow
from tests.shadow_runs import runs

BF16 = {"train": {"precision": "bf16"}}
RESNET = {
    "name": "resnet50", "layers": [1, 1, 1, 1], "image_size": 32, "classes": 4, "train_examples": 64,
    "validation_examples": 4,
}  # fmt: skip
LARGER = {"d_model": 128, "sequence_length": 64, "vocab_size": 512}
CASES: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "single": ("single", 1, {"scaling": "none"}),
    "single_larger": ("single", 1, {"scaling": "none", "workload": LARGER}),
    "single_resnet": ("single", 1, {"scaling": "none", "workload": RESNET, "data": {"source": "synthetic"}}),
    "ddp": ("ddp", 4, {}),
    "ddp_own_gradients": ({"ddp": {"gradient_as_bucket_view": False}}, 2, {}),
    "ddp_static": ({"ddp": {"static_graph": True}}, 2, {}),
    "ddp_unused": ({"ddp": {"find_unused_parameters": True}}, 2, {}),
    "ddp_compressed": ({"ddp": {"gradient_compression": "bf16"}}, 2, {}),
    "ddp_batch_norm": ("ddp", 2, {"workload": RESNET, "data": {"source": "synthetic"}}),
    "fsdp": ("fsdp", 4, {}),
    "fsdp_bf16": ("fsdp", 2, BF16),
    "fsdp_kept": ({"fsdp": {"reshard": "grad_op"}}, 2, {}),
    "fsdp_ema": ("fsdp", 2, {"train": {"ema_decay": 0.9, "checkpointing": True}}),
    "fsdp_hybrid": ({"fsdp": {"shard_size": 2}}, 4, {}),
    "fsdp1": ("fsdp1", 2, {}),
    "tp_sequence": ({"tp": {"sequence_parallel": True}}, 4, {}),
    "tp_fsdp": ({"mesh": {"tp": 2}}, 4, {}),
    "tp_hybrid": ({"mesh": {"tp": 2, "dp_shard": 2, "dp_replicate": None, "sequence_parallel": True}}, 8, {}),
}  # fmt: skip
"""Strategy, world size and other keys of each case: each way in which torch sends, once."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    cases = {
        name: {"strategy": strategy, "world": [world], **keys}
        for name, (strategy, world, keys) in CASES.items()
    }
    specs = runs(folder, cases)
    (folder / "specs.json").write_text(json.dumps([spec.to_json() for spec in specs]))
    program = Path(__file__).with_name("forked_ranks.py")
    subprocess.run([sys.executable, "-W", "ignore", program, folder / "specs.json", folder], check=True)
    return folder


def found(folder: Path, kind: str, name: str, rank: int) -> Shadow:
    return Shadow.from_json(json.loads((folder / f"{kind}.{name}.{rank}.json").read_text()))


@pytest.mark.parametrize("name", CASES)
def test_a_shadow_sends_what_a_real_rank_sends(folder: Path, name: str) -> None:
    world = CASES[name][1]
    for rank in {0, world - 1}:
        real, shadow = (found(folder, kind, name, rank) for kind in ("real", "shadow"))
        assert Counter(shadow.messages) == Counter(real.messages)
        assert shadow.messages == real.messages, "in the same order"
        assert (len(real.messages) > 0) == (world > 1)
        assert shadow.parameters == real.parameters


@pytest.mark.parametrize("name", CASES)
def test_a_shadow_allocates_the_tensors_of_a_real_rank(folder: Path, name: str) -> None:
    rank = CASES[name][1] - 1
    real, shadow = (found(folder, kind, name, rank).memory for kind in ("real", "shadow"))
    assert shadow.total == pytest.approx(real.total, rel=0.01)
    assert shadow.parameters == real.parameters
    assert shadow.optimizer == real.optimizer


def test_the_peak_is_within_a_tenth_of_what_torch_allocates(folder: Path) -> None:
    """Not for a convolutional network: what a CPU's convolutions allocate besides depends on the processor."""
    allocated = json.loads((folder / "allocated.single_larger.json").read_text())
    assert found(folder, "shadow", "single_larger", 0).memory.total == pytest.approx(allocated, rel=0.1)
