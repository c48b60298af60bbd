"""Figures of a profiled step from constructed events."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from bench.measure.profile.collective_names import (
    Collective,
    GroupEvent,
    NcclKernel,
    RequestedMessage,
    bytes_of,
    of_gloo,
    of_nccl,
    op_of,
    with_groups,
)
from bench.measure.profile.intervals import union
from bench.measure.profile.profiled_step import Event, OpProfile, compute_intervals, profile, windows


def operator(name: str, begin_ns: int, end_ns: int, thread: int = 1, kind: str = "cpu_op") -> Event:
    return Event(name=name, kind=kind, begin_ns=begin_ns, end_ns=end_ns, thread=thread)


def collective(begin_ns: int, end_ns: int, op: str = "all_reduce", size: int | None = 100) -> Collective:
    return Collective(op=op, begin_ns=begin_ns, end_ns=end_ns, message_bytes=size)


def message(name: str, at_ns: int, *elements: int, dtype: str = "float") -> GroupEvent:
    return GroupEvent(name=name, begin_ns=at_ns, end_ns=at_ns + 10, elements=elements, dtype=dtype)


def test_communication_is_exposed_where_nothing_is_computed():
    step = profile((100, 200), [(90, 130), (150, 160)], [collective(120, 155), collective(150, 170)])
    assert (step.step_ns, step.communication_ns, step.compute_ns) == (100, 50, 40)
    assert step.exposed_communication_ns == (150 - 130) + (170 - 160)
    assert step.collectives == {
        "all_reduce": OpProfile(calls=2, message_bytes=200, time_ns=50, exposed_ns=30)
    }


def test_a_collective_of_the_step_before_is_none_of_this_one_and_counts_to_the_end_of_its_own():
    calls = [collective(90, 120), collective(190, 230)]
    assert profile((100, 200), [], calls).communication_ns == 10
    assert profile((50, 100), [], calls).communication_ns == 10


@pytest.mark.parametrize("seed", range(50))
def test_times_of_a_step_are_those_of_its_single_moments(seed):
    draw = random.Random(seed)

    def span(longest: int) -> tuple[int, int]:
        begin = draw.randrange(200)
        return begin, begin + draw.randrange(longest)

    window = (40, 160)
    compute = union(span(20) for _ in range(12))
    calls = [collective(*span(30), draw.choice(("all_reduce", "broadcast"))) for _ in range(10)]
    begun = [each for each in calls if window[0] <= each.begin_ns < window[1]]

    def moments(spans: Iterable[tuple[int, int]]) -> set[int]:
        return {moment for span in spans for moment in range(*span)} & set(range(*window))

    def times(of: Sequence[Collective]) -> tuple[int, int]:
        busy = moments((each.begin_ns, each.end_ns) for each in of)
        return len(busy), len(busy - moments(compute))

    step = profile(window, compute, calls)
    assert (step.step_ns, step.compute_ns) == (120, len(moments(compute)))
    assert (step.communication_ns, step.exposed_communication_ns) == times(begun)
    assert {op: (each.time_ns, each.exposed_ns) for op, each in step.collectives.items()} == {
        op: times([each for each in begun if each.op == op]) for op in {each.op for each in begun}
    }


def test_collectives_are_told_by_kind_and_one_of_unknown_size_makes_its_kind_unknown():
    calls = [
        collective(0, 5, "all_gather"),
        collective(3, 9, "all_gather", None),
        collective(8, 10, "broadcast"),
    ]
    found = profile((0, 20), [], calls).collectives
    assert found["all_gather"] == OpProfile(calls=2, message_bytes=None, time_ns=9, exposed_ns=9)
    assert found["broadcast"] == OpProfile(calls=1, message_bytes=100, time_ns=2, exposed_ns=2)


def test_a_collective_has_the_group_of_the_message_that_was_sent_in_its_turn():
    sent = [
        RequestedMessage(op="all_gather", message_bytes=100, group="tp"),
        RequestedMessage(op="reduce_scatter", message_bytes=60, group="dp"),
        RequestedMessage(op="all_gather", message_bytes=100, group="dp"),
    ]
    calls = [
        collective(50, 60, "all_gather"),
        collective(0, 5, "all_gather"),
        collective(30, 40, "all_reduce", 60),  # gloo's name for it
        collective(70, 80, "all_reduce", 8),
        replace(collective(90, 95, "all_gather"), group="known"),
    ]
    found = with_groups(calls, sent)
    assert [(each.begin_ns, each.op, each.group) for each in found] == [
        (0, "all_gather", "tp"),
        (30, "reduce_scatter", "dp"),
        (50, "all_gather", "dp"),
        (70, "all_reduce", None),
        (90, "all_gather", "known"),
    ]
    groups = profile((0, 100), [(2, 4)], found).groups
    assert groups["tp"] == OpProfile(calls=1, message_bytes=100, time_ns=5, exposed_ns=3)


def test_on_a_cpu_operators_compute_and_what_waits_or_belongs_to_gloo_does_not():
    events = [
        operator("aten::mm", 0, 10),
        operator("aten::copy_", 2, 4),
        operator("torch::distributed::reducer::mul_out", 20, 30),
        operator("c10d::allreduce_", 40, 50),
        operator("autograd::engine::evaluate_function: AddmmBackward0", 0, 100),
        operator("torch::autograd::AccumulateGrad", 60, 70),
        operator("aten::div_", 80, 90, thread=2),
        operator("gloo:all_reduce", 75, 95, kind="user_annotation", thread=2),
        operator("FSDP::pre_forward (0)", 0, 100, kind="user_annotation"),
        operator("## Call CompiledFxGraph abc ##", 90, 95, kind="user_annotation"),
    ]
    assert compute_intervals(events) == [(0, 10), (20, 30), (90, 95)]


def test_the_training_computes_on_the_thread_on_which_a_pipeline_sends_and_receives():
    events = [
        operator("gloo:recv", 0, 20, kind="user_annotation"),
        operator("aten::mm", 20, 30),
        operator("gloo:send", 30, 35, kind="user_annotation"),
    ]
    assert compute_intervals(events) == [(20, 30)]


def test_on_a_gpu_only_its_kernels_compute():
    events = [
        operator("aten::mm", 0, 100),
        operator("gemm", 20, 30, kind="kernel"),
        operator("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 25, 60, kind="kernel"),
        operator("void elementwise_kernel<4, ncclKernel_AllReduce>(int)", 70, 80, kind="kernel"),
    ]
    assert compute_intervals(events) == [(20, 30), (70, 80)]


def test_gloo_is_named_and_sized_by_what_was_asked_of_it():
    messages = [
        message("c10d::_allgather_base_", 0, 8, 4),
        message("gloo:all_gather", 5, 4),
        message("c10d::_reduce_scatter_base_", 20, 4, 8),
        message("gloo:all_reduce", 25, 8),
        message("c10d::allreduce_", 40),
        message("gloo:all_reduce", 45, 8, dtype="c10::BFloat16"),
        message("gloo:all_gather", 60, 7),
        message("gloo:all_reduce", 80, 1),
        message("gloo:all_reduce", 90, 8, dtype="int"),
    ]
    assert [(found.op, found.message_bytes) for found in of_gloo(messages, 3)] == [
        ("all_gather", 32),
        ("reduce_scatter", 32),
        ("all_reduce", 16),
        ("all_gather", 84),
        ("control", 4),
        ("control", 32),
    ]


ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"


def nccl_kernel(begin_ns: int, call_id: int, name: str = ALL_REDUCE) -> NcclKernel:
    return NcclKernel(name=name, begin_ns=begin_ns, end_ns=begin_ns + 5, call_id=call_id)


def asked_of_nccl(name: str, elements_in: int, elements_out: int, dtype: str) -> dict[str, str]:
    """As torch 2.15's profiler has it: texts in quotation marks, numbers without."""
    return {
        "Collective name": f'"{name}"',
        "dtype": f'"{dtype}"',
        "In msg nelems": str(elements_in),
        "Out msg nelems": str(elements_out),
    }


