"""Steps whose messages are longer or shorter than the training's, after the measured ones (`measure.wire`).

A message of half the bytes takes as long as a whole one would on a network of twice the bandwidth, and computation
overlaps it as ever. A round has one step of each factor, in an order that is drawn from the run's seed, so that all
ranks agree. Below 1 only a part of the gradients is averaged, so afterwards everything that trains is put back as it
was. These steps affect no loss, validation or other figure.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bench.measure import rank_tables
from bench.measure.rank_tables import TABLES, Writer
from bench.train import process_group
from bench.train.unsynchronised import Unsynchronised

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec
    from bench.strategies import Strategy
    from bench.train.loop import Training

NO_MESSAGES = 0.0
"""The factor of a step without communication."""
_WARMUP = 1
"""Rounds that are not kept: the first ones allocate longer messages."""


def factors_of(spec: RunSpec, strategy: Strategy) -> list[float]:
    """Bytes of messages, as multiples of the training's; empty without `measure.wire`, for a probe and on one rank."""
    if not spec.measure.wire or spec.probe or spec.world_size == 1:
        return []
    without = {NO_MESSAGES} if strategy.has_own("unsynchronised") else set()
    return sorted({1.0, *spec.measure.wire} | without)


def steps_of(spec: RunSpec, strategy: Strategy) -> int:
    """Number of optimizer steps that `run` takes."""
    return len(factors_of(spec, strategy)) * (_WARMUP + spec.measure.wire_rounds)


def run(training: Training, scratch: Path, writer: Writer) -> None:
    """Take all rounds; writes rows of the table `wire_steps` to `scratch`."""
    with _put_back(training):
        rows = list(_rounds(training))
    rank_tables.append(scratch, "wire_steps", writer, np.array(rows, TABLES["wire_steps"]))


def _rounds(training: Training) -> Iterator[tuple[int, int, float, int]]:
    """Step, round, factor and duration in ns of each step that is kept."""
    strategy: Any = training.strategy
    factors, order = factors_of(training.spec, strategy), random.Random(training.spec.seed)  # noqa: S311 - no secret
    now = 1.0
    strategy.scale_messages(training.model, lambda: now)
    step = training.steps
    for number in range(-_WARMUP, training.spec.measure.wire_rounds):
        for now in order.sample(factors, len(factors)):
            training.strategy = strategy if now else Unsynchronised(strategy)  # type: ignore[assignment] # enough for a step
            process_group.barrier(training.device)
            begun = perf_counter_ns()
            training.unrecorded_step()
            if training.device.type == "cuda":
                torch.cuda.synchronize(training.device)
            taken_ns = perf_counter_ns() - begun
            if number >= 0:
                yield step, number, now, taken_ns
                step += 1
    training.strategy, now = strategy, 1.0


@contextmanager
def _put_back(training: Training) -> Iterator[None]:
    """Afterwards weights, buffers, optimizer, averages, loss scale and random numbers are as before. Copies of tensors
    are in host memory: the device may have no room."""
    tensors, values = _state(training)
    kept = [(tensor, _local(tensor).detach().to("cpu", copy=True)) for tensor in tensors]
    kept_values = [(place, key, copy.deepcopy(place[key])) for place, key in values]
    scale = None if training.scaler is None else copy.deepcopy(training.scaler.state_dict())
    put_back_random_numbers = _random_numbers(training.device)
    yield
    with torch.no_grad():
        for tensor, before in kept:
            _local(tensor).copy_(before)
    for place, key, value in kept_values:
        place[key] = value
    if training.scaler is not None and scale is not None:
        training.scaler.load_state_dict(scale)
    put_back_random_numbers()


def _state(training: Training) -> tuple[list[torch.Tensor], list[tuple[dict[str, Any], str]]]:
    """All tensors of model, optimizer and averages; and the places of the optimizer's other values."""
    tensors = [*training.model.parameters(), *training.model.buffers()]
    values: list[tuple[dict[str, Any], str]] = []
    for place in [*training.optimizer.state.values(), *training.optimizer.param_groups]:
        for key, value in place.items():
            if isinstance(value, torch.Tensor):
                tensors.append(value)
            elif key != "params":
                values.append((place, key))
    if training.ema is not None:
        tensors += training.ema.averages
    return tensors, values


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a DTensor."""
    part: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def _random_numbers(device: torch.device) -> Callable[[], None]:
    """A function that continues the random numbers from here."""
    of_host, of_python, of_numpy = torch.get_rng_state(), random.getstate(), np.random.get_state()
    of_device = torch.cuda.get_rng_state(device) if device.type == "cuda" else None

    def put_back() -> None:
        torch.set_rng_state(of_host)
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        if of_device is not None:
            torch.cuda.set_rng_state(of_device, device)

    return put_back
