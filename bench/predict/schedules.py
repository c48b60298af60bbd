"""The order of a rank's work in a pipeline, by schedule.

The orders are those of torch.distributed.pipelining, with which a test compares them: GPipe (Huang et al. 2019,
arXiv:1811.06965), 1F1B and its interleaved form (Narayanan et al. 2021, arXiv:2104.04473), and zero bubble, ZB1P (Qi et
al. 2023, arXiv:2401.10241).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bench.predict.timeline import Computation, Group, Message, Work
from bench.strategies._layout import Schedule

Part = Literal["forward", "backward", "backward_input", "backward_weight"]


@dataclass(frozen=True)
class Action:
    """A rank's work on a micro-batch in a stage."""

    part: Part
    stage: int
    """0-based, over all ranks; rank r has the stages r, r + ranks, r + 2 ranks, ..."""
    micro_batch: int


def order(
    schedule: Schedule, rank: int, *, ranks: int, stages_per_rank: int, micro_batches: int
) -> list[Action]:
    """All that a rank does in a step, in order."""
    rounds = max(1, micro_batches // ranks)
    per_round = micro_batches if schedule in ("gpipe", "1f1b") else micro_batches // rounds
    forwards = stages_per_rank * micro_batches
    later = ranks - 1 - rank
    before = {
        "gpipe": forwards,
        "1f1b": later,
        "interleaved": (stages_per_rank - 1) * per_round + 2 * later,
        "zero_bubble": (stages_per_rank - 1) * per_round + later,
    }
    warmup = min(before[schedule], forwards)
    splits = schedule == "zero_bubble"
    done: dict[tuple[Part, int], int] = {}
    actions: list[Action] = []

    def add(part: Part, local_stage: int) -> None:
        stage = local_stage * ranks + rank
        micro_batch = done.get((part, stage), 0)
        done[part, stage] = micro_batch + 1
        actions.append(Action(part, stage, micro_batch))

    def backward_stage(number: int) -> int:
        return stages_per_rank - 1 - number // per_round % stages_per_rank

    weights = 0
    for number in range(warmup + forwards):
        if number < forwards:
            add("forward", number // per_round % stages_per_rank)
        if number >= warmup:
            add("backward_input" if splits else "backward", backward_stage(number - warmup))
            if splits and number - warmup >= rank:
                add("backward_weight", backward_stage(weights))
                weights += 1
    if splits:
        for number in range(weights, forwards):
            add("backward_weight", backward_stage(number))
    return actions


def works(
    schedule: Schedule,
    *,
    ranks: int,
    stages_per_rank: int,
    micro_batches: int,
    seconds: Mapping[Part, float],
    message_bytes: float = 0.0,
    ranks_per_node: int | None = None,
    stride: int = 1,
    cores: float = 0.0,
) -> list[Work]:
    """All work of a pipeline whose stages are alike. `seconds`: of each part in one stage; `message_bytes`: of the
    message from a stage to the next one in forward, and back in backward; `ranks_per_node` null: all are on one node;
    `stride`: the next stage is as many ranks away; `cores`: CPU cores that computation keeps busy.

    Nothing waits for the gradient of the first stage's input, so torch computes all of that stage's backward in
    `backward_weight`."""
    last = ranks * stages_per_rank - 1
    of_a_node = ranks_per_node or ranks * stride

    def name(action: Action) -> str:
        return f"{action.part} {action.stage} {action.micro_batch}"

    def from_stage(part: Part, stage: int, number: int) -> tuple[str, ...]:
        return (f"message of {name(Action(part, stage, number))}",)

    def after(action: Action) -> tuple[str, ...]:
        part, stage, number = action.part, action.stage, action.micro_batch
        if part == "forward":
            return () if stage == 0 else from_stage("forward", stage - 1, number)
        if part == "backward_weight":
            return (name(Action("backward_input", stage, number)),)
        if stage == last:
            return (name(Action("forward", stage, number)),)
        return from_stage(part, stage + 1, number)

    def sent(action: Action, rank: int) -> list[Work]:
        """The message that follows the action, if there is one."""
        forward = action.part == "forward"
        if action.part == "backward_weight" or action.stage == (last if forward else 0):
            return []
        to = (rank + 1 if forward else rank - 1) % ranks
        group = Group(f"{rank} to {to}", 2, 1 + (rank * stride // of_a_node != to * stride // of_a_node))
        (message,) = from_stage(action.part, action.stage, action.micro_batch)
        return [
            Message(
                name=message,
                op="send",
                message_bytes=message_bytes,
                group=group,
                rank=rank,
                after=(name(action),),
            )
        ]

    def seconds_of(action: Action) -> float:
        if action.stage > 0 or not action.part.startswith("backward_"):
            return seconds[action.part]
        both = seconds["backward_input"] + seconds["backward_weight"]
        return both if action.part == "backward_weight" else 0.0

    return [
        work
        for rank in range(ranks)
        for one in order(
            schedule, rank, ranks=ranks, stages_per_rank=stages_per_rank, micro_batches=micro_batches
        )
        for work in (
            Computation(name=name(one), seconds=seconds_of(one), rank=rank, cores=cores, after=after(one)),
            *sent(one, rank),
        )
    ]
