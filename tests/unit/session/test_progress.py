"""The progress of a session: its first line, a line per run, and on a terminal a bar with the remaining time."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from bench.measure.recorder import LastStep
from bench.plan.world_sizes import obstacle
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import MeasureSpec, PlannedRun, RunSpec, Slots
from bench.records.skip_reason import OVERSUBSCRIBE_HINT
from bench.session.progress import display
from bench.session.remaining import Remaining, left_text
from tests.terminals import Terminal
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
def test_a_resumed_session_says_how_many_runs_were_done_before(
    tmp_path: Path, runs: int, done: int, said: str
) -> None:
    log = io.StringIO()
    plan = [PlannedRun(spec=run_spec(run_id=f"ddp.1x2.r{repeat}", repeat=repeat)) for repeat in range(runs)]
    display(log, {run.spec.run_id for run in plan[:done]}, tmp_path).session_begins("s", plan, runs)
    assert log.getvalue() == said


def test_an_error_of_several_runs_is_shown_in_full_once() -> None:
    log = io.StringIO()
    shown = display(log, (), Path())
    runs = [run_spec(run_id=f"ddp.1x2.r{repeat}", repeat=repeat) for repeat in range(3)]
    for number, (run, error) in enumerate(
        zip(runs, ("NameError: x\n  line 3", "lost", "NameError: x\n  line 3"), strict=True)
    ):
        shown.run_begins(run, number + 1)
        shown.run_ends(run, RunOutcome(status="failed", elapsed_s=1.0, error=error))
    reasons = [line.split("1.00 s  ")[-1] for line in log.getvalue().splitlines()]
    assert reasons == ["NameError: x", "  line 3", "lost", "NameError: x, as before"]


def test_a_round_of_further_repeats_is_announced_and_counted() -> None:
    log = io.StringIO()
    shown = display(log, (), Path())
    runs = [PlannedRun(spec=run_spec(run_id=f"ddp.1x2.r{repeat}", repeat=repeat)) for repeat in range(3)]
    shown.session_begins("s", runs[:2], 20)
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
    display(log, (), Path()).round_begins(
        (PlannedRun(spec=run_spec()), PlannedRun(spec=run_spec(until=0.025)))
    )
    assert log.getvalue() == ("not yet known: throughput within ±1 % or ±2.5 %; another round of 2 runs\n")


def test_a_round_for_the_efficiency_is_announced_as_such() -> None:
    log = io.StringIO()
    only = run_spec(until=None, until_efficiency=0.02)
    display(log, (), Path()).round_begins((PlannedRun(spec=only),))
    display(log, (), Path()).round_begins((PlannedRun(spec=only), PlannedRun(spec=run_spec())))
    assert log.getvalue() == (
        "not yet known: efficiency within ±2 %; another round of 1 run\n"
        "not yet known: throughput within ±1 % and efficiency within ±2 %; another "
        "round of 2 runs\n"
    )


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)
    with Terminal(columns=80) as opened:
        yield opened


LONG = "language_model_of_124_million_parameters_with_a_bucket_of_25_mb_strong"
STEP = LastStep(rows=45, capacity=45, loss=0.26531, step_ns=1_234_500_000, memory_bytes=123_456_000_000)


def plan_of(names: list[str], sizes: tuple[int, ...], repeats: int = 1) -> list[PlannedRun]:
    """Runs of these cases on a machine of two slots."""
    slots = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
    runs = []
    for repeat in range(repeats):
        for name in names:
            for size in sizes:
                found = obstacle((1, size), 2, slots, 1)
                spec = run_spec(
                    until=None, run_id=f"{name}.1x{size}.r{repeat}", case_name=name, world_size=size, workers=size,
                    ranks_per_node=size, repeat=repeat,
                )  # fmt: skip
                runs.append(
                    PlannedRun(spec=spec, skip_reason=f"{found[0]}{OVERSUBSCRIBE_HINT}" if found else None)
                )
    return runs


def test_on_80_columns_every_run_is_a_line_that_names_it(terminal: Terminal, tmp_path: Path) -> None:
    runs = plan_of([LONG, f"{LONG}_2", "ddp"], (1, 2))
    shown = display(terminal.stream, (), tmp_path)
    shown.session_begins("s", runs, len(runs))
    for number, run in enumerate(runs, 1):
        shown.run_begins(run.spec, number)
        shown.step(STEP)
        shown.run_ends(run.spec, RunOutcome(status="ok", elapsed_s=1234.5))
    shown.session_ends()
    lines = [line for line in terminal.lines() if line.startswith("[")]
    assert [line.split("]")[0] for line in lines] == [f"[{number}/6" for number in range(1, 7)]
    assert max(map(cell_len, lines)) <= 80
    assert all(line.split()[1].endswith(run.spec.run_id[-8:]) for line, run in zip(lines, runs, strict=True))
    assert all("ok  1234.50 s  loss 0.2653, 1,234 ms" in line for line in lines)
    assert "ddp.1x2.r0" in lines[-1]


def test_a_run_that_takes_no_step_for_long_shows_the_time(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = plan_of(["ddp"], (2,))
    shown = display(terminal.stream, (), tmp_path)
    shown.session_begins("s", [run], 1)
    now_s = time.monotonic()
    with monkeypatch.context() as earlier:
        earlier.setattr(time, "monotonic", lambda: now_s - 1000)
        shown.run_begins(run.spec, 1)
    shown.session_ends()
    (line,) = {line.rpartition(" ")[0] for line in terminal.lines() if "starting" in line}
    assert re.fullmatch(r"ddp\.1x2\.r0  starting, no step after 10\d\d", line)


def test_a_reason_wraps_between_words_and_says_where_the_run_stopped(
    terminal: Terminal, tmp_path: Path
) -> None:
    (run,) = plan_of(["ddp"], (2,))
    reason = "rank 1 ended with signal 9 " + "and said nothing about why it did so " * 3
    shown = display(terminal.stream, (), tmp_path)
    shown.session_begins("s", [run], 1)
    shown.run_begins(run.spec, 1)
    shown.step(replace(STEP, rows=7))
    shown.run_ends(run.spec, RunOutcome(status="failed", elapsed_s=2.0, error=reason.strip()))
    shown.session_ends()
    lines = [line for line in terminal.lines() if line.startswith(("[", "    "))]
    assert "failed     2.00 s  step 7/45, loss" in lines[0]
    assert max(map(cell_len, lines)) <= 80
    assert " ".join(lines[1:]).split() == reason.split()


def test_sizes_that_need_more_slots_are_one_line_and_are_not_counted(
    terminal: Terminal, tmp_path: Path
) -> None:
    runs = plan_of(["a", "b"], (1, 4, 8, 16), repeats=2)
    shown = display(terminal.stream, (), tmp_path)
    shown.session_begins("s", runs, len(runs))
    for number, run in enumerate(runs, 1):
        shown.run_begins(run.spec, number)
        shown.run_ends(
            run.spec,
            RunOutcome(status="skipped" if run.skip_reason else "ok", error=run.skip_reason, elapsed_s=0.0),
        )
    shown.session_ends()
    lines = terminal.lines()
    assert "session s: 4 runs" in lines
    assert [line for line in lines if "skipped" in line] == [
        "6 sizes skipped: they need more than 2 slots; --oversubscribe runs them"
    ]
    assert [line.split("]")[0] for line in lines if line.startswith("[")] == [f"[{n}/4" for n in range(1, 5)]


def test_a_log_has_a_line_for_every_run_the_skipped_ones_included(tmp_path: Path) -> None:
    log = io.StringIO()
    runs = plan_of(["a"], (1, 4, 8))
    shown = display(log, (), tmp_path)
    shown.session_begins("s", runs, len(runs))
    for number, run in enumerate(runs, 1):
        shown.run_begins(run.spec, number)
        shown.run_ends(
            run.spec,
            RunOutcome(status="skipped" if run.skip_reason else "ok", error=run.skip_reason, elapsed_s=0.0),
        )
    shown.session_ends()
    first, *lines = log.getvalue().splitlines()
    assert first == "session s: 3 runs"
    assert [line.split()[:3] for line in lines] == [
        ["[1/3]", "a.1x1.r0", "ok"],
        ["[2/3]", "a.1x4.r0", "skipped"],
        ["[3/3]", "a.1x8.r0", "skipped"],
    ]
    assert lines[1].endswith("needs 4 slots, this machine has 2: --oversubscribe runs it anyway, marked")


def test_the_remaining_time_is_unknown_until_something_is_known() -> None:
    one, two, other = (run.spec for run in plan_of(["a", "b"], (1, 2))[:3])
    remaining = Remaining(earlier={})
    assert remaining.of_runs([]) == 0
    assert remaining.of_runs([one]) is None
    assert remaining.of_begun(one, 1.0, None) is None
    remaining.took(one, 10.0)
    assert remaining.of_runs([replace(one, repeat=1, run_id="a.1x1.r1")]) == 10
    assert remaining.of_runs([one, two]) is None
    remaining.took(two, 30.0)
    remaining.took(two, 20.0)
    assert remaining.of_runs([one, two, other]) == 10 + 25 + 20  # an unknown run as long as the mean of all
    assert remaining.of_begun(one, 4.0, None) == 6
    assert remaining.of_begun(one, 40.0, None) == 0


def test_steps_of_a_run_tell_how_long_it_still_takes() -> None:
    (run,) = plan_of(["a"], (1,))
    begun = replace(STEP, capacity=100, step_ns=2_000_000_000)
    remaining = Remaining(earlier={})
    assert remaining.of_begun(run.spec, 5.0, replace(begun, rows=2)) is None  # the first steps say nothing
    assert remaining.of_begun(run.spec, 20.0, replace(begun, rows=10)) == 180
    remaining.took(run.spec, 120.0)
    assert remaining.of_begun(run.spec, 20.0, replace(begun, rows=10)) == 180  # slower than before


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "less than 10 s left"),
        (41, "about 50 s left"),
        (59, "about 1 min left"),
        (130, "about 2 min left"),
        (3590, "about 1 h 00 min left"),
        (8000, "about 2 h 13 min left"),
    ],
)
def test_the_remaining_time_is_rounded(seconds: float, said: str) -> None:
    assert left_text(seconds, may_grow=False) == said
    assert left_text(130, may_grow=True) == "2 min or more left"


def run_spec(until: float | None = 0.01, until_efficiency: float | None = None, **changes: object) -> RunSpec:
    measure = MeasureSpec(steps=3, repeats=2, until=until, until_efficiency=until_efficiency, max_repeats=20)
    return any_run_spec(measure=measure, **changes)
