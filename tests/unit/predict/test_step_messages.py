"""Where FSDP's and DDP's messages are in a simulated step, on GPUs and on CPUs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench import strategies
from bench.predict.network import Fabric, Line
from bench.predict.one_rank import Phases
from bench.predict.step_messages import stretches
from bench.predict.step_time import Cores, step_time
from bench.records.run_spec import RunSpec
from bench.shadow.records import ShadowMessage
from tests.factory import Case, specs

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


def recorded(
    op: str,
    phase: str,
    micro_batch: int = 0,
    *,
    before: float = 0.0,
    waits: bool = True,
    group: str = "world",
) -> ShadowMessage:
    return ShadowMessage(
        op=op, group=group, group_size=2, group_nodes=1, phase=phase, micro_batch=micro_batch, message_bytes=4,
        computed_before=before, waits=waits,
    )  # fmt: skip


def exposed_s(
    spec: RunSpec,
    sent: list[ShadowMessage],
    each_s: float,
    cpu_cores: float = 0.0,
    cores: Cores | None = None,
) -> float | None:
    step = stretches(spec, sent, PHASES)
    return step_time(step, each_s * len(sent), fabric(each_s, cpu_cores), cores or Cores()).exposed_s


def test_messages_are_waited_for_in_their_phase_and_micro_batch() -> None:
    spec = spec_of("ddp", accumulate=2)
    sent = [recorded("all_reduce", "forward", number, before=0.5) for number in (0, 0, 1)] + [
        recorded("all_gather", "backward", 1),
        recorded("all_reduce", "optimizer", 1),
    ]
    step = stretches(spec, sent, PHASES)
    assert [(one.name, len(one.messages)) for one in step if one.messages] == [
        ("forward 0", 2), ("forward 1", 1), ("backward 1", 1), ("optimizer", 1),
    ]  # fmt: skip
    assert exposed_s(spec, sent, 0.5) == pytest.approx(2.5)


def test_messages_of_two_groups_that_a_rank_waits_for_follow_each_other() -> None:
    sent = [recorded("all_reduce", "forward", group=group) for group in ("tp", "dp_shard", "tp")]
    assert exposed_s(spec_of("mesh", options={"dp_shard": 2}), sent, 0.5) == pytest.approx(1.5)


def test_a_bucket_hides_behind_the_rest_of_backward() -> None:
    # backward takes 8 s: the first bucket has 4 s, the last one nothing to hide behind
    sent = [recorded("all_reduce", "backward", before=before, waits=False) for before in (0.5, 1.0)]
    assert exposed_s(spec_of("ddp"), sent, 3.0) == pytest.approx(3.0)
    assert exposed_s(spec_of("ddp"), sent, 5.0) == pytest.approx(6.0)


UNITS = (
    *[recorded("all_gather", "forward", before=before) for before in (0.0, 0.0, 0.25, 0.5)],
    *[recorded("all_gather", "backward", before=before) for before in (0.0, 0.0, 0.25)],
    recorded("reduce_scatter", "backward", before=0.5),
    recorded("all_gather", "backward", before=0.5),
    *[recorded("reduce_scatter", "backward", before=before) for before in (0.75, 1.0, 1.0)],
)
"""A shadow's record under fsdp: a model with three blocks and a part outside them, each with equal computation."""


@pytest.mark.parametrize("group", ["world", "dp_shard"])
def test_fsdp_hides_its_messages_on_a_gpu_and_none_on_a_cpu(group: str) -> None:
    sent = [dataclasses.replace(one, group=group) for one in UNITS]
    strategy = "fsdp" if group == "world" else "mesh"
    assert exposed_s(spec_of(strategy), sent, 0.5) == pytest.approx(6.0)
    assert exposed_s(spec_of(strategy, "cuda"), sent, 0.5) == pytest.approx(2.5)


def test_tensor_parallelism_on_a_gpu_waits_between_what_fsdp_hides() -> None:
    among_layers = [recorded("all_gather", "forward", before=before, group="tp") for before in (0.25, 0.5)]
    sent = [*UNITS[:2], *among_layers, *UNITS[2:]]
    sent = [dataclasses.replace(one, group="dp_shard") if one.group == "world" else one for one in sent]
    assert exposed_s(spec_of("mesh", "cuda"), sent, 0.5) == pytest.approx(2.5 + 2 * 0.5)


def test_shard_groups_average_each_reduction_after_it() -> None:
    reduced = [recorded("reduce_scatter", "backward", before=before, group="shard") for before in (0.5, 1.0)]
    averaged = [recorded("all_reduce", "backward", before=before, group="replicate") for before in (0.5, 1.0)]
    sent = [reduced[0], averaged[0], reduced[1], averaged[1]]
    spec = spec_of("fsdp", "cuda", options={"shard_size": 2})
    assert exposed_s(spec, sent, 1.5) == pytest.approx(3.0)  # 4 s hide the first two
    # the second reduction begins when backward ends, and its average follows
    assert exposed_s(spec, sent, 2.5) == pytest.approx(5.0)


def test_messages_on_the_core_that_computes_hide_behind_nothing() -> None:
    shares = (0.25, 0.5, 0.75, 1.0)
    sent = [recorded("all_reduce", "backward", before=before, waits=False) for before in shares]
    for ranks_cores, exposed in ((1.0, 4.0), (2.0, 1.0)):
        cores = Cores(of_a_rank=ranks_cores, computing=1.0)
        assert exposed_s(spec_of("ddp"), sent, 1.0, cpu_cores=1.0, cores=cores) == pytest.approx(exposed)
