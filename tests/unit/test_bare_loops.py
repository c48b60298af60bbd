"""benchmarks/bare_loops.py compares our step with one written by hand: both must train the same thing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from bench import workloads

ROOT = Path(__file__).parents[2]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """bare_loops and one_rank, imported as `python benchmarks/bare_loops.py` would."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import bare_loops
    import one_rank

    for name in ("bare_loops", "one_rank", "interleaved"):
        monkeypatch.delitem(sys.modules, name)  # no other test uses them
    return bare_loops, one_rank


COMPARED = (
    "ddpm_unet",
    "mnist_cnn",
    "resnet50",
    "spiral_mlp",
    "text_classifier",
    "transformer_lm",
    "vit_b_16",
)
"""Workloads with a loop written by hand."""


def test_a_workload_with_a_bare_loop_is_one_that_ships(programs: tuple[ModuleType, ModuleType]) -> None:
    bare_loops, _ = programs
    assert sorted(bare_loops.SHAPES) == sorted(COMPARED)
    assert {*COMPARED} <= {*workloads.trained()}


@pytest.mark.parametrize("name", COMPARED)
def test_the_loss_written_by_hand_is_the_workloads_own(
    name: str, programs: tuple[ModuleType, ModuleType]
) -> None:
    bare_loops, one_rank = programs
    shape, device = bare_loops.SHAPES[name], torch.device("cpu")
    loop = one_rank.training(name, shape.options, batch=shape.batch, steps=1, device=device)
    batch = next(loop.batches)
    own = loop.workload.loss(loop.model, batch).item()
    bare = shape.bare(loop.workload, device)(loop.model, batch).item()
    # an untrained U-Net predicts no noise at all, so its loss is the noise's own square, which differs by the draw
    assert bare == pytest.approx(own, rel=0.1 if name == "ddpm_unet" else 1e-5)
