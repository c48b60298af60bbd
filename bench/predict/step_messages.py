"""Where the messages of a rank are in its step: which computation makes each ready, and which waits for it.

A shadow of the rank recorded them: how much of the computation came before each, and whether the rank waits for it at
once. DDP sends a bucket once backward has made its gradients, and waits for all buckets at the end of backward. FSDP
gathers each unit before its forward and its backward, and reduces the gradients of a unit after its backward.
On a CPU torch's FSDP calls its operations without `async_op`: the rank waits in each of them. On a GPU it gathers
ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.predict.one_rank import Phases
from bench.predict.step_works import Stretch, StretchMessage
from bench.predict.timeline import Group
from bench.records.run_spec import RunSpec
from bench.shadow.records import ShadowMessage

_SHARDING_GROUPS = ("world", "shard", "dp_shard")
_REPLICATING_GROUPS = ("replicate", "dp_replicate")


def stretches(spec: RunSpec, recorded: Sequence[ShadowMessage], phases: Phases) -> list[Stretch]:
    """The step of a rank with the messages that its shadow recorded."""

    def sent_in(phase: str, micro_batch: int) -> tuple[StretchMessage, ...]:
        found = [one for one in recorded if (one.phase, one.micro_batch) == (phase, micro_batch)]
        sent = [_stretch_message(one, before) for one, before in zip(found, [None, *found], strict=False)]
        return tuple(_on_own_stream(sent, phase) if _shards_on_gpus(spec) else sent)

    made = []
    for number in range(spec.train.accumulate):
        forward = sent_in("data", number) + sent_in("forward", number)
        made += [
            Stretch(name=f"data {number}", seconds=phases.data_s),
            Stretch(name=f"forward {number}", seconds=phases.forward_s, messages=forward),
            Stretch(
                name=f"backward {number}", seconds=phases.backward_s, messages=sent_in("backward", number)
            ),
        ]
    last = sent_in("optimizer", spec.train.accumulate - 1)
    return [*made, Stretch(name="optimizer", seconds=phases.optimizer_s, messages=last)]


def _stretch_message(one: ShadowMessage, before: ShadowMessage | None) -> StretchMessage:
    """`before`: the message before it in its phase and micro-batch. The end of the phase waits for a message for which
    the rank does not wait at once, as at the end of DDP's backward."""
    return StretchMessage(
        op=one.op,
        message_bytes=one.message_bytes,
        group=recorded_group(one),
        ready=one.computed_before,
        needed=one.computed_before if one.waits else 1.0,
        follows=before is not None and before.waits,
    )


def _shards_on_gpus(spec: RunSpec) -> bool:
    """Whether torch's FSDP sends messages on streams of its own."""
    return spec.device_type == "cuda" and spec.strategy in ("fsdp", "fsdp1", "mesh")


def _on_own_stream(sent: Sequence[StretchMessage], phase: str) -> list[StretchMessage]:
    """The messages of a phase as FSDP sends them on a GPU; the shadow took the step on a CPU, where it waits at once.

    In forward it gathers a unit once the unit before the previous one has been copied out. In backward it gathers a
    unit when the backward of the previous one begins, which is where the shadow saw it. A reduction must end before the
    next one can begin, because torch keeps one buffer for them."""
    found = list(sent)
    for op in ("all_gather", "reduce_scatter"):
        places = [
            number for number, one in enumerate(sent) if one.op == op and one.group.name in _SHARDING_GROUPS
        ]
        shares = [sent[number].ready for number in places]
        following = [*shares[1:], 1.0]
        for index, number in enumerate(places):
            one = sent[number]
            if op == "all_gather" and phase == "forward":
                found[number] = replace(one, ready=shares[max(0, index - 2)], follows=False)
            else:
                found[number] = replace(one, needed=following[index], follows=False)
                if number + 1 < len(sent) and sent[number + 1].group.name in _REPLICATING_GROUPS:
                    found[number + 1] = replace(sent[number + 1], needed=following[index], follows=True)
    return found


def recorded_group(one: ShadowMessage) -> Group:
    return Group(one.group, one.group_size, one.group_nodes)
