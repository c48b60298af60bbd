"""Views `run_parts` and `step_parts`: a mean step is split into parts that are known, overlap, or are missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.factory import Case, make_session
from tests.planted import Planted, Step, plant, set_clocks
from tests.profile_rows import add_profile
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import Ask, asks, measured

PARTS = ("data_ms", "imbalance_ms", "communication_ms", "computation_ms", "other_ms")
ALONE = Step(computation=400)
"""Forward 144, backward 216, optimizer 40."""
PAIR = Step(computation=200)
"""Forward 72, backward 108, optimizer 20."""
PHASES = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")


def _parts(ask: Ask, workers: int) -> dict[str, float | None]:
    (row,) = ask(f"FROM step_parts WHERE workers = {workers}")
    return {part.removesuffix("_ms"): row[part] for part in PARTS}


def _parts_are(**ms: float) -> Any:
    expected = dict.fromkeys(("data", "imbalance", "communication", "computation", "other"), 0.0) | ms
    return pytest.approx(expected, abs=1e-6)


def ranks(
    phases: Sequence[Sequence[float]],
    *,
    kinds: Mapping[str, Sequence[Sequence[float]]] | None = None,
    profile: Sequence[tuple[float, float, float]] = (),
    strategy: str = "ddp",
) -> pytest.MarkDecorator:
    """`ranks([[data, forward, backward, optimizer], [...]])`: the test asks of two ranks with these phases, in ms, and
    of one rank. `kinds`: the phases of the last two of five steps, by their kind; `profile`: step, exposed, compute."""

    def write(results: Path, name: str) -> None:
        step = Step(computation=sum(phases[0]))
        session = plant(results, {"case": Planted(steps={1: ALONE, 2: step}, strategy=strategy)}, name)
        late = {"measured": phases, **(kinds or {})}
        of_steps = np.array([phases] * 3 + [list(late.values())[-1]] * 2)  # [steps, ranks, phases]
        columns = np.rint(of_steps.transpose(2, 1, 0) * 1e6).astype(np.int64)
        names = np.array([["warmup", "measured", "measured", *[list(late)[-1]] * 2]])
        changed = dict(zip(PHASES, columns, strict=True))
        rewrite_steps(session, "case.1x2.r0", {**changed, "step_ns": columns.sum(axis=0), "kind": names})
        if profile:
            figures = {
                rank: (step, exposed, exposed, compute)
                for rank, (step, exposed, compute) in enumerate(profile)
            }
            add_profile(session, lambda spec, rank: figures[rank] if spec.world_size == 2 else None, {})

    return asks(write)


@ranks([[0, 72, 148, 20], [0, 72, 148, 20]])
def test_an_estimate_takes_the_backward_of_one_rank_for_what_computes(ask):
    assert _parts(ask, 1) == _parts_are(computation=400)
    assert _parts(ask, 2) == _parts_are(computation=200, communication=40)
    assert [row["known_by"] for row in ask("FROM step_parts ORDER BY workers")] == ["one rank", "estimated"]


@ranks([[30, 72, 178, 20], [0, 92, 188, 20]])
def test_a_wait_for_data_beside_a_slower_rank_adds_only_what_exceeds_it(ask):
    """Rank 0 waits 30 ms for its batch, while rank 1 computes 20 ms longer in forward, which it would do anyway."""
    assert _parts(ask, 2) == _parts_are(data=10, imbalance=20 + 1.5 * 20, computation=200, communication=40)


@ranks([[15, 72, 183, 20], [0, 92, 178, 20]])
def test_a_wait_for_data_that_is_shorter_than_a_slower_ranks_forward_adds_nothing(ask):
    assert _parts(ask, 2)["data"] == 0


@ranks([[0, 72, 158, 20], [0, 92, 138, 20]], kinds={"measured": [[0, 92, 138, 20], [0, 72, 158, 20]]})
def test_whichever_rank_is_slow_in_a_step_counts_as_imbalance(ask):
    """Two ranks that take turns have equal means, and each step waits for one of them."""
    (run,) = ask("FROM run_parts WHERE known_by = 'estimated'")
    # The fastest rank's mean is 82 in forward, the slower of each step takes 92.
    assert run["imbalance_ms"] == pytest.approx(10 + 1.5 * 10)


@ranks([[0, 72, 188, 20], [0, 152, 108, 20]])
def test_a_rank_that_is_slow_in_forward_alone_is_not_taken_for_slow_in_backward(ask):
    """The slow rank's backward has no room for more than its computation."""
    assert _parts(ask, 2) == _parts_are(imbalance=80, computation=200)


@ranks(
    [[0, 72, 178, 20], [0, 82, 168, 20]],
    profile=[(3 * 270, 3 * (40 + 25), 3 * 190), (3 * 270, 3 * 40, 3 * (190 + 25))],
)
def test_what_the_profiler_sees_is_scaled_to_measured_steps(ask):
    """Under the profiler a step takes three times as long."""
    assert _parts(ask, 2) == _parts_are(imbalance=25, communication=40, computation=190, other=15)


@ranks(
    [[30, 72, 148, 20], [30, 72, 148, 20]],
    kinds={"profiled": [[0, 72, 148, 20], [0, 72, 148, 20]]},
    profile=[(2 * 240, 2 * 40, 2 * 200)] * 2,
)
def test_profiled_steps_that_find_their_batch_ready_are_scaled_to_the_rest_of_measured_ones(ask):
    """Measured steps wait 30 ms for data; those under the profiler, after a validation, do not."""
    assert _parts(ask, 2) == _parts_are(data=30, communication=40, computation=200)


