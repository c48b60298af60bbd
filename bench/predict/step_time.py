"""Time of one optimizer step: computation plus the communication that computation does not hide."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.predict.network import Fabric, Traffic, exposed_time_of, total
from bench.records.run_spec import RunSpec

_FORWARD = 1 / 3
"""Forward's share of the FLOPs of forward and backward: backward has two products for each of forward's."""


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """Seconds of one optimizer step; null if unknown."""

    communication_s: float | None
    """All messages of a rank, one after the other."""
    computation_s: float | None
    exposed_s: float | None = None
    """Communication that computation does not hide, by the best guess."""
    exposed_lo_s: float | None = None
    """Lower bound: everything that can overlap does."""
    exposed_hi_s: float | None = None
    """Upper bound: nothing overlaps."""

    @property
    def step_s(self) -> float | None:
        if self.computation_s is None or self.exposed_s is None:
            return None
        return self.computation_s + self.exposed_s

    @property
    def computing(self) -> float | None:
        """Computation's share of the step: throughput ÷ (ranks x that of one rank without communication)."""
        return None if self.step_s is None or not self.step_s else (self.computation_s or 0) / self.step_s


def step_time(
    spec: RunSpec,
    traffic: list[Traffic],
    fabric: Fabric | None,
    flops_per_s: float | None,
    flops: float | None,
) -> StepTime:
    """`flops`: those of one rank in the step."""
    computation_s = None if flops is None or flops_per_s is None else flops / flops_per_s
    times = [None if fabric is None else fabric.seconds(one, spec) for one in traffic]
    communication_s = total(times)
    if communication_s is None or computation_s is None:
        return StepTime(communication_s=communication_s, computation_s=computation_s)
    by_phase = {
        phase: math.fsum(time or 0 for one, time in zip(traffic, times, strict=True) if one.phase == phase)
        for phase in ("forward", "backward", "last_backward")
    }
    pieces = max(
        (one.messages for one in traffic if one.phase == "last_backward" and one.scope == "ranks"),
        default=1,
    )
    exposed = [_exposed(by_phase, computation_s, spec.train.accumulate, k) for k in (math.inf, pieces, 1)]
    return StepTime(
        communication_s=communication_s,
        computation_s=computation_s,
        exposed_lo_s=exposed[0],
        exposed_s=exposed[1],
        exposed_hi_s=exposed[2],
    )


def _exposed(sent_s: dict[str, float], computation_s: float, micro_batches: int, pieces: float) -> float:
    """Exposed seconds. Forward hides its gathers; each micro-batch's backward hides its own gathers, and the last one's
    also the reduction."""
    backward_s = computation_s * (1 - _FORWARD) / micro_batches
    gathered_s = sent_s["backward"] / micro_batches
    return (
        exposed_time_of(sent_s["forward"], computation_s * _FORWARD, pieces)
        + (micro_batches - 1) * exposed_time_of(gathered_s, backward_s, pieces)
        + exposed_time_of(gathered_s + sent_s["last_backward"], backward_s, pieces)
    )
