"""Run specs and small workloads for these tests."""

from __future__ import annotations

from typing import Any

from bench import workloads
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.workloads import Workload

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "spiral_mlp": ("synthetic", {}),
    "mnist_cnn": ("digits", {}),
    "ddpm_unet": (
        "synthetic",
        {
            "base_channels": 32,
            "channel_multipliers": (1, 2),
            "image_size": 8,
            "attention_resolutions": (4,),
            "validation_examples": 32,
        },
    ),
    "text_classifier": (
        "synthetic",
        {
            "d_model": 16,
            "heads": 2,
            "layers": 1,
            "feed_forward": 32,
            "sequence_length": 16,
            "vocab_size": 256,
            "validation_examples": 32,
        },
    ),
    "transformer_lm": (
        "synthetic",
        {
            "d_model": 32,
            "layers": 2,
            "heads": 2,
            "sequence_length": 32,
            "vocab_size": 64,
            "validation_examples": 32,
        },
    ),
    "resnet50": (
        "synthetic",
        {
            "image_size": 32,
            "classes": 4,
            "layers": (1, 1, 1, 1),
            "train_examples": 512,
            "validation_examples": 32,
        },
    ),
    "vit_b_16": (
        "synthetic",
        {
            "image_size": 16,
            "classes": 4,
            "patch_size": 8,
            "layers": 2,
            "heads": 2,
            "hidden_dim": 32,
            "mlp_dim": 64,
            "train_examples": 512,
            "validation_examples": 32,
        },
    ),
}
"""Workload -> source and options that train in about a second. One that is not here has its default options."""


def workload(name: str, *, seed: int = 0, **options: Any) -> Workload:
    """A prepared workload at its small size."""
    kind = workloads.load(name)
    source, small = SMALL.get(name, (kind.sources[0], {}))
    made = kind(kind.Options(**{**small, **options}), source, None, seed)
    made.prepare()
    return made


def spec(*, batch_per_rank: int, world: int = 1, accumulate: int = 1, seed: int = 0, **data: Any) -> RunSpec:
    """A run as a rank sees it; fields that the loader ignores are arbitrary."""
    return RunSpec(
        session_id="session",
        run_id="case.1x1.r0",
        suite="suite",
        case_name="case",
        workload="spiral_mlp",
        workload_options={},
        data=DataSpec(**data),
        train=TrainSpec(accumulate=accumulate, seed=seed),
        measure=MeasureSpec(),
        strategy="ddp",
        strategy_options={},
        scaling="strong",
        axis="ranks",
        workers=world,
        world_size=world,
        nodes=1,
        ranks_per_node=world,
        threads=1,
        repeat=0,
        device_type="cpu",
        batch_per_rank=batch_per_rank,
        global_batch=batch_per_rank * world,
    )
