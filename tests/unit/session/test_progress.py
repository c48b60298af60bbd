"""The first line of a session: its name, the number of its runs, and how many of them are done."""

from __future__ import annotations

import io

import pytest

from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import MeasureSpec, PlannedRun, RunSpec
from bench.session.progress import display
from tests.unit.session.test_session import run_spec as any_run_spec


@pytest.mark.parametrize(
    ("runs", "done", "said"),
    [
        (18, 0, "session s: 18 runs\n"),
        (18, 2, "session s: 18 runs, 2 done before\n"),
        (18, 18, "session s: 18 runs, all done before\n"),
        (1, 0, "session s: 1 run\n"),
    ],
)
def test_a_resumed_session_says_how_many_runs_were_done_before(runs: int, done: int, said: str) -> None:
    log = io.StringIO()
    display(log, done).session_begins("s", runs, runs)
    assert log.getvalue() == said


def test_a_round_of_further_repeats_is_announced_and_counted() -> None:
    log = io.StringIO()
    shown = display(log, 0)
    runs = [PlannedRun(spec=run_spec(run_id=f"ddp.1x2.r{repeat}", repeat=repeat)) for repeat in range(3)]
    shown.session_begins("s", 2, 20)
    shown.round_begins((runs[2],))
    shown.run_begins(runs[2].spec, 3)
    shown.run_ends(runs[2].spec, RunOutcome(status="ok", elapsed_s=1.0))
    assert log.getvalue() == (
        "session s: 2 runs, up to 20 with further repeats\n"
        "not yet known: throughput within ±1 %; another round of 1 run\n"
        "[3/3] ddp.1x2.r2                   ok         1.00 s\n"
    )


def test_sizes_that_ask_for_different_widths_are_announced_with_all_of_them() -> None:
    log = io.StringIO()
    display(log, 0).round_begins((PlannedRun(spec=run_spec()), PlannedRun(spec=run_spec(until=0.025))))
    assert log.getvalue() == ("not yet known: throughput within ±1 % or ±2.5 %; another round of 2 runs\n")


def test_a_round_for_the_efficiency_is_announced_as_such() -> None:
    log = io.StringIO()
    only = run_spec(until=None, until_efficiency=0.02)
    display(log, 0).round_begins((PlannedRun(spec=only),))
    display(log, 0).round_begins((PlannedRun(spec=only), PlannedRun(spec=run_spec())))
    assert log.getvalue() == (
        "not yet known: efficiency within ±2 %; another round of 1 run\n"
        "not yet known: throughput within ±1 % and efficiency within ±2 %; another "
        "round of 2 runs\n"
    )


def run_spec(until: float | None = 0.01, until_efficiency: float | None = None, **changes: object) -> RunSpec:
    measure = MeasureSpec(steps=3, repeats=2, until=until, until_efficiency=until_efficiency, max_repeats=20)
    return any_run_spec(measure=measure, **changes)
