"""Time of one optimizer step: computation, and what communication adds to it in a simulated step."""

from __future__ import annotations

from dataclasses import dataclass

from bench.predict.memory import ModelSize
from bench.predict.network import Fabric, Traffic, total
from bench.predict.one_rank import Phases
from bench.predict.step_messages import backward_messages, forward_messages, optimizer_messages
from bench.predict.step_works import Stretch, works
from bench.predict.timeline import Message, Sending, simulate
from bench.records.run_spec import RunSpec

_FORWARD = 1 / 3
"""Forward's share of the FLOPs of forward and backward: backward has two products for each of forward's."""


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
    spec: RunSpec,
    size: ModelSize,
    traffic: list[Traffic],
    fabric: Fabric | None,
    phases: Phases | None,
    cores: float,
) -> StepTime:
    """`cores`: CPU cores of a rank, without limit on a GPU."""
    communication_s = total(None if fabric is None else fabric.seconds(one, spec) for one in traffic)
    stretches = [] if phases is None else _stretches(spec, size, traffic, phases)
    computation_s = None if phases is None else sum(one.seconds for one in stretches)
    if communication_s is None or computation_s is None:
        return StepTime(communication_s=communication_s, computation_s=computation_s)

    def sending(message: Message) -> Sending:
        found = None if fabric is None else fabric.sending(message.op, message.message_bytes, message.group)
        return found or Sending(seconds=0.0)

    on_cpu = spec.device_type == "cpu"
    timeline = simulate(works(stretches, cores=spec.threads if on_cpu else 0.0), sending, cores)
    return StepTime(
        communication_s=communication_s,
        computation_s=computation_s,
        exposed_s=max(0.0, timeline.step_s - computation_s),
    )


def _stretches(spec: RunSpec, size: ModelSize, traffic: list[Traffic], phases: Phases) -> list[Stretch]:
    """The step of a rank."""
    found = []
    for number in range(spec.train.accumulate):
        found += [
            Stretch(name=f"data {number}", seconds=phases.data_s),
            Stretch(
                name=f"forward {number}",
                seconds=phases.forward_s,
                messages=forward_messages(spec, size, number),
            ),
            Stretch(
                name=f"backward {number}",
                seconds=phases.backward_s,
                messages=backward_messages(spec, size, traffic, number),
            ),
        ]
    optimizer = Stretch(name="optimizer", seconds=phases.optimizer_s, messages=optimizer_messages(spec))
    return [*found, optimizer]
