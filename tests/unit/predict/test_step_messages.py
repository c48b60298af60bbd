"""Where FSDP's and DDP's messages are in a simulated step, on GPUs and on CPUs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench import strategies
from bench.predict.memory import ModelSize
from bench.predict.network import Fabric, Line, step_traffic, total
from bench.predict.one_rank import Phases
from bench.predict.step_messages import (
    backward_messages,
    forward_messages,
    recorded_stretches,
    stretches,
)
from bench.predict.step_time import Cores, step_time
from bench.records.run_spec import RunSpec
from bench.shadow.records import Message as Recorded
from tests.factory import Case, specs

SIZE = ModelSize(
    parameters=400,
    parameter_bytes=1600,
    buffer_bytes=0,
    largest_parameter_bytes=400,
    block_parameters=[100, 100, 100],
)
PHASES = Phases(data_s=0.0, forward_s=4.0, backward_s=8.0, optimizer_s=1.0)


def spec_of(strategy: str, device: str = "cpu", **others: Any) -> RunSpec:
    (found,) = specs(
        Case(name="case", strategy=strategy, step_ms={2: 1.0}, repeats=1), "session", "suite", ()
    )
    options = strategies.load(strategy).Options(**others.pop("options", {}))
    train = dataclasses.replace(found.train, **others)
    return dataclasses.replace(
        found, device_type=device, train=train, strategy_options=dataclasses.asdict(options), threads=1
    )


def fabric(seconds: float, cpu_cores: float = 0.0) -> Fabric:
    """Every message takes that long."""
    lines = tuple(
        Line(
            op=op, across_nodes=False, nodes=1, ranks_per_node=2, latency_s=seconds, bus_bytes_per_s=1e30,
            cpu_cores=cpu_cores,
        )
        for op in ("all_reduce", "all_gather", "reduce_scatter")
    )  # fmt: skip
    return Fabric(lines=lines, source="", trees=False)


def exposed_s(spec: RunSpec, each_s: float, cpu_cores: float = 0.0, cores: float = 1.0) -> float | None:
    traffic, unknown = step_traffic(spec, SIZE.parameters, SIZE.units)
    assert unknown is None
    network = fabric(each_s, cpu_cores)
    shared = Cores(of_a_rank=cores, computing=1.0 if spec.device_type == "cpu" else 0.0)
    communication_s = total(network.seconds(one, spec) for one in traffic)
    found = step_time(stretches(spec, SIZE, traffic, PHASES), communication_s, network, shared)
    if spec.train.accumulate == 1:
        assert found.computation_s == 13
    return found.exposed_s


@pytest.mark.parametrize("options", [{}, {"reshard": "grad_op"}])
@pytest.mark.parametrize("micro_batches", [1, 3])
def test_the_messages_of_a_step_are_those_of_its_traffic(options: dict[str, str], micro_batches: int) -> None:
    spec = spec_of("fsdp", options=options, accumulate=micro_batches)
    traffic, _ = step_traffic(spec, SIZE.parameters, SIZE.units)
    sent = [
        one
        for number in range(micro_batches)
        for one in (*forward_messages(spec, SIZE, number), *backward_messages(spec, SIZE, traffic, number))
    ]
    for op in ("all_gather", "reduce_scatter"):
        expected = [one for one in traffic if one.op == op]
        assert len([one for one in sent if one.op == op]) == sum(one.messages for one in expected)
        assert sum(one.message_bytes for one in sent if one.op == op) == sum(
            one.message_bytes for one in expected
        )


def test_fsdp_on_a_cpu_waits_for_every_message() -> None:
    # 4 gathers in forward, 4 in backward, 4 reductions
    assert exposed_s(spec_of("fsdp"), 0.5) == pytest.approx(6.0)


def test_fsdp_on_a_gpu_hides_all_but_the_first_gathers_and_the_last_reductions() -> None:
    # two gathers before forward, one before backward; after it the reductions of the first block and of the rest
    assert exposed_s(spec_of("fsdp", "cuda"), 0.5) == pytest.approx(2.5)


def test_the_norm_for_clipping_is_one_more_message() -> None:
    assert exposed_s(spec_of("fsdp", clip_norm=1.0), 0.5) == pytest.approx(6.5)


def test_ddp_hides_its_bucket_behind_nothing_and_several_behind_backward() -> None:
    assert exposed_s(spec_of("ddp"), 2.0) == pytest.approx(2.0)
    buckets = {"options": {"bucket_cap_mb": 400 / 2**20}}
    assert exposed_s(spec_of("ddp", **buckets), 1.0) == pytest.approx(1.0)


def test_messages_on_the_core_that_computes_hide_behind_nothing() -> None:
    spec = spec_of("ddp", options={"bucket_cap_mb": 400 / 2**20})
    assert exposed_s(spec, 1.0, cpu_cores=1.0, cores=1.0) == pytest.approx(4.0)
    assert exposed_s(spec, 1.0, cpu_cores=1.0, cores=2.0) == pytest.approx(1.0)


def test_shard_groups_also_average_their_gradients() -> None:
    spec = dataclasses.replace(spec_of("fsdp", options={"shard_size": 2}), world_size=4, ranks_per_node=4)
    traffic, _ = step_traffic(spec, SIZE.parameters, SIZE.units)
    sent = [one for one in backward_messages(spec, SIZE, traffic, 0) if one.op == "all_reduce"]
    assert [one.group.name for one in sent] == ["groups"] * 4
    assert sum(one.message_bytes for one in sent) == SIZE.parameters * 4 / 2
    assert all(one.follows for one in sent)


def recorded(
    op: str,
    phase: str,
    micro_batch: int = 0,
    *,
    before: float = 0.0,
    waits: bool = True,
    group: str = "world",
) -> Recorded:
    return Recorded(
        op=op, group=group, group_size=2, group_nodes=1, phase=phase, micro_batch=micro_batch, message_bytes=4,
        computed_before=before, waits=waits,
    )  # fmt: skip


def recorded_exposed_s(spec: RunSpec, sent: list[Recorded], each_s: float) -> float | None:
    step = recorded_stretches(spec, sent, PHASES)
    return step_time(step, each_s * len(sent), fabric(each_s), Cores()).exposed_s


def test_recorded_messages_are_waited_for_in_their_phase_and_micro_batch() -> None:
    spec = spec_of("ddp", accumulate=2)
    sent = [recorded("all_reduce", "forward", number, before=0.5) for number in (0, 0, 1)] + [
        recorded("all_gather", "backward", 1),
        recorded("all_reduce", "optimizer", 1),
    ]
    step = recorded_stretches(spec, sent, PHASES)
    assert [(one.name, len(one.messages)) for one in step if one.messages] == [
        ("forward 0", 2), ("forward 1", 1), ("backward 1", 1), ("optimizer", 1),
    ]  # fmt: skip
    assert recorded_exposed_s(spec, sent, 0.5) == pytest.approx(2.5)


def test_messages_of_two_groups_that_a_rank_waits_for_follow_each_other() -> None:
    sent = [recorded("all_reduce", "forward", group=group) for group in ("tp", "dp_shard", "tp")]
    assert recorded_exposed_s(spec_of("mesh", options={"dp_shard": 2}), sent, 0.5) == pytest.approx(1.5)


def test_a_recorded_bucket_hides_behind_the_rest_of_backward() -> None:
    # backward takes 8 s: the first bucket has 4 s, the last one nothing to hide behind
    sent = [recorded("all_reduce", "backward", before=before, waits=False) for before in (0.5, 1.0)]
    assert recorded_exposed_s(spec_of("ddp"), sent, 3.0) == pytest.approx(3.0)
    assert recorded_exposed_s(spec_of("ddp"), sent, 5.0) == pytest.approx(6.0)


UNITS = (
    *[recorded("all_gather", "forward", before=before) for before in (0.0, 0.0, 0.25, 0.5)],
    *[recorded("all_gather", "backward", before=before) for before in (0.0, 0.0, 0.25)],
    recorded("reduce_scatter", "backward", before=0.5),
    recorded("all_gather", "backward", before=0.5),
    *[recorded("reduce_scatter", "backward", before=before) for before in (0.75, 1.0, 1.0)],
)
"""A shadow's record under fsdp: a model with three blocks and a part outside them, each with equal computation."""


