"""Which cases get a further round of repeats."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.files import read_json
from bench.records.run_spec import PlannedRun, RunSpec
from bench.session.repeat_until import Rounds
from tests.factory import Case, make_session

WIDE, NARROW = [10.0, 11.0], [10.0, 10.001]


def plan_of(folder: Path) -> tuple[PlannedRun, ...]:
    """As the session's own: repeats outermost."""
    runs = [read_json(path) for path in folder.glob("*/run.json")]
    specs = sorted(
        (RunSpec.from_json(run["spec"]) for run in runs), key=lambda spec: (spec.repeat, spec.workers)
    )
    return tuple(PlannedRun(spec=spec) for spec in specs)


def further(tmp_path: Path, *others: Case, **case: object) -> list[str]:
    keys: dict[str, object] = {"name": "ddp", "repeats": 2, "until": 0.05, "max_repeats": 3}
    folder = make_session(tmp_path, [Case(**(keys | case)), *others])  # type: ignore[arg-type]
    return [run.spec.run_id for run in Rounds(folder, "random").further(plan_of(folder))]


def test_a_round_is_one_further_repeat_of_every_size_if_one_is_too_wide(tmp_path: Path) -> None:
    every = ["ddp.1x1.r2", "ddp.1x2.r2", "ddp.1x4.r2"]
    assert further(tmp_path, step_ms={1: NARROW, 2: WIDE, 4: NARROW}) == every


def test_other_cases_run_only_if_one_is_too_wide_or_the_baseline(tmp_path: Path) -> None:
    others = [Case(name=name, step_ms={1: NARROW}, repeats=2) for name in ("single", "other")]
    found = further(tmp_path, *others, step_ms={2: WIDE}, baseline="single")
    assert sorted(found) == ["ddp.1x2.r2", "single.1x1.r2"]


def test_a_further_round_has_the_next_number_and_positions(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, [Case(name="ddp", step_ms={1: WIDE, 2: WIDE}, repeats=2, until=0.05, max_repeats=3)]
    )
    more = Rounds(folder, "random").further(plan_of(folder))
    assert [run.spec.round for run in more] == [2, 2]
    assert {run.spec.position for run in more} == {0, 1}


def test_a_further_repeat_is_the_next_with_the_next_seed(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, [Case(name="ddp", step_ms={1: WIDE}, repeats=2, until=0.05, max_repeats=3)]
    )
    plan = plan_of(folder)
    (more,) = Rounds(folder, "random").further(plan)
    assert (more.spec.repeat, more.spec.seed) == (2, plan[-1].spec.seed + 1)
    assert more.spec.measure == plan[-1].spec.measure


def test_no_size_gets_more_than_max_repeats(tmp_path: Path) -> None:
    assert further(tmp_path, step_ms={1: [10.0, 11.0, 12.0]}, repeats=3) == []


def test_without_until_nothing_is_repeated(tmp_path: Path) -> None:
    assert further(tmp_path, step_ms={1: WIDE}, until=None, max_repeats=None) == []


@pytest.mark.parametrize("status", ["oom", "failed", "timeout", "interrupted", "skipped"])
def test_a_size_with_a_repeat_that_is_not_ok_is_not_repeated(tmp_path: Path, status: str) -> None:
    assert further(tmp_path, step_ms={1: WIDE, 2: WIDE}, statuses={(1, 1): status}) == ["ddp.1x2.r2"]


def test_a_size_whose_rows_are_not_to_be_seen_yet_is_repeated(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, [Case(name="ddp", step_ms={1: NARROW}, repeats=2, until=0.05, max_repeats=3)]
    )
    rounds, plan = Rounds(folder, "random"), plan_of(folder)
    steps = folder / "ddp.1x1.r1" / "steps.node0.parquet"
    steps.rename(folder / "aside")
    assert len(rounds.further(plan)) == 1
    (folder / "aside").rename(steps)
    assert rounds.further(plan) == ()


def test_each_file_of_an_ok_run_is_read_once(tmp_path: Path) -> None:
    folder = make_session(
        tmp_path, [Case(name="ddp", step_ms={1: WIDE}, repeats=2, until=0.05, max_repeats=3)]
    )
    rounds, plan = Rounds(folder, "random"), plan_of(folder)
    (more,) = rounds.further(plan)
    for path in folder.glob("*/*"):
        path.unlink()
    assert rounds.further(plan) == (more,)
