"""Validation after the measured steps: every rank takes a share, so that a sharded model can gather."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from bench.train import precision

if TYPE_CHECKING:
    from bench.train.loop import Training

_BATCH = 256


@dataclass(frozen=True, kw_only=True)
class Score:
    """Over the whole validation set."""

    loss: float
    accuracy: float | None
    """Fraction of correct examples; null where correctness means nothing."""


def score(training: Training, rank: int) -> Score | None:
    """Mean loss and accuracy of the current model, equal on every rank; null without validation examples."""
    workload, world = training.workload, training.spec.world_size
    size = workload.validation_size
    if size == 0:
        return None
    sums = torch.zeros(3, dtype=torch.float64, device=training.device)  # loss, correct, examples
    judged = True
    training.model.eval()
    # the same number of forward passes on every rank: a sharded model gathers in each of them
    for turn in range(math.ceil(size / (world * _BATCH))):
        first = (turn * world + rank) * _BATCH
        indices = list(range(first, min(first + _BATCH, size)))
        batch = workload.validation_batch(indices or [0])
        batch = {name: tensor.to(training.device) for name, tensor in batch.items()}
        with torch.no_grad(), precision.autocast(training.spec.train.precision, training.device):
            losses, correct = workload.evaluate(training.model, batch)
        judged = correct is not None
        if indices:
            sums[0] += losses.double().sum()
            sums[1] += 0.0 if correct is None else correct.double().sum()
            sums[2] += len(indices)
    training.model.train()
    if dist.is_initialized():
        dist.all_reduce(sums)
    loss, correct_count, examples = sums.tolist()
    return Score(loss=loss / examples, accuracy=correct_count / examples if judged else None)