def test_nccl_is_named_and_sized_by_the_call_behind_the_kernel():
    calls = {
        1: {
            "Collective name": '"allreduce"',
            "dtype": '"Float"',
            "In msg nelems": "1000",
            "Out msg nelems": "1000",
        },
        2: asked_of_nccl("_allgather_base", 4, 8, "BFloat16"),
        3: asked_of_nccl("allreduce", 1, 1, "Float"),
    }
    scatter = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(...)"
    found = of_nccl([*(nccl_kernel(10 * each, each) for each in calls), nccl_kernel(40, 0, scatter)], calls)
    assert [(each.op, each.message_bytes) for each in found] == [
        ("all_reduce", 4000),
        ("all_gather", 16),
        ("control", 4),
        ("reduce_scatter", None),
    ]


@pytest.mark.parametrize(
    ("kernel", "op"),
    [
        ("ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_bf16(ncclSymkDevWorkArgs4K)", "all_reduce"),
        ("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)", "all_gather"),
        ("ncclSymDevKernel_ReduceScatter_LD_sum_f32(ncclSymDevArgs)", "reduce_scatter"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all_reduce"),
    ],
)
def test_kernels_of_every_kind_of_nccl_are_named_by_their_operation(kernel: str, op: str):
    (found,) = of_nccl([nccl_kernel(0, 0, kernel)], {})
    assert found.op == op


def test_several_kernels_of_one_call_are_one_call_and_take_the_time_of_all():
    calls = {7: asked_of_nccl("allreduce", 100, 100, "Float")}
    found = list(of_nccl([nccl_kernel(20, 7), nccl_kernel(0, 7)], calls))
    whole = profile((0, 30), [], found).collectives
    assert whole == {"all_reduce": OpProfile(calls=1, message_bytes=400, time_ns=10, exposed_ns=10)}
    assert profile((0, 10), [], found).collectives["all_reduce"].message_bytes == 400


def test_kernels_whose_call_is_not_known_are_a_call_each():
    found = of_nccl([nccl_kernel(0, 0), nccl_kernel(20, 0)], {})
    unknown = profile((0, 30), [], list(found)).collectives
    assert unknown == {"all_reduce": OpProfile(calls=2, message_bytes=None, time_ns=10, exposed_ns=10)}


@pytest.mark.parametrize(
    ("said", "op"),
    [
        ("allreduce_", "all_reduce"),
        ("allreduce_coalesced", "all_reduce"),
        ("_reduce_scatter_base_", "reduce_scatter"),
        ("allgather_into_tensor_coalesced_", "all_gather"),
        ("AllGather", "all_gather"),
        ("broadcast_", "broadcast"),
        ("SendRecv", "SendRecv"),
    ],
)
def test_names_of_collectives_are_those_of_torch_distributed(said, op):
    assert op_of(said) == op


def test_bytes_of_a_type_that_is_not_known_are_not_known():
    assert (bytes_of(3, "Half"), bytes_of(0, ""), bytes_of(3, "float8")) == (6, 0, None)


def test_marked_steps_are_found_by_their_number():
    events = [operator("bench.step 12", 5, 9, kind="user_annotation"), operator("aten::mm", 5, 9)]
    assert list(windows(events, "bench.step ")) == [(12, (5, 9))]
