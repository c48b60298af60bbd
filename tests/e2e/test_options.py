"""Every training option that a suite may choose really runs, and changes only the mathematics that it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from processes import OneProcess

STEPS = 6
UNET = {
    "name": "ddpm_unet",
    "base_channels": 32,
    "channel_multipliers": [1],
    "num_res_blocks": 1,
    "image_size": 8,
}
UNET |= {"validation_examples": 8}
SAME = {
    "static-graph": {"strategy": {"name": "ddp", "static_graph": True}},
    "small-buckets": {"strategy": {"name": "ddp", "bucket_cap_mb": 1, "gradient_as_bucket_view": False}},
    "ddp-checkpointing": {"train": {"checkpointing": True}},
    "kept-matmuls": {"train": {"checkpointing": "keep_matmuls"}},
    "fsdp-grad-op": {"strategy": {"name": "fsdp", "reshard": "grad_op"}},
    "fsdp-checkpointing": {"strategy": "fsdp", "train": {"checkpointing": True}},
    "fused": {"train": {"fused_optimizer": True}},
    "fsdp-fused": {"strategy": "fsdp", "train": {"fused_optimizer": True}},
    "cudnn-benchmark": {"train": {"cudnn_benchmark": True}},
    "ema": {"train": {"ema_decay": 0.9, "ema_validation": True}, "measure": {"validate_every": 3}},
    "fsdp-ema": {
        "strategy": "fsdp",
        "train": {"ema_decay": 0.9, "ema_validation": True},
        "measure": {"validate_every": 3},
    },
    "frozen-garbage": {"measure": {"garbage_collection": "frozen"}},
    "no-garbage": {"measure": {"garbage_collection": "off", "nonfinite": "fail"}},
    "loader-processes": {"data": {"workers": 1}},
    "fresh-loader-processes": {"data": {"workers": 1, "persistent_workers": False, "prefetch": 1}},
}
"""Options that must give the losses of plain DDP. More are in test_strategy_options.py, accumulation in
test_parity.py."""
OTHER = {
    "bf16": {"train": {"precision": "bf16"}},
    "fsdp-bf16": {"strategy": "fsdp", "train": {"precision": "bf16"}},
    "fp16-clip": {"train": {"precision": "fp16", "clip_norm": 0.5}},
    "fsdp-fp16-clip": {"strategy": "fsdp", "train": {"precision": "fp16", "clip_norm": 0.5}},
    "sgd-cosine": {
        "train": {"optimizer": "sgd", "lr_schedule": "cosine", "warmup_steps": 2, "total_steps": 6}
    },
    "sgd-momentum-linear": {
        "train": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.1, "lr_schedule": "linear"}
    },
    "fsdp-fp16-fused": {"strategy": "fsdp", "train": {"precision": "fp16", "fused_optimizer": True}},
    "betas": {"train": {"optimizer_options": {"betas": [0.5, 0.9]}}},
    "milestones-profiled": {
        "train": {"lr_schedule": "MultiStepLR", "lr_schedule_options": {"milestones": [2], "gamma": 0.5}},
        "measure": {"profiled": 2, "selfcheck": 12},
    },
    "adam-warmup": {"train": {"optimizer": "adam", "lr_schedule": "linear_warmup", "warmup_steps": 3}},
}
"""Options that must run and give finite losses near plain DDP's first loss."""

EPOCHS = {"workload": {"name": "spiral_mlp"}, "global_batch": 1_500, "measure": {"epochs": 2, "warmup": 3}}
"""8,000 examples: an epoch is five batches and a third."""


BASE: dict[str, Any] = {"strategy": "ddp", "scaling": "strong", "global_batch": 8, "world": [2]}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    folder = tmp_path_factory.mktemp("options")
    cases = [
        {"name": name} | BASE | changes
        for name, changes in ({"plain": {}, "epochs": EPOCHS} | SAME | OTHER).items()
    ]
    suite = {
        "title": "Options",
        "workload": UNET,
        "device": "cpu",
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 120},
        "cases": cases,
    }
    (folder / "options.yaml").write_text(json.dumps(suite))
    options = ["--results", str(folder), "--session", "s", "--ranks-per-node", "2", "--no-load"]
    done = one_process.run("suite", str(folder / "options.yaml"), *options)
    assert done.returncode == 0, done.stderr
    return folder / "s"


def losses(session: Path, case: str) -> np.ndarray:
    """[steps] float64: mean over the two ranks."""
    table = pq.read_table(session / f"{case}.1x2.r0/steps.node0.parquet").to_pydict()
    by_step = np.zeros(STEPS)
    trained = [at for at, step in enumerate(table["step"]) if step < STEPS]
    np.add.at(by_step, np.array(table["step"])[trained], np.array(table["loss"])[trained] / 2)
    return by_step


@pytest.mark.parametrize("case", sorted(SAME))
def test_an_option_of_layout_or_loading_changes_no_loss(session: Path, case: str) -> None:
    np.testing.assert_allclose(losses(session, case), losses(session, "plain"), rtol=2e-4)


@pytest.mark.parametrize("case", sorted(OTHER))
def test_an_option_of_arithmetic_or_optimizer_trains(session: Path, case: str) -> None:
    measured = losses(session, case)
    assert np.isfinite(measured).all()
    np.testing.assert_allclose(measured[0], losses(session, "plain")[0], rtol=0.02)
    assert not np.array_equal(measured, losses(session, "plain"))


def test_a_user_sees_what_is_wrong_with_an_optimizer_before_anything_is_written(
    session: Path, one_process: OneProcess
) -> None:
    suite = json.loads((session.parent / "options.yaml").read_text())
    train = {"optimizer_options": {"betas": [2, 0]}}
    cases = [{"name": name, "train": train} | BASE for name in ("one", "other")]
    (session.parent / "wrong.yaml").write_text(json.dumps(suite | {"cases": cases}))
    options = ["--results", str(session.parent / "none"), "--ranks-per-node", "2"]
    done = one_process.run("suite", str(session.parent / "wrong.yaml"), *options)
    assert done.returncode == 2
    assert "error: cases one, other: train.optimizer_options: AdamW raised ValueError: " in done.stderr
    assert not (session.parent / "none").exists()


def test_an_averaged_model_is_validated_as_such_whatever_the_strategy(session: Path) -> None:
    ddp, fsdp = (
        pq.read_table(session / f"{case}.1x2.r0/evals.parquet").to_pydict() for case in ("ema", "fsdp-ema")
    )
    plain = pq.read_table(session / "plain.1x2.r0/evals.parquet").to_pydict()
    assert ddp["step"] == fsdp["step"] == [3, STEPS]
    np.testing.assert_allclose(ddp["val_loss"], fsdp["val_loss"], rtol=1e-5)
    assert abs(ddp["val_loss"][-1] - plain["val_loss"][-1]) > 1e-4


def test_measured_epochs_begin_after_the_warm_up(session: Path) -> None:
    table = pq.read_table(session / "epochs.1x2.r0/steps.node0.parquet").to_pydict()
    assert sorted(zip(table["rank"], table["step"], table["kind"], strict=True)) == [
        (rank, step, "warmup" if step < 3 else "measured") for rank in range(2) for step in range(3 + 11)
    ]
