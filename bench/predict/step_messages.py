"""Where the messages of a strategy are in its step: which computation makes each ready, and which waits for it.

DDP sends a bucket once backward has made its gradients, and waits for all buckets at the end of backward. FSDP gathers
each unit before its forward and its backward, and reduces the gradients of a unit after its backward.

- On a GPU, FSDP gathers ahead: in forward once the unit before the previous one has been copied out, in backward when
  the backward of the previous unit begins. A reduction must end before the next one can begin, because torch keeps one
  buffer for them.
- On a CPU, torch's FSDP calls its operations without `async_op`: the rank waits in each of them.

The part of the model outside all blocks is gathered first. Its forward comes last, its backward first, and its
gradients are complete last, as those of an embedding that is also the output layer.

The messages of other strategies are those that a shadow of the rank recorded: how much of the computation came before
each, and whether the rank waits for it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from bench.predict.memory import ModelSize
from bench.predict.network import Sharding, Traffic, group_of, is_sharded, shard_count
from bench.predict.one_rank import Phases
from bench.predict.step_works import Sent, Stretch
from bench.predict.timeline import Group
from bench.records.run_spec import RunSpec
from bench.shadow.records import Message as Recorded

_SHARDING_GROUPS = ("world", "shard", "dp_shard")
_REPLICATING_GROUPS = ("replicate", "dp_replicate")


def stretches(spec: RunSpec, size: ModelSize, traffic: list[Traffic], phases: Phases) -> list[Stretch]:
    """The step of a rank, by formulas; `traffic`: all of its messages."""
    return _step(
        spec,
        phases,
        lambda number: forward_messages(spec, size, number),
        lambda number: backward_messages(spec, size, traffic, number),
        optimizer_messages(spec),
    )


def recorded_stretches(spec: RunSpec, recorded: Sequence[Recorded], phases: Phases) -> list[Stretch]:
    """The step of a rank with the messages that its shadow recorded."""

    def sent_in(phase: str, micro_batch: int) -> tuple[Sent, ...]:
        found = [one for one in recorded if (one.phase, one.micro_batch) == (phase, micro_batch)]
        sent = [_as_sent(one, before) for one, before in zip(found, [None, *found], strict=False)]
        return tuple(_on_own_stream(sent, phase) if _shards_on_gpus(spec) else sent)

    return _step(
        spec,
        phases,
        lambda number: sent_in("data", number) + sent_in("forward", number),
        lambda number: sent_in("backward", number),
        sent_in("optimizer", spec.train.accumulate - 1),
    )


def _as_sent(one: Recorded, before: Recorded | None) -> Sent:
    """`before`: the message before it in its phase and micro-batch. The end of the phase waits for a message for which
    the rank does not wait at once, as at the end of DDP's backward."""
    return Sent(
        op=one.op,
        message_bytes=one.message_bytes,
        group=recorded_group(one),
        ready=one.computed_before,
        needed=one.computed_before if one.waits else 1.0,
        follows=before is not None and before.waits,
    )


def _shards_on_gpus(spec: RunSpec) -> bool:
    """Whether torch's FSDP sends messages on streams of its own."""
    return spec.device_type == "cuda" and (is_sharded(spec) or spec.strategy in ("mesh", "ep"))


def _on_own_stream(sent: Sequence[Sent], phase: str) -> list[Sent]:
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


def recorded_group(one: Recorded) -> Group:
    return Group(one.group, one.group_size, one.group_nodes)


def _step(
    spec: RunSpec,
    phases: Phases,
    forward: Callable[[int], tuple[Sent, ...]],
    backward: Callable[[int], tuple[Sent, ...]],
    optimizer: tuple[Sent, ...],
) -> list[Stretch]:
    """`forward`, `backward`: messages by micro-batch."""
    found = []
    for number in range(spec.train.accumulate):
        found += [
            Stretch(name=f"data {number}", seconds=phases.data_s),
            Stretch(name=f"forward {number}", seconds=phases.forward_s, messages=forward(number)),
            Stretch(name=f"backward {number}", seconds=phases.backward_s, messages=backward(number)),
        ]
    return [*found, Stretch(name="optimizer", seconds=phases.optimizer_s, messages=optimizer)]