@pytest.mark.parametrize("group", ["world", "dp_shard"])
def test_recorded_messages_of_fsdp_hide_on_a_gpu_as_those_of_the_formulas(group: str) -> None:
    sent = [dataclasses.replace(one, group=group) for one in UNITS]
    strategy = "fsdp" if group == "world" else "mesh"
    assert recorded_exposed_s(spec_of(strategy), sent, 0.5) == pytest.approx(6.0)
    assert recorded_exposed_s(spec_of(strategy, "cuda"), sent, 0.5) == pytest.approx(2.5)


def test_tensor_parallelism_on_a_gpu_waits_between_what_fsdp_hides() -> None:
    among_layers = [recorded("all_gather", "forward", before=before, group="tp") for before in (0.25, 0.5)]
    sent = [*UNITS[:2], *among_layers, *UNITS[2:]]
    sent = [dataclasses.replace(one, group="dp_shard") if one.group == "world" else one for one in sent]
    assert recorded_exposed_s(spec_of("mesh", "cuda"), sent, 0.5) == pytest.approx(2.5 + 2 * 0.5)


def test_shard_groups_average_each_reduction_after_it() -> None:
    reduced = [recorded("reduce_scatter", "backward", before=before, group="shard") for before in (0.5, 1.0)]
    averaged = [recorded("all_reduce", "backward", before=before, group="replicate") for before in (0.5, 1.0)]
    sent = [reduced[0], averaged[0], reduced[1], averaged[1]]
    spec = spec_of("fsdp", "cuda", options={"shard_size": 2})
    assert recorded_exposed_s(spec, sent, 1.5) == pytest.approx(3.0)  # 4 s hide the first two
    # the second reduction begins when backward ends, and its average follows
    assert recorded_exposed_s(spec, sent, 2.5) == pytest.approx(5.0)
