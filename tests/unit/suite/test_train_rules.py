# ruff: noqa: E501 - a message is compared whole
"""Settings of train and measure that are right one by one but exclude each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.suite.models import Case
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

SUITE = """\
title: Settings
workload: {name: spiral_mlp}
measure: {warmup: 2, steps: 10}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(SUITE)
    return path


def case(suite: Path, *settings: str) -> Case:
    return load_suite(str(suite), Selection(settings=settings)).cases[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("train.compile=true", "measure.warmup=0"), "train.compile compiles in the first steps, which must not be measured: give measure.warmup: 3 or more"),
        (("measure.garbage_collection=off", "measure.warmup=0"), "measure.garbage_collection: off collects before the last warm-up step: give measure.warmup: 1 or more"),
        (("train.ema_validation=true",), "train.ema_validation validates the averaged parameters: give train.ema_decay, as in 0.9999"),
        (("train.ema_decay=1",), "train.ema_decay is 1: it must be less than 1"),
        (("measure.nonfinite=ignore",), 'measure.nonfinite is "ignore": it must be one of record, fail'),
        (("train.compile_mode=fast",), 'train.compile_mode is "fast": it must be one of default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs'),
        (("train.micro_batch=8", "train.accumulate=2"), "train.micro_batch is 8, train.accumulate 2: each determines the other; give one"),
        (("train.compile_loss=true",), "train.compile_loss compiles the loss together with the model: give train.compile: true"),
        (("train.compile=true", "train.compile_loss=true", "cases.one.strategy=ddp"), "train.compile_loss under strategy ddp: backward would be one graph"),
        (("train.momentum=0.9",), "train.momentum is 0.9: only sgd has it, and the optimizer is adamw"),
        (("train.optimizer=AdamW",), 'train.optimizer is "AdamW": it must be one of adamw, adam, sgd; did you mean adamw?'),
        (("train.optimizer_options={lr: 1}",), "train.optimizer_options.lr has a key of its own: give train.learning_rate"),
        (("train.optimizer_options={auth_token: abc}",), "train.optimizer_options.auth_token is named like a secret"),
        (("train.lr_schedule=cosin",), 'train.lr_schedule is "cosin": it must be one of constant, linear_warmup, linear, cosine, MultiStepLR; did you mean cosine?'),
        (("train.lr_schedule=linear", "train.lr_schedule_options={a: 1}"), "train.lr_schedule_options are for MultiStepLR, and train.lr_schedule is linear: it has warmup_steps and total_steps"),
        (("train.lr_schedule=MultiStepLR", "train.warmup_steps=3"), "train.warmup_steps is not for lr_schedule MultiStepLR: give its arguments in train.lr_schedule_options"),
        (("train.momentum=1",), "train.momentum is 1: it must be less than 1"),
        (("train.weight_decay=-1",), "train.weight_decay is -1: it must be greater than or equal to 0"),
    ],
)  # fmt: skip
def test_what_cannot_go_together_is_refused(suite: Path, settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError) as raised:
        case(suite, *settings)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "settings",
    [
        ("measure.warmup=0",),
        ("train.compile=true", "train.compile_mode=reduce-overhead"),
        ("train.compile=true", "train.compile_loss=true"),
        ("train.compile_mode=max-autotune",),  # of a case whose matrix has compile: [false, true]
        ("measure.garbage_collection=frozen", "measure.nonfinite=fail"),
        ("train.ema_decay=0.999", "train.ema_validation=true"),
        ("train.optimizer=sgd", "train.momentum=0.9", "train.weight_decay=1e-4"),
        ("train.optimizer_options={betas: [0.9, 0.95]}",),
        ("train.lr_schedule=MultiStepLR", "train.lr_schedule_options={milestones: [5]}"),
    ],
)
def test_what_can_go_together_is_not(suite: Path, settings: tuple[str, ...]) -> None:
    assert case(suite, *settings).name == "one"