def forward_messages(spec: RunSpec, size: ModelSize, micro_batch: int) -> tuple[Sent, ...]:
    """Messages in the forward of a micro-batch, 0-based."""
    if not is_sharded(spec) or spec.world_size == 1:
        return ()
    sharding = Sharding.of(spec)
    if sharding.keeps and spec.strategy == "fsdp1" and micro_batch > 0:
        return ()
    blocks = _shares(size.block_parameters, size)
    units = [(size.rest_parameters, 0.0), *zip(size.block_parameters, [0.0, *blocks], strict=False)]
    return tuple(_gathers(units, spec, ahead=2))


def backward_messages(
    spec: RunSpec, size: ModelSize, traffic: list[Traffic], micro_batch: int
) -> tuple[Sent, ...]:
    """Messages in the backward of a micro-batch, 0-based; `traffic`: that of the step."""
    is_last = micro_batch == spec.train.accumulate - 1
    if is_sharded(spec) and spec.world_size > 1:
        gathers = [] if Sharding.of(spec).keeps else _gathers_in_backward(spec, size)
        sent = [*gathers, *(_reductions(spec, size) if is_last else [])]
        return tuple(sorted(sent, key=lambda one: (one.ready, one.op == "all_gather")))
    return tuple(
        Sent(
            op=one.op,
            message_bytes=one.message_bytes / one.messages,
            group=group_of(one.scope, spec),
            ready=(number + 1) / one.messages,
        )
        for one in traffic
        for number in range(one.messages)
        if is_last
    )


def optimizer_messages(spec: RunSpec) -> tuple[Sent, ...]:
    """The norm of sharded gradients, for clipping."""
    if not is_sharded(spec) or shard_count(spec) == 1 or spec.train.clip_norm is None:
        return ()
    return (Sent(op="all_reduce", message_bytes=4, group=group_of("ranks", spec), ready=0.0, needed=0.0),)


def _shares(parameters: list[int], size: ModelSize) -> list[float]:
    """Share of the computation up to the end of each unit: that of its parameters."""
    return [sum_ / size.parameters for sum_ in accumulate(parameters)]


def _gathers(units: list[tuple[int, float]], spec: RunSpec, *, ahead: int) -> list[Sent]:
    """`units`: parameters of each, and the share of computation before it. A unit is gathered `ahead` units before it
    is needed; on a CPU only then."""
    ahead = ahead if spec.device_type == "cuda" else 0
    return [
        Sent(
            op="all_gather",
            message_bytes=parameters * Sharding.of(spec).gathered,
            group=group_of("ranks", spec),
            ready=units[max(0, number - ahead)][1],
            needed=needed,
        )
        for number, (parameters, needed) in enumerate(units)
        if parameters
    ]


def _backwards(size: ModelSize) -> list[tuple[int, float, float]]:
    """The blocks in backward's order: parameters, and the shares of computation before and after."""
    blocks = size.block_parameters[::-1]
    ends = _shares([size.rest_parameters, *blocks], size)
    return list(zip(blocks, ends, ends[1:], strict=False))


def _gathers_in_backward(spec: RunSpec, size: ModelSize) -> list[Sent]:
    units = [(size.rest_parameters, 0.0), *((parameters, begin) for parameters, begin, _ in _backwards(size))]
    return _gathers(units, spec, ahead=1)


def _reductions(spec: RunSpec, size: ModelSize) -> list[Sent]:
    units = [*((parameters, end) for parameters, _, end in _backwards(size)), (size.rest_parameters, 1.0)]
    found: list[Sent] = []
    waits = spec.device_type != "cuda"
    for number, (parameters, ready) in enumerate(units):
        if not parameters:
            continue
        following = units[min(number + 1, len(units) - 1)][1]
        one = Sent(
            op="reduce_scatter",
            message_bytes=parameters * Sharding.of(spec).reduced,
            group=group_of("ranks", spec),
            ready=ready,
            needed=ready if waits else following,
        )
        found.append(one)
        if shard_count(spec) < spec.world_size:
            shard_bytes = one.message_bytes / shard_count(spec)
            found.append(
                replace(
                    one,
                    op="all_reduce",
                    message_bytes=shard_bytes,
                    group=group_of("groups", spec),
                    follows=True,
                )
            )
    return found
