"""Time of one optimizer step of a pipeline: the work of all its ranks, and the messages between their stages."""

from __future__ import annotations

from collections.abc import Sequence

from bench.predict.network import Fabric, sender
from bench.predict.one_rank import Phases
from bench.predict.schedules import Part, works
from bench.predict.step_messages import recorded_group
from bench.predict.step_time import Cores, StepTime
from bench.predict.timeline import Message, simulate
from bench.records.run_spec import RunSpec
from bench.shadow.records import ShadowMessage
from bench.strategies._layout import Layout


def pipeline_time(
    spec: RunSpec,
    layout: Layout,
    sent: Sequence[ShadowMessage],
    phases: Phases,
    communication_s: float | None,
    fabric: Fabric | None,
    cores: Cores,
) -> StepTime:
    """The ranks of other dimensions do the same at the same time. A rank waits for their messages within its stages'
    work, over which they are spread evenly. The time that communication adds includes the wait for other stages.

    `sent`: messages of a rank's shadow; `phases`: those of a rank, which has an equal part of the layers;
    `communication_s`: null if the time of a message is unknown."""
    micro_batches, stages = spec.train.accumulate, layout.stages_per_rank
    computation_s = phases.optimizer_s + micro_batches * (
        phases.data_s + phases.forward_s + phases.backward_s
    )
    if communication_s is None:
        return StepTime(communication_s=None, computation_s=computation_s)

    sending = sender(fabric)
    # those of other dimensions, and those among all stages, such as the norm of all gradients
    others_s = {
        phase: sum(
            sending(
                Message(name=phase, op=one.op, message_bytes=one.message_bytes, group=recorded_group(one))
            ).seconds
            for one in sent
            if one.phase == phase and one.op not in ("send", "recv")
        )
        for phase in ("data", "forward", "backward", "optimizer")
    }
    forward_s, backward_s = (
        phase_s / stages + others_s[phase] / (micro_batches * stages)
        for phase, phase_s in (("forward", phases.forward_s), ("backward", phases.backward_s))
    )
    weight_s = phases.backward_s / stages / 2
    seconds: dict[Part, float] = {
        "forward": forward_s,
        "backward": backward_s,
        "backward_input": backward_s - weight_s,
        "backward_weight": weight_s,
    }
    made = works(
        layout.schedule,
        ranks=layout.pp,
        stages_per_rank=stages,
        micro_batches=micro_batches,
        seconds=seconds,
        message_bytes=max(one.message_bytes for one in sent if one.op == "send"),
        ranks_per_node=spec.ranks_per_node,
        stride=layout.tp,
        cores=cores.computing,
    )

    timeline = simulate(made, sending, cores.of_a_rank)
    step_s = (
        micro_batches * phases.data_s
        + others_s["data"]
        + timeline.step_s
        + phases.optimizer_s
        + others_s["optimizer"]
    )
    return StepTime(
        communication_s=communication_s,
        computation_s=computation_s,
        exposed_s=max(0.0, step_s - computation_s),
    )
