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


def recorded(op: str, phase: str, micro_batch: int = 0) -> Recorded:
    return Recorded(
        op=op, group="tp", group_size=2, group_nodes=1, phase=phase, micro_batch=micro_batch, message_bytes=4
    )


def test_recorded_messages_are_waited_for_in_their_phase_and_micro_batch() -> None:
    spec = spec_of("ddp", accumulate=2)
    sent = [recorded("all_reduce", "forward", number) for number in (0, 0, 1)] + [
        recorded("all_gather", "backward", 1),
        recorded("all_reduce", "optimizer", 1),
    ]
    step = recorded_stretches(spec, sent, PHASES)
    assert [(one.name, len(one.messages)) for one in step if one.messages] == [
        ("forward 0", 2), ("forward 1", 1), ("backward 1", 1), ("optimizer", 1),
    ]  # fmt: skip
    network = fabric(0.5)
    time = step_time(step, 2.5, network, Cores())
    assert time.computation_s == 2 * (4.0 + 8.0) + 1.0
    assert time.exposed_s == pytest.approx(2.5)
