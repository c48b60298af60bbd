"""The order of work in a pipeline: its idle share against closed forms, its actions against torch's."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from bench.predict.schedules import Action, Part, order, works
from bench.predict.timeline import Message, Sending, Timeline, simulate
from bench.strategies._layout import Schedule

SECONDS: dict[Part, float] = {"forward": 1.0, "backward": 2.0, "backward_input": 1.0, "backward_weight": 1.0}


def pipeline(schedule: Schedule, ranks: int, stages_per_rank: int, micro_batches: int) -> Timeline:
    """Equal stages that send in no time."""
    seconds = {part: time / stages_per_rank for part, time in SECONDS.items()}
    made = works(
        schedule,
        ranks=ranks,
        stages_per_rank=stages_per_rank,
        micro_batches=micro_batches,
        seconds=seconds,
    )
    return simulate(made, lambda _: Sending(seconds=0))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_one_stage_a_rank_leaves_the_share_of_the_formula_idle(schedule: Schedule) -> None:
    for ranks, micro_batches in product((2, 3, 4, 8), (8, 16)):
        timeline = pipeline(schedule, ranks, 1, micro_batches)
        for rank in range(ranks):
            idle_share = timeline.idle_s(rank) / timeline.step_s
            assert idle_share == pytest.approx((ranks - 1) / (micro_batches + ranks - 1))


def test_interleaved_stages_leave_less_idle() -> None:
    for ranks, stages, micro_batches in product((2, 4), (2, 3), (4, 8)):
        timeline = pipeline("interleaved", ranks, stages, micro_batches)
        idle_share = timeline.idle_s(0) / timeline.step_s
        assert idle_share == pytest.approx((ranks - 1) / (stages * micro_batches + ranks - 1))


def test_zero_bubble_of_equal_parts_is_idle_a_third_as_long_as_1f1b() -> None:
    """With forward, backward of inputs and of weights of equal length, ZB1P idles for (p - 1) of them, 1F1B for
    3 (p - 1) (Qi et al. 2023, table 2)."""
    for ranks in (2, 4, 8):
        timeline = pipeline("zero_bubble", ranks, 1, 16)
        assert timeline.idle_s(0) == pytest.approx(ranks - 1)
        assert pipeline("1f1b", ranks, 1, 16).idle_s(0) == pytest.approx(3 * (ranks - 1))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_first_and_the_last_message_of_two_stages_lengthen_the_step(schedule: Schedule) -> None:
    """All others travel while both ranks compute, except under 1F1B: two micro-batches have a round trip."""
    micro_batches, message_s = 8, 0.25
    made = works(
        schedule, ranks=2, stages_per_rank=1, micro_batches=micro_batches, seconds=SECONDS, message_bytes=1.0
    )
    messages = [work for work in made if isinstance(work, Message)]
    assert {work.group.name: work.rank for work in messages} == {"0 to 1": 0, "1 to 0": 1}
    assert len(messages) == 2 * micro_batches
    step_s = simulate(made, lambda one: Sending(seconds=message_s * one.message_bytes)).step_s
    waits = {"gpipe": 2, "1f1b": micro_batches}[schedule]
    assert step_s == pytest.approx((micro_batches + 1) * 3.0 + waits * message_s)


def test_stages_on_different_nodes_send_between_nodes() -> None:
    made = works("1f1b", ranks=4, stages_per_rank=1, micro_batches=4, seconds=SECONDS, ranks_per_node=2)
    nodes = {work.group.name: work.group.nodes for work in made if isinstance(work, Message)}
    assert nodes == {"0 to 1": 1, "1 to 0": 1, "1 to 2": 2, "2 to 1": 2, "2 to 3": 1, "3 to 2": 1}


@pytest.mark.parametrize("schedule", ["interleaved", "zero_bubble"])
def test_the_order_is_torchs(schedule: Schedule) -> None:
    from torch.distributed.pipelining import schedules

    torchs: Any = {
        "interleaved": schedules.ScheduleInterleaved1F1B,
        "zero_bubble": schedules.ScheduleInterleavedZeroBubble,
    }[schedule]
    parts: dict[str, Part] = {
        "FORWARD": "forward",
        "FULL_BACKWARD": "backward",
        "BACKWARD_INPUT": "backward_input",
        "BACKWARD_WEIGHT": "backward_weight",
    }
    for ranks, stages, micro_batches in product((2, 3, 4), (1, 2, 3), (1, 2, 4, 6, 12)):
        rounds = max(1, micro_batches // ranks)
        if micro_batches % rounds:
            continue
        plan = SimpleNamespace(
            n_local_stages=stages,
            microbatches_per_round=micro_batches // rounds,
            pp_group_size=ranks,
            _n_microbatches=micro_batches,
        )
        for rank in range(ranks):
            found = torchs._calculate_single_rank_operations(plan, rank)
            theirs = [
                Action(parts[one.computation_type.name], one.stage_index, one.microbatch_index)
                for one in found
                if one is not None
            ]
            assert (
                order(schedule, rank, ranks=ranks, stages_per_rank=stages, micro_batches=micro_batches)
                == theirs
            )