@ranks([[50, 72, 148, 20]] * 2, profile=[(290, 40, 250)] * 2)
def test_computation_that_is_also_data_is_counted_once(ask):
    """The ranks load data with operators, which the profiler takes for computation."""
    assert _parts(ask, 2) == _parts_are(data=50, communication=40, computation=200)


@ranks([[0, 72, 198, 20], [0, 122, 148, 20]], profile=[(290, 40 + 50, 200), (290, 40, 200)])
def test_a_rank_that_is_slow_without_operators_is_found_by_its_forward(ask):
    """Python on rank 1 takes 50 ms: nothing is computed, and the other waits for it."""
    assert _parts(ask, 2) == _parts_are(imbalance=50, communication=40, computation=200)


@ranks([[10, 72, 178, 20], [30, 72, 158, 20]], strategy="fsdp")
def test_fsdp_without_profiled_steps_knows_its_data_alone(ask):
    unknown = dict.fromkeys(("imbalance", "communication", "computation", "other"))
    assert _parts(ask, 2) == {"data": 30, **unknown}
    assert ask("SELECT rank_step_ms_mean, known_by FROM step_parts WHERE workers = 2") == [
        {"rank_step_ms_mean": 280, "known_by": None}
    ]


def _profiled_once(results: Path, name: str) -> None:
    both = {1: [ALONE] * 2, 2: [PAIR] * 2}
    session = plant(
        results, {case: Planted(steps=both, strategy=case, profiled="all") for case in ("ddp", "fsdp")}, name
    )
    for profile in session.glob("*.r1/profile*"):
        profile.unlink()


@asks(_profiled_once)
def test_all_repeats_are_known_in_one_way(ask):
    rows = ask("FROM step_parts ORDER BY case_name, workers")
    assert [row["known_by"] for row in rows] == ["one rank", "estimated", "one rank", None]
    assert {row["repeats"] for row in rows} == {2}


@asks(lambda results, name: plant(results, {"case": Planted(steps={2: PAIR, 4: PAIR})}, name))
def test_phases_of_two_ranks_tell_nothing_of_a_backward_without_communication(ask):
    assert {row["known_by"] for row in ask("FROM step_parts")} == {None}


def _of_three_gpus(results: Path, name: str) -> None:
    clocks = {1: 1_980.0, 2: 1_980.0}
    session = plant(results, {"case": Planted(steps={1: ALONE, 2: PAIR}, clock_mhz=clocks)}, name)
    set_clocks(session, "case.1x2.r0", [1_584.0, 1_900.0, 2_100.0])


@asks(_of_three_gpus)
def test_the_clock_is_the_highest_of_the_gpus_that_the_run_used(ask):
    """A rank whose GPU is slower than another's is imbalance; a third GPU belongs to no rank."""
    rows = ask("SELECT DISTINCT workers, sm_clock_mhz FROM run_parts JOIN runs USING (session_id, run_id)")
    assert {row["workers"]: row["sm_clock_mhz"] for row in rows} == {1: 1_980, 2: 1_900}


@measured(
    Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 3.0}, jitter=0.3, steps=40, ranks_per_node=2),
    changed=lambda session: add_profile(
        session, lambda spec, rank: (9 + rank, 5 - rank, 4, 3 + rank * spec.repeat), {}
    ),
)
def test_parts_of_noisy_steps_add_up_and_none_is_below_0(ask):
    known = [row for row in ask("FROM run_parts") if row["known_by"]]
    assert len(known) == 3 * (3 + 2 + 1)  # repeats of: profiled at each size, estimated at two, one rank
    for row in known:
        assert min(row[part] for part in PARTS) >= 0
        assert math.fsum(row[part] for part in PARTS) == pytest.approx(row["rank_step_ms_mean"])


GONE = (
    "24 of its 24 step rows are missing: a steps.nodeN.parquet is gone or was changed: put it back; or remove its "
    "run's folder and resume the session, which measures that run again"
)


def test_runs_without_measured_steps_or_throughput_have_no_parts_and_no_terms_of_their_own(
    results, read_back
):
    statuses = {(2, 0): "failed", (2, 1): "skipped", (2, 2): "oom"}
    session = make_session(
        results,
        [
            Case(name="broken", step_ms={1: 10.0, 2: 6.0}, statuses=statuses),
            Case(name="lost", step_ms={1: 10.0, 2: 6.0}),
            Case(name="nothing", step_ms={1: 10.0, 2: 6.0}, losses=(math.nan, math.nan), accuracy=None),
        ],
    )
    for steps in session.glob("lost.1x2.*/steps*"):
        steps.unlink()
    still = {name: [[0]] for name in (*PHASES, "step_ns", "start_ns")}
    for repeat in range(3):
        rewrite_steps(session, f"nothing.1x2.r{repeat}", still)
    add_profile(session, lambda _spec, _rank: (0, 0, 0, 0), {})
    ask = read_back([GONE])
    rows = ask("SELECT case_name, workers, known_by FROM step_parts ORDER BY ALL")
    assert {(row["case_name"], row["workers"]): row["known_by"] for row in rows} == {
        ("broken", 1): "one rank", ("lost", 1): "one rank", ("nothing", 1): "one rank"
    }  # fmt: skip
    assert ask("FROM efficiency_loss") == []
