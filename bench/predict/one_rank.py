"""Computation of a rank in a step, from measured steps of one rank with the same model and settings.

A rank of another size computes other examples and, with sharding, updates fewer parameters. Two things say how its time
changes: the same strategy at several micro-batches, and the same model without a strategy's own work (`single`, `ddp`).
The difference between the two is the strategy's own work, which changes with neither.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from bench.records.run_spec import RunSpec

_PLAIN = ("single", "ddp")
"""Strategies that do nothing of their own on one rank."""
_RATES = ("learning_rate", "lr_schedule", "lr_schedule_options", "warmup_steps", "total_steps")
"""Settings that change no time."""


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Seconds of a step's phases on one rank. All but `optimizer_s` are those of one micro-batch."""

    data_s: float
    forward_s: float
    backward_s: float
    optimizer_s: float


@dataclass(frozen=True, kw_only=True)
class OneRank:
    """A measured run of one rank."""

    spec: RunSpec
    phases: Phases
    session_id: str
    doubts: tuple[str, ...] = ()
    """Why times of that session may be wrong, as titles of findings."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> OneRank:
        """From a row of the database, with phases in milliseconds of a whole step."""
        spec = RunSpec.from_json(json.loads(row["config"]))
        micro_batches = spec.train.accumulate
        return cls(
            spec=spec,
            session_id=row["session_id"],
            doubts=tuple(row["doubts"]),
            phases=Phases(
                data_s=row["data_ms"] / 1e3 / micro_batches,
                forward_s=row["forward_ms"] / 1e3 / micro_batches,
                backward_s=row["backward_ms"] / 1e3 / micro_batches,
                optimizer_s=row["optimizer_ms"] / 1e3,
            ),
        )


def phases_of(spec: RunSpec, measured: Iterable[OneRank], *, share: float = 1.0) -> Phases | None:
    """The phases of a rank of `spec`, which updates that share of the model's parameters; null if no rank with its
    model and settings was measured."""
    alike = runs_alike(spec, measured)
    own = _by_micro_batch(one for one in alike if _strategy(one.spec) == _strategy(spec))
    plain = _by_micro_batch(one for one in alike if one.spec.strategy in _PLAIN)
    if not own and not plain:
        return None
    optimizer_s = median(one.optimizer_s for one in (own or plain).values())
    model_s = min(optimizer_s, median(one.optimizer_s for one in (plain or own).values()))
    each = (_seconds(spec.micro_batch, own, plain, name) for name in ("data_s", "forward_s", "backward_s"))
    data_s, forward_s, backward_s = each
    return Phases(
        data_s=data_s,
        forward_s=forward_s,
        backward_s=backward_s,
        optimizer_s=optimizer_s - model_s * (1 - share),
    )


def runs_alike(spec: RunSpec, measured: Iterable[OneRank]) -> list[OneRank]:
    """Runs with the model and settings of `spec`, and its strategy or none of its own work."""
    return [
        one
        for one in measured
        if (one.spec.strategy in _PLAIN or _strategy(one.spec) == _strategy(spec))
        and _settings(one.spec) == _settings(spec)
    ]


def _seconds(micro_batch: int, own: dict[int, Phases], plain: dict[int, Phases], name: str) -> float:
    """A phase at a micro-batch."""
    ours = {size: float(getattr(phases, name)) for size, phases in own.items()}
    models = {size: float(getattr(phases, name)) for size, phases in plain.items()}
    if not ours or not models or micro_batch in ours or len(ours) > 1:
        return _interpolated(micro_batch, ours or models)
    ((size, seconds),) = ours.items()
    return max(0.0, seconds - _interpolated(size, models)) + _interpolated(micro_batch, models)


def _interpolated(micro_batch: int, seconds: dict[int, float]) -> float:
    """Measured; else on the line through the two nearest. In proportion to the nearest if there is one alone, if the
    smaller batch did not take less time, or if the line reaches 0 there: noise, not computation, then gives the slope.
    """
    if micro_batch in seconds:
        return seconds[micro_batch]
    near = sorted(seconds, key=lambda size: abs(size - micro_batch))[:2]
    if 0 in (micro_batch, near[0]):  # only the command knows its batch
        return seconds[near[0]]
    low, high = min(near), max(near)
    if seconds[low] < seconds[high]:
        share = (micro_batch - low) / (high - low)
        on_line = seconds[low] + share * (seconds[high] - seconds[low])
        if on_line > 0:
            return on_line
    return seconds[near[0]] * micro_batch / near[0]


def _by_micro_batch(runs: Iterable[OneRank]) -> dict[int, Phases]:
    """Medians over the runs of each micro-batch."""
    found: dict[int, list[Phases]] = defaultdict(list)
    for one in runs:
        found[one.spec.micro_batch].append(one.phases)
    return {
        size: Phases(
            **{part.name: median(getattr(one, part.name) for one in every) for part in fields(Phases)}
        )
        for size, every in found.items()
    }


def _settings(spec: RunSpec) -> str:
    """Equal for runs with the same model, data and optimizer on equal devices."""
    train = asdict(spec.train)
    for name in ("accumulate", "micro_batch", "seed", *_RATES):
        del train[name]
    own = {**spec.workload_with_data, "seed": 0, "data_root": None}
    return json.dumps([own, train, spec.device_type, spec.threads], sort_keys=True)


def _strategy(spec: RunSpec) -> str:
    """The strategy as one rank sees it."""
    return json.dumps([spec.strategy, spec.strategy_options], sort_keys=True)
