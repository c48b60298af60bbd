"""Time of one optimizer step: computation, and what communication adds to it in a simulated step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.predict.network import Fabric, sender
from bench.predict.one_rank import Phases
from bench.predict.step_works import Stretch, works
from bench.predict.timeline import simulate

_FORWARD = 1 / 3
"""Forward's share of the FLOPs of forward and backward: backward has two products for each of forward's."""


@dataclass(frozen=True, kw_only=True)
class Cores:
    """CPU cores that computation and messages share."""

    of_a_rank: float = math.inf
    """Without limit on a GPU."""
    computing: float = 0.0
    """Those that computation keeps busy; 0 on a GPU."""


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """Seconds of one optimizer step; null if unknown."""

    communication_s: float | None
    """All messages of a rank, one after the other."""
    computation_s: float | None
    """The step without messages."""
    exposed_s: float | None = None
    """Seconds that communication adds: messages that computation does not hide, and computation that is slower because
    messages need the same CPU cores."""

    @property
    def step_s(self) -> float | None:
        if self.computation_s is None or self.exposed_s is None:
            return None
        return self.computation_s + self.exposed_s

    @property
    def computing(self) -> float | None:
        """Computation's share of the step: throughput ÷ (ranks x that of one rank without communication)."""
        return None if self.step_s is None or not self.step_s else (self.computation_s or 0) / self.step_s


def phases_of_flops(flops: float, flops_per_s: float, micro_batches: int) -> Phases:
    """Phases by arithmetic alone. `flops`: those of one rank in the step."""
    each_s = flops / flops_per_s / micro_batches
    return Phases(
        data_s=0.0, forward_s=each_s * _FORWARD, backward_s=each_s * (1 - _FORWARD), optimizer_s=0.0
    )


def step_time(
    stretches: Sequence[Stretch], communication_s: float | None, fabric: Fabric | None, cores: Cores
) -> StepTime:
    """`stretches`: the step of a rank. `communication_s`: null if the time of a message is unknown."""
    computation_s = sum(one.seconds for one in stretches)
    if communication_s is None:
        return StepTime(communication_s=communication_s, computation_s=computation_s)
    timeline = simulate(works(stretches, cores=cores.computing), sender(fabric), cores.of_a_rank)
    return StepTime(
        communication_s=communication_s,
        computation_s=computation_s,
        exposed_s=max(0.0, timeline.step_s - computation_s),
    )
