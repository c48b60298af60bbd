"""Validation between steps and after the last one. Every rank takes a share, so that a sharded model can gather.

Validation is outside every step and does not affect training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from bench.common.custom_file import label
from bench.measure import evals
from bench.train import precision, process_group

if TYPE_CHECKING:
    from bench.train.loop import Training

_ROUNDING = 0.01
"""A score in half precision may be this much outside of 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """Results over the whole validation set."""

    loss: float
    accuracy: float | None
    """Fraction of correct examples; null if the workload does not define correctness."""


@dataclass(frozen=True, kw_only=True)
class Validation:
    """All ranks validate together; rank 0 writes the result."""

    training: Training
    rank: int
    file: Path
    """File for rank 0's rows; see bench/measure/evals.py."""
    barrier_ns: int
    """perf_counter_ns at the run's common barrier."""

    def __call__(self, steps: int) -> float | None:
        """Validate after `steps` optimizer steps. The ranks leave together, with their devices idle. Returns the loss,
        equal on every rank; null without validation examples."""
        training = self.training
        began_ns = perf_counter_ns()
        found = score(training, self.rank)
        if found is not None and self.rank == 0:
            evals.append(
                self.file,
                step=steps,
                epoch=steps * training.spec.global_batch / training.workload.dataset_size,
                val_loss=found.loss,
                val_accuracy=found.accuracy,
                elapsed_s=(began_ns - self.barrier_ns) / 1e9,
                validation_s=(perf_counter_ns() - began_ns) / 1e9,
            )
        process_group.barrier(training.device)
        return None if found is None else found.loss


def score(training: Training, rank: int) -> Score | None:
    """Mean loss and accuracy of the current model, equal on every rank; null without validation examples."""
    if training.workload.validation_size == 0:
        return None
    averages: AbstractContextManager[None] = nullcontext()
    if training.ema is not None and training.spec.train.ema_validation:
        averages = (
            training.ema.in_place_of_parameters()
        )  # sharded parameters must be sharded at its begin and end
    with averages, evaluating(training):
        sums = _sums(training, rank)
    if dist.is_initialized():
        dist.all_reduce(sums)
    loss, correct_count, examples, judged, outside = sums.tolist()
    refuse_scores(training, outside)
    return Score(loss=loss / examples, accuracy=correct_count / examples if judged == examples else None)


@contextmanager
def evaluating(training: Training) -> Iterator[None]:
    """Inside, modules are in eval mode; afterwards modes, random generators and the model's layout are as before."""
    model, device = training.model, training.device
    trained = [module for module in model.modules() if module.training]
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
        model.eval()
        yield
    for module in trained:  # model.train() would also change modules that a workload keeps in eval mode
        module.training = True
    training.strategy.validated(model)


def _sums(training: Training, rank: int) -> torch.Tensor:
    """This rank's sums of loss, correct, examples, judged examples and scores outside of 0 to 1, [5] float64."""
    size = training.workload.validation_size
    # Ranks that share a batch evaluate the same examples. All sums then count each example as often, and ratios agree.
    groups, group = training.spec.batch_groups, rank // training.spec.ranks_per_batch
    largest = training.workload.largest_validation_batch
    if training.spec.find_batch is not None:  # memory is full: no more examples than fitted with gradients
        largest = min(largest, training.spec.micro_batch)
    sums = torch.zeros(5, dtype=torch.float64, device=training.device)
    # the same number of forward passes on every rank, because a sharded model gathers in each, and equal shares
    turns = math.ceil(size / (groups * largest))
    examples = math.ceil(size / (groups * turns))
    for turn in range(turns):
        first = (turn * groups + group) * examples
        indices = list(range(first, min(first + examples, size)))
        losses, correct = evaluated(training, indices or [0])
        if indices:
            sums[0] += losses.double().sum()
            sums[1] += 0.0 if correct is None else correct.double().sum()
            sums[2] += len(indices)
            sums[3] += 0 if correct is None else len(indices)
            sums[4] += outside(correct)
    return sums


def outside(scores: torch.Tensor | None) -> torch.Tensor | int:
    """Number of scores that are not from 0 to 1. Does not wait for the device."""
    return 0 if scores is None else ((scores < -_ROUNDING) | (scores > 1 + _ROUNDING)).sum()


def refuse_scores(training: Training, outside: float) -> None:
    """Raise ValueError if that many scores are outside of 0 to 1."""
    if outside:
        raise ValueError(
            f"evaluate() of {label(training.spec.workload)} returned a score outside of 0 to 1: return a fraction for "
            "each example, or None in place of all scores"
        )


def evaluated(training: Training, indices: list[int]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Loss and score of each of these held-out examples. Raises ValueError if `evaluate` returns another number."""
    workload = training.workload
    batch = {name: tensor.to(training.device) for name, tensor in workload.validation_batch(indices).items()}
    with precision.autocast(training.spec.train.precision, training.device):
        losses, correct = workload.evaluate(training.model, batch)
    for found in (losses, correct):
        if found is not None and found.shape != (len(indices),):
            raise ValueError(
                f"evaluate() of {label(training.spec.workload)} returned shape {list(found.shape)} for {len(indices)} "
                "examples: return a number for each"
            )
    return losses, correct
