"""Which cases get a further round of repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.files import read_json
from bench.records.run_spec import PlannedRun, RunSpec
from bench.session.repeat_until import Rounds, throughput
from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

WIDE, NARROW = [10.0, 11.0, 10.0, 11.0, 10.0], [10.0, 10.001, 10.0, 10.001, 10.0]
RISING = [10.0, 11.0, 12.0, 13.0, 14.0]


def plan_of(folder: Path) -> tuple[PlannedRun, ...]:
    """As the session's own: repeats outermost."""
    runs = [read_json(path) for path in folder.glob("*/run.json")]
    specs = sorted(
        (RunSpec.from_json(run["spec"]) for run in runs), key=lambda spec: (spec.repeat, spec.workers)
    )
    return tuple(PlannedRun(spec=spec) for spec in specs)


def of_five(**keys: object) -> Case:
    return Case(**({"name": "ddp", "repeats": 5, "until": 0.05, "max_repeats": 6} | keys))  # type: ignore[arg-type]


def further(tmp_path: Path, *others: Case, **keys: object) -> list[str]:
    folder = make_session(tmp_path, [of_five(**keys), *others])
    return [run.spec.run_id for run in Rounds(folder, "random").further(plan_of(folder))]


def test_a_round_is_one_further_repeat_of_every_size_if_one_is_too_wide(tmp_path: Path) -> None:
    every = ["ddp.1x1.r5", "ddp.1x2.r5", "ddp.1x4.r5"]
    assert further(tmp_path, step_ms={1: NARROW, 2: WIDE, 4: NARROW}) == every


def test_no_session_stops_before_five_repeats_however_much_they_agree(tmp_path: Path) -> None:
    assert further(tmp_path, step_ms={1: NARROW}, repeats=4) == ["ddp.1x1.r4"]


@pytest.mark.parametrize(("step_ms", "more"), [(NARROW, []), (WIDE, ["ddp.1x1.r5"])])
def test_from_five_repeats_on_the_width_decides(
    tmp_path: Path, step_ms: list[float], more: list[str]
) -> None:
    assert further(tmp_path, step_ms={1: step_ms}) == more


@pytest.mark.parametrize(("until", "more"), [(0.065, ["ddp.1x1.r5"]), (0.08, [])])
def test_the_quantile_is_that_of_intervals_that_stop_early(
    tmp_path: Path, until: float, more: list[str]
) -> None:
    """WIDE is known to within 6.7 % by the 95 % quantile and to within 7.6 % by that of 96.5 %."""
    assert further(tmp_path, step_ms={1: WIDE}, until=until) == more


def test_other_cases_run_only_if_one_is_too_wide_or_the_baseline(tmp_path: Path) -> None:
    others = [Case(name=name, step_ms={1: NARROW}, repeats=5) for name in ("single", "other")]
    found = further(tmp_path, *others, step_ms={2: WIDE}, baseline="single")
    assert sorted(found) == ["ddp.1x2.r5", "single.1x1.r5"]


def of_efficiency(tmp_path: Path, *others: Case, **keys: object) -> list[str]:
    return further(tmp_path, *others, until=None, until_efficiency=0.05, **keys)


def test_efficiency_is_narrow_if_sizes_change_together_however_much_throughput_varies(tmp_path: Path) -> None:
    together = {1: RISING, 2: [step / 2 for step in RISING]}
    assert of_efficiency(tmp_path / "together", step_ms=together) == []
    apart = {1: RISING, 2: [step / 2 for step in reversed(RISING)]}
    assert of_efficiency(tmp_path / "apart", step_ms=apart) == ["ddp.1x1.r5", "ddp.1x2.r5"]


def test_both_keys_are_met_before_the_rounds_end(tmp_path: Path) -> None:
    together = {1: RISING, 2: [step / 2 for step in RISING]}
    assert len(further(tmp_path, step_ms=together, until_efficiency=0.05)) == 2


def test_efficiency_is_that_over_the_smallest_size_of_another_case(tmp_path: Path) -> None:
    """It changes as the smallest size of the baseline does; the larger one does not vary."""
    single = Case(name="single", step_ms={1: RISING, 2: NARROW}, repeats=5)
    assert of_efficiency(tmp_path / "same", single, step_ms={2: RISING}, baseline="single") == []
    found = of_efficiency(tmp_path / "apart", single, step_ms={2: NARROW}, baseline="single")
    assert sorted(found) == ["ddp.1x2.r5", "single.1x1.r5", "single.1x2.r5"]


