"""The plan: a pure function of suite and slots. Its invariants hold for every suite that can be planned."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.plan.plan import in_running_order, most_runs, plan
from bench.plan.world_sizes import automatic, place
from bench.records.run_spec import MOST_MICRO_BATCHES, MeasureSpec, Slots, TrainSpec
from bench.suite.models import Case, ResolvedSuite
from bench.suite.resolve import load_suite

LAPTOP = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
NODES = Slots(nodes=2, slots_per_node=4, cpus_per_node=64, device_type="cuda", cuda_devices_per_node=4)


def case(name: str = "a", **keys: Any) -> Case:
    written: dict[str, Any] = {
        "name": name,
        "strategy": {"name": "ddp"},
        "scaling": "weak",
        "batch_per_rank": 8,
        "world": ["auto"],
        "workload": {"name": "spiral_mlp"},
        "measure": MeasureSpec(steps=10, repeats=2),
    }
    return Case.model_validate(written | keys)


def suite(*cases: Case) -> ResolvedSuite:
    return ResolvedSuite(name="s", title="S", why="", quick=False, cases=cases)


def strong(**keys: Any) -> Case:
    return case(scaling="strong", global_batch=keys.pop("global_batch", 64), batch_per_rank=None, **keys)


def ids(*cases: Case, slots: Slots = LAPTOP, **options: Any) -> list[str]:
    return [run.spec.run_id for run in plan(suite(*cases), slots, "session", **options)]


def reasons(*cases: Case, slots: Slots = LAPTOP, **options: Any) -> dict[str, str | None]:
    return {run.spec.run_id: run.skip_reason for run in plan(suite(*cases), slots, "session", **options)}


def test_repeats_are_interleaved_and_a_case_with_fewer_drops_out() -> None:
    cases = case("a", world=[1, 2]), case("b", world=[1], measure=MeasureSpec(steps=1, repeats=3))
    assert ids(*cases) == ["a.1x1.r0", "a.1x2.r0", "b.1x1.r0", "a.1x1.r1", "a.1x2.r1", "b.1x1.r1", "b.1x1.r2"]


def running_order(session_id: str, **options: Any) -> list[str]:
    sizes = case("a", world=[1, 2]), case("b", world=[1, 2], measure=MeasureSpec(steps=1, repeats=40))
    planned = plan(suite(*sizes), LAPTOP, session_id, **options)
    return [run.spec.run_id for run in in_running_order(planned)]


def test_every_round_runs_every_size_in_an_order_drawn_from_the_session() -> None:
    found = running_order("one")
    rounds = [found[:4], found[4:8], *(found[place : place + 2] for place in range(8, len(found), 2))]
    for repeat, ids_of_round in enumerate(rounds):
        assert {run_id.rpartition(".r")[2] for run_id in ids_of_round} == {str(repeat)}
    firsts = [ids_of_round[0].partition(".r")[0] for ids_of_round in rounds[2:]]
    assert 8 < firsts.count("b.1x1") < 30  # of 38
    assert running_order("one") == found != running_order("two")


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_no_size_has_the_same_position_in_all_of_the_first_three_rounds(repeats: int) -> None:
    sizes = case(world=[1, 2], measure=MeasureSpec(steps=1, repeats=repeats))
    for session in range(20):
        planned = plan(suite(sizes), LAPTOP, f"{session}")
        first = [run.spec.position for run in planned if run.spec.world_size == 1][:3]
        assert set(first) == {0, 1}


def test_the_second_round_is_the_first_one_backwards() -> None:
    """A steady drift then adds the same to every size in both rounds together."""
    sizes = [case(name, world=[1, 2], measure=MeasureSpec(steps=1, repeats=3)) for name in "abc"]
    runs = in_running_order(
        plan(suite(*sizes, case("once", measure=MeasureSpec(steps=1, repeats=1))), LAPTOP, "s")
    )
    rounds = [
        [run.spec.run_id.rpartition(".")[0] for run in runs if run.spec.round == number]
        for number in range(3)
    ]
    assert rounds[1] == [size for size in reversed(rounds[0]) if not size.startswith("once")]
    assert rounds[2] not in (rounds[0], rounds[1])


def test_a_fixed_order_is_the_suites_in_every_round() -> None:
    planned = plan(suite(case(world=[1, 2]), case("b", world=[1])), LAPTOP, "s", run_order="fixed")
    assert [(run.spec.round, run.spec.position) for run in planned] == [
        (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2),
    ]  # fmt: skip
    assert in_running_order(planned) == list(planned)


def test_a_baseline_may_get_as_many_repeats_as_the_case_that_asks_for_more() -> None:
    until = MeasureSpec(steps=1, repeats=2, until=0.01, max_repeats=7)
    cases = case("a", world=[1], measure=until, baseline="b"), case("b", world=[1])
    assert most_runs(plan(suite(*cases), LAPTOP, "s")) == 14


@pytest.mark.parametrize(
    ("repeats", "most", "planned"),
    [
        (2, 20, {"a": 5, "b": 5, "c": 2}),
        (2, 3, {"a": 3, "b": 3, "c": 2}),
        (8, 20, {"a": 8, "b": 5, "c": 2}),
    ],
)
@pytest.mark.parametrize("key", ["until", "until_efficiency"])
def test_a_case_that_may_stop_early_and_its_baseline_have_five_repeats_before_they_may(
    repeats: int, most: int, planned: dict[str, int], key: str
) -> None:
    measure = MeasureSpec(steps=1, repeats=repeats, max_repeats=most, **{key: 0.01})  # type: ignore[arg-type]
    cases = case("a", world=[1], measure=measure, baseline="b"), case("b", world=[1]), case("c", world=[1])
    assert Counter(run.spec.case_name for run in plan(suite(*cases), LAPTOP, "s")) == planned


def test_a_case_of_one_size_without_a_baseline_gets_no_repeats_for_its_efficiency() -> None:
    measure = MeasureSpec(steps=1, repeats=2, until_efficiency=0.01, max_repeats=7)
    planned = plan(suite(case(world=[1], measure=measure)), LAPTOP, "s")
    assert (len(planned), most_runs(planned)) == (2, 2)


def test_a_size_beyond_the_slots_is_skipped_with_the_numbers_or_oversubscribed_and_marked() -> None:
    wide = case(world=[2, 4], measure=MeasureSpec(steps=1, repeats=1))
    assert reasons(wide) == {
        "a.1x2.r0": None,
        "a.1x4.r0": "needs 4 slots, this machine has 2: --oversubscribe runs it anyway, marked",
    }
    assert [run.spec.oversubscribed for run in plan(suite(wide), LAPTOP, "s")] == [False, False]
    forced = plan(suite(wide), LAPTOP, "s", oversubscribe=True)
    assert [(run.skip_reason, run.spec.oversubscribed) for run in forced] == [(None, False), (None, True)]


def test_a_node_that_is_not_there_cannot_be_oversubscribed() -> None:
    assert reasons(case(world=["2x2"]), oversubscribe=True)["a.2x2.r0"] == "needs 2 nodes, this machine has 1"


def test_ranks_that_fit_the_allocation_but_not_a_node_are_skipped() -> None:
    assert reasons(case(world=[5], measure=MeasureSpec(steps=1, repeats=1)), slots=NODES) == {
        "a.1x5.r0": "needs 5 of 5 ranks on a node, each node of this allocation has 4 slots: "
        "--oversubscribe runs it anyway, marked"
    }


def test_a_case_for_gpus_is_skipped_where_there_is_none() -> None:
    reason = "needs a GPU, this machine has none: --device cpu runs it without"
    assert set(reasons(case(device="cuda", world=[1]), oversubscribe=True).values()) == {reason}


def test_a_case_for_the_cpu_has_cpus_for_slots_on_a_machine_with_gpus() -> None:
    assert ids(case(device="cpu", world=[32, 64], measure=MeasureSpec(steps=1, repeats=1)), slots=NODES) == [
        "a.1x32.r0",
        "a.1x64.r0",
    ]


@pytest.mark.parametrize(
    ("ranks", "placement"),
    [(1, (1, 1)), (4, (1, 4)), (6, (2, 3)), (8, (2, 4)), (5, (1, 5)), (7, (1, 7)), (16, (2, 8))],
)
def test_ranks_lie_on_the_fewest_nodes_that_divide_them_evenly(
    ranks: int, placement: tuple[int, int]
) -> None:
    assert place(ranks, 4, 2) == placement


@pytest.mark.parametrize(
    ("total", "limit", "sizes"),
    [
        (8, None, [1, 2, 4, 8]),
        (6, None, [1, 2, 4, 6]),
        (1, None, [1]),
        (8, 1, [1]),
        (0, None, [1]),
        (12, 5, [1, 2, 4, 5]),
    ],
)
def test_auto_is_the_powers_of_two_and_the_full_count(
    total: int, limit: int | None, sizes: list[int]
) -> None:
    assert automatic(total, limit) == sizes


def test_a_size_that_is_written_twice_runs_once() -> None:
    assert ids(case(world=["auto", 2, "1x2"], measure=MeasureSpec(steps=1, repeats=1))) == [
        "a.1x1.r0",
        "a.1x2.r0",
    ]


def test_single_runs_on_one_rank_and_auto_knows_it() -> None:
    assert ids(case(strategy={"name": "single"}), slots=NODES) == ["a.1x1.r0", "a.1x1.r1"]
    with pytest.raises(InputError, match="case a: single runs on 1 rank at most, but world is 2"):
        ids(case(strategy={"name": "single"}, world=[2]))


def test_a_batch_that_does_not_divide_is_refused_with_the_numbers() -> None:
    with pytest.raises(InputError) as raised:
        ids(
            strong(global_batch=100, world=[1, 8]),
            case("b", batch_per_rank=6, world=[2], train=TrainSpec(accumulate=4)),
        )
    assert str(raised.value) == (
        "suite s cannot be planned:\n"
        "  case a: global_batch 100 does not divide among 8 ranks (100 / 8 = 12.5): --set cases.a.global_batch=104\n"
        "  case b: 6 examples per rank at 2 ranks do not divide into 4 micro-batches (accumulate): 6 / 4 = 1.5: "
        "--set cases.b.batch_per_rank=8"
    )


def test_a_micro_batch_is_kept_and_more_ranks_accumulate_less() -> None:
    asked = strong(train=TrainSpec(micro_batch=8), world=[1, 2, 4], measure=MeasureSpec(steps=1, repeats=1))
    specs = [run.spec for run in plan(suite(asked), NODES, "session")]
    assert [(spec.global_batch, spec.batch_per_rank, spec.train.accumulate) for spec in specs] == [
        (64, 64, 8),
        (64, 32, 4),
        (64, 16, 2),
    ]


def test_a_batch_that_does_not_divide_into_micro_batches_is_refused_with_the_numbers() -> None:
    with pytest.raises(InputError) as raised:
        ids(strong(train=TrainSpec(micro_batch=12), world=[4]))
    assert str(raised.value).endswith(
        "case a: 16 examples per rank at 4 ranks do not divide into micro-batches of 12 (micro_batch): 16 / 12 = "
        "1.33333: --set cases.a.global_batch=96"
    )


def test_a_micro_batch_makes_no_more_of_them_than_accumulate_may() -> None:
    most = MOST_MICRO_BATCHES * 8
    (run,) = plan(suite(_micro(batch_per_rank=most)), NODES, "session")
    assert run.spec.train.accumulate == MOST_MICRO_BATCHES
    with pytest.raises(InputError) as raised:
        plan(suite(_micro(batch_per_rank=most + 8)), NODES, "session")
    assert str(raised.value).endswith(
        "case a: 524296 examples per rank at 1 rank are 65,537 micro-batches of 8, and a step has 65,536 at most: "
        "use a larger train.micro_batch"
    )


def _micro(batch_per_rank: int) -> Case:
    measure = MeasureSpec(steps=1, repeats=1)
    batch = {"scaling": "weak", "global_batch": None, "batch_per_rank": batch_per_rank}
    return case(**batch, train=TrainSpec(micro_batch=8), world=[1], measure=measure)


def test_a_size_of_auto_that_does_not_divide_is_skipped_with_the_numbers() -> None:
    six = Slots(slots_per_node=6, cpus_per_node=6, device_type="cpu")
    assert reasons(strong(measure=MeasureSpec(steps=1, repeats=1)), slots=six) == {
        "a.1x1.r0": None,
        "a.1x2.r0": None,
        "a.1x4.r0": None,
        "a.1x6.r0": "global_batch 64 does not divide among 6 ranks (64 / 6 = 10.6667): --set cases.a.global_batch=66",
    }


def test_threads_are_an_axis_of_their_own() -> None:
    once = MeasureSpec(steps=1, repeats=1)
    runs = plan(suite(strong(world=[1], threads=[1, 2, 4], measure=once)), LAPTOP, "s")
    assert [(run.spec.run_id, run.spec.axis, run.spec.workers, run.spec.global_batch) for run in runs] == [
        ("a.1x1.t1.r0", "threads", 1, 64),
        ("a.1x1.t2.r0", "threads", 2, 64),
        ("a.1x1.t4.r0", "threads", 4, 64),
    ]
    assert [run.skip_reason for run in runs] == [
        None,
        None,
        "needs 1 slot of 4 threads, this machine has 2 CPUs: --oversubscribe runs it anyway, marked",
    ]


def test_threads_divide_the_cpus_into_slots() -> None:
    eight = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu")
    runs = plan(suite(case(threads=[3], measure=MeasureSpec(steps=1, repeats=1))), eight, "s")
    assert [(run.spec.run_id, run.spec.axis, run.spec.workers) for run in runs] == [
        ("a.1x1.t3.r0", "ranks", 1),
        ("a.1x2.t3.r0", "ranks", 2),
    ]


def test_slots_set_by_hand_hold_and_ranks_that_share_cores_are_marked() -> None:
    by_hand = Slots(slots_per_node=4, cpus_per_node=2, device_type="cpu", fixed=True)
    runs = plan(suite(case(measure=MeasureSpec(steps=1, repeats=1))), by_hand, "s")
    assert [
        (run.spec.world_size, run.spec.threads, run.skip_reason, run.spec.oversubscribed) for run in runs
    ] == [
        (1, 1, None, False),
        (2, 1, None, False),
        (4, 1, None, True),
    ]


def test_what_a_run_needs_is_in_its_spec() -> None:
    run = plan(suite(case(baseline="a")), LAPTOP, "20261121", data_root="/data", tags=("x",))[0].spec
    assert (run.session_id, run.data_root, run.tags, run.baseline, run.suite) == (
        "20261121",
        "/data",
        ["x"],
        "a",
        "s",
    )
    assert (run.workload, run.workload_options["hidden"]) == ("spiral_mlp", (64, 32, 16))
    assert (run.strategy, run.strategy_options["bucket_cap_mb"], run.device_type) == ("ddp", 25, "cpu")


def test_a_plan_of_absurd_length_is_refused_before_it_is_made() -> None:
    cases = [case(f"c{i}", measure=MeasureSpec(steps=1, repeats=1000)) for i in range(60)]
    with pytest.raises(InputError, match="suite s makes 120000 runs: 100000 at most"):
        ids(*cases)


def test_smoke_compares_five_cases_at_one_and_two_ranks_with_five_repeats() -> None:
    smoke = load_suite(str(Path(__file__).parents[3] / "suites" / "smoke.yaml"))
    runs = plan(smoke, LAPTOP, "s")
    assert len(runs) == 45
    assert {
        (run.spec.case_name, run.spec.strategy, run.spec.scaling, run.spec.world_size) for run in runs
    } == {
        ("single", "single", "none", 1),
        ("ddp_strong", "ddp", "strong", 1),
        ("ddp_strong", "ddp", "strong", 2),
        ("ddp_weak", "ddp", "weak", 1),
        ("ddp_weak", "ddp", "weak", 2),
        ("fsdp_strong", "fsdp", "strong", 1),
        ("fsdp_strong", "fsdp", "strong", 2),
        ("fsdp_weak", "fsdp", "weak", 1),
        ("fsdp_weak", "fsdp", "weak", 2),
    }
    assert all(run.skip_reason is None for run in runs)


@pytest.mark.parametrize("slots", [LAPTOP, NODES])
@pytest.mark.parametrize("threads", [None, [1], [1, 2]])
def test_a_case_has_several_numbers_of_threads_only_where_they_are_its_axis(
    slots: Slots, threads: list[int] | None
) -> None:
    runs = plan(suite(case(world=[1, 2] if threads != [1, 2] else [1], threads=threads)), slots, "session")
    numbers = {run.spec.threads for run in runs}
    assert len(numbers) == 1 or {run.spec.axis for run in runs} == {"threads"}


def test_tf32_is_skipped_on_a_cpu_whatever_sent_it_there() -> None:
    tf32 = TrainSpec(precision="tf32")
    once = MeasureSpec(steps=1, repeats=1)
    why = "needs an NVIDIA GPU: tf32 exists only there; a CPU has fp32, bf16 and fp16"
    on_a_laptop = reasons(case(world=[1], train=tf32, measure=once), case("b", world=[1], measure=once))
    assert on_a_laptop == {"a.1x1.r0": why, "b.1x1.r0": None}
    both = (
        case(world=[1], train=tf32, measure=once),
        case("b", world=[1], train=tf32, measure=once, device="cpu"),
    )
    assert reasons(*both, slots=NODES) == {"a.1x1.r0": None, "b.1x1.r0": why}


def test_a_trace_is_of_the_profiled_steps_that_a_case_has_else_of_two() -> None:
    own = case("own", world=[1], measure=MeasureSpec(steps=10, repeats=1, profiled=5))
    none = case("none", world=[1], measure=MeasureSpec(steps=10, repeats=1))
    for trace, profiled in ((True, [5, 2]), (False, [5, 0])):
        specs = [run.spec for run in plan(suite(own, none), LAPTOP, "session", trace=trace)]
        assert [spec.measure.profiled for spec in specs] == profiled
        assert [spec.trace for spec in specs] == [trace, trace]


def test_steps_that_tell_what_measuring_costs_are_the_cases_own_or_those_of_the_call() -> None:
    cases = [
        case(name, world=[1], measure=MeasureSpec(steps=10, repeats=1, selfcheck=steps))
        for name, steps in (("auto", None), ("none", 0), ("fewer", 12), ("more", 400))
    ]
    for asked, steps in ((None, [None, 0, 12, 400]), (True, [100, 100, 100, 400]), (False, [0] * 4)):
        specs = [run.spec for run in plan(suite(*cases), LAPTOP, "session", selfcheck=asked)]
        assert [spec.measure.selfcheck for spec in specs] == steps