def test_a_case_of_one_size_has_no_efficiency_to_narrow(tmp_path: Path) -> None:
    assert of_efficiency(tmp_path, step_ms={1: WIDE}) == []


def test_efficiency_has_no_further_round_without_a_further_repeat_of_its_baseline(tmp_path: Path) -> None:
    single = Case(name="single", step_ms={1: RISING}, repeats=5, statuses={(1, 4): "failed"})
    assert of_efficiency(tmp_path, single, step_ms={2: NARROW}, baseline="single") == []


def test_efficiency_waits_for_five_rounds_that_both_sizes_have(tmp_path: Path) -> None:
    """The case has five repeats, the baseline only three in the same rounds."""
    single = Case(name="single", step_ms={1: NARROW}, repeats=3)
    found = of_efficiency(tmp_path, single, step_ms={2: NARROW}, baseline="single")
    assert sorted(found) == ["ddp.1x2.r5", "single.1x1.r3"]


def test_a_further_round_has_the_next_number_and_positions(tmp_path: Path) -> None:
    folder = make_session(tmp_path, [of_five(step_ms={1: WIDE, 2: WIDE})])
    more = Rounds(folder, "random").further(plan_of(folder))
    assert [run.spec.round for run in more] == [5, 5]
    assert {run.spec.position for run in more} == {0, 1}


def test_a_further_repeat_is_the_next_with_the_next_seed(tmp_path: Path) -> None:
    folder = make_session(tmp_path, [of_five(step_ms={1: WIDE})])
    plan = plan_of(folder)
    (more,) = Rounds(folder, "random").further(plan)
    assert (more.spec.repeat, more.spec.seed) == (5, plan[-1].spec.seed + 1)
    assert more.spec.measure == plan[-1].spec.measure


def test_a_slow_run_does_not_count_but_a_round_more_is_needed_for_it(tmp_path: Path) -> None:
    steps = {1: [10.0, 10.1, 16.0, 10.05, 10.0], 2: NARROW, 4: NARROW}
    assert len(further(tmp_path / "five", step_ms=steps)) == 3
    six = {1: [*steps[1], 10.1], 2: [*NARROW, NARROW[0]], 4: [*NARROW, NARROW[0]]}
    assert further(tmp_path / "six", step_ms=six, repeats=6, max_repeats=7) == []


@pytest.mark.parametrize("most", [3, 5])
def test_no_size_gets_more_than_max_repeats(tmp_path: Path, most: int) -> None:
    assert further(tmp_path, step_ms={1: WIDE}, repeats=most, max_repeats=most) == []


def test_without_until_nothing_is_repeated(tmp_path: Path) -> None:
    assert further(tmp_path, step_ms={1: WIDE}, until=None, max_repeats=None) == []


@pytest.mark.parametrize("status", ["oom", "failed", "timeout", "interrupted", "skipped"])
def test_a_size_with_a_repeat_that_is_not_ok_is_not_repeated(tmp_path: Path, status: str) -> None:
    assert further(tmp_path, step_ms={1: WIDE, 2: WIDE}, statuses={(1, 1): status}) == ["ddp.1x2.r5"]


def test_a_size_whose_rows_are_not_to_be_seen_yet_is_repeated(tmp_path: Path) -> None:
    folder = make_session(tmp_path, [of_five(step_ms={1: NARROW})])
    rounds, plan = Rounds(folder, "random"), plan_of(folder)
    steps = folder / "ddp.1x1.r1" / "steps.node0.parquet"
    steps.rename(folder / "aside")
    assert len(rounds.further(plan)) == 1
    (folder / "aside").rename(steps)
    assert rounds.further(plan) == ()


def test_each_file_of_an_ok_run_is_read_once(tmp_path: Path) -> None:
    folder = make_session(tmp_path, [of_five(step_ms={1: WIDE})])
    rounds, plan = Rounds(folder, "random"), plan_of(folder)
    (more,) = rounds.further(plan)
    for path in folder.glob("*/*"):
        path.unlink()
    assert rounds.further(plan) == (more,)


def test_steps_that_took_no_time_have_no_throughput(tmp_path: Path) -> None:
    folder = make_session(tmp_path, [of_five(step_ms={1: NARROW})])
    rewrite_steps(folder, "ddp.1x1.r1", {"start_ns": 0, "step_ns": 0})
    (still,) = [run.spec for run in plan_of(folder) if run.spec.repeat == 1]
    assert throughput(folder / still.run_id, still) is None
    assert len(Rounds(folder, "random").further(plan_of(folder))) == 1
