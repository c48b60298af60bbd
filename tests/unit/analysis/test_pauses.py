"""All time between the first and the last measured step of a command is in a step or in a pause."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis import summary
from bench.records.run_spec import RunSpec
from bench.session.repeat_until import throughput
from tests.factory import Case
from tests.pauses import of_rows, pause, stall
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import Stored, Write, loads, session_of

OPTIONS: dict[str, Any] = {
    "command": ["python", "train.py"], "cwd": None, "env": {}, "step_optimizer": None, "examples_per_step": None,
    "script": None,
}  # fmt: skip
STEPS, STEP_MS, STALL_MS = 20, 10.0, 100.0


def of_command(change: Callable[[Path, str], None], **options: str) -> Write:
    """Steps of 10 ms on 1 and on 2 ranks, with weak scaling; `change` plants pauses into each run."""
    case = Case(
        name="command", strategy="command", workload="command", options={**OPTIONS, **options}, scaling="weak",
        step_ms={1: STEP_MS, 2: STEP_MS}, warmup=2, steps=STEPS, batch=8, repeats=3,
    )  # fmt: skip

    def changed(folder: Path) -> None:
        for run in folder.glob("*/run.json"):
            change(folder, run.parent.name)

    return session_of(case, changed=changed)


def stalled(**options: str) -> Write:
    """Two steps last 100 ms longer, on rank 0 in no phase: half of the time."""
    return of_command(lambda folder, run: stall(folder, run, {7: STALL_MS, 12: STALL_MS}), **options)


def paused(kinds: Mapping[str, float], **options: str) -> Write:
    return of_command(lambda folder, run: pause(folder, run, {9: kinds, 14: kinds}), **options)


def rates(stored: Stored) -> dict[int, float]:
    rows = stored.ask(
        "SELECT workers, avg(throughput) AS rate FROM run_summary WHERE session_id = $session GROUP BY workers"
    )
    return {row["workers"]: row["rate"] for row in rows}


def shares(stored: Stored) -> tuple[float, ...]:
    names = ("validation_share", "saving_share", "unexplained_share", "left_out_share")
    (row,) = stored.ask(
        f"SELECT DISTINCT {', '.join(names)} FROM run_summary WHERE session_id = $session AND workers = 2"
    )
    return tuple(row[name] for name in names)


def ratios(stored: Stored) -> dict[str, Any]:
    (row,) = stored.ask(
        "SELECT speedup, efficiency, verdict FROM scaling WHERE session_id = $session AND workers = 2"
    )
    return row


@loads(stalled())
def test_an_unexplained_pause_counts_as_training_and_hides_the_speedup(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.02, 2: 16 / 0.02})
    assert shares(stored) == pytest.approx((0, 0, 0.5, 0))
    assert ratios(stored) == {"speedup": None, "efficiency": None, "verdict": "unexplained pauses"}
    pauses = stored.ask(
        "SELECT DISTINCT after_step, kind, pause_s FROM run_pauses WHERE session_id = $session ORDER BY 1"
    )
    assert pauses == [{"after_step": step, "kind": "unexplained", "pause_s": 0.1} for step in (6, 11)]


@loads(stalled(pauses="leave-out"))
def test_left_out_it_is_in_no_step_and_in_no_phase_of_any_rank(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.01, 2: 16 / 0.01})
    assert shares(stored) == pytest.approx((0, 0, 0.5, 0.5))
    assert ratios(stored)["speedup"] == pytest.approx(2)
    longest = stored.ask(
        "SELECT max(step_ns) AS ns FROM step_stats WHERE session_id = $session AND kind = 'measured'"
    )
    assert longest == [{"ns": 10_000_000}]
    recorded = stored.ask(
        "SELECT max(step_ns) AS ns FROM steps WHERE session_id = $session AND kind = 'measured'"
    )
    assert recorded == [{"ns": 110_000_000}]
    ranks = stored.ask(
        "SELECT DISTINCT span_ns, step_ns_mean, backward_ns_mean FROM run_rank_stats WHERE session_id = $session"
    )
    assert ranks == [{"span_ns": 200_000_000, "step_ns_mean": 10e6, "backward_ns_mean": 5e6}]


@loads(stalled(pauses="count"))
def test_counted_it_hides_nothing(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.02, 2: 16 / 0.02})
    assert ratios(stored)["speedup"] == pytest.approx(2)
    waits = stored.ask("SELECT DISTINCT backward_ns_mean FROM run_rank_stats WHERE session_id = $session")
    assert waits == [{"backward_ns_mean": 5e6}]  # rank 1 waits, which is no backward pass


def _said_later(folder: Path, run: str) -> None:
    stall(folder, run, {7: STALL_MS, 12: STALL_MS})
    head = json.loads((folder / "session.json").read_text())
    (folder / "session.json").write_text(json.dumps(head | {"pauses": "leave-out"}))


@loads(of_command(_said_later))
def test_what_is_said_after_the_measurement_holds(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.01, 2: 16 / 0.01})


KINDS = {"validation": 40.0, "saving": 10.0}


@loads(paused(KINDS))
def test_pauses_of_a_known_kind_are_left_out_and_named(
    stored: Stored, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are 80 and 20 of 300 ms."""
    assert rates(stored) == pytest.approx({1: 8 / 0.01, 2: 16 / 0.01})
    assert shares(stored) == pytest.approx((80 / 300, 20 / 300, 0, 100 / 300))
    assert ratios(stored)["speedup"] == pytest.approx(2)
    summary.show(*stored, program="bench")
    lines = capsys.readouterr().out.splitlines()
    said = (
        "command on 2 ranks, of the time of these 20 measured steps: steps 67 %, validation 27 %, saving 7 %"
    )
    assert said in lines
    (headline,) = (
        line for line in lines if "times as fast" in line and line.startswith("command on 2 ranks is")
    )
    assert "This leaves out pauses of up to 33 % of the time." in headline


@loads(paused(KINDS, pauses="count"))
def test_all_pauses_count_if_the_user_says_so(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.015, 2: 16 / 0.015})
    assert shares(stored) == pytest.approx((80 / 300, 20 / 300, 0, 0))


@pytest.mark.parametrize(
    "stored",
    [made(**options) for options in ({}, {"pauses": "count"}) for made in
     (stalled, lambda **options: paused(KINDS, **options))],
    indirect=True,
)  # fmt: skip
def test_the_rounds_of_until_have_the_same_throughput(stored: Stored) -> None:
    for row in stored.ask("SELECT run_id, throughput FROM run_summary WHERE session_id = $session"):
        folder = stored.results / stored.session_id / row["run_id"]
        spec = RunSpec.from_json(json.loads((folder / "run.json").read_text())["spec"])
        assert throughput(folder, spec) == pytest.approx(row["throughput"])


@loads(of_command(lambda folder, run: stall(folder, run, {7: 30.0})))
def test_a_step_of_up_to_five_times_the_usual_is_noise(stored: Stored) -> None:
    assert stored.ask("FROM run_pauses WHERE session_id = $session") == []


@loads(of_command(lambda folder, run: stall(folder, run, {1: 500.0})))
def test_warm_up_is_never_split(stored: Stored) -> None:
    assert stored.ask("FROM run_pauses WHERE session_id = $session") == []


def _waits(phase: str, later: int) -> Callable[[Path, str], None]:
    """Rank 0 stalls in step 7; rank 1 waits for it in this phase, `later` steps after it."""

    def change(folder: Path, run: str) -> None:
        path = folder / run / "steps.node0.parquet"
        start, step, waiting = (of_rows(path, name) for name in ("start_ns", "step_ns", f"{phase}_ns"))
        planted = round(STALL_MS * 1e6)
        step[0, 7] += planted
        start[0, 8:] += planted
        if len(step) > 1:
            step[1, 7 + later] += planted
            start[1, 8 + later :] += planted
            waiting[1, 7 + later] += planted
        rewrite_steps(folder, run, {"start_ns": start, "step_ns": step, f"{phase}_ns": waiting})

    return change


@pytest.mark.parametrize(
    "stored",
    [
        of_command(_waits(phase, later), pauses="leave-out")
        for phase in ("data", "forward", "backward", "optimizer")
        for later in (0, 1)
    ],
    indirect=True,
)
def test_ranks_wait_for_a_pause_in_any_phase_of_this_step_or_the_next(stored: Stored) -> None:
    names = (
        "data_ns_mean",
        "forward_ns_mean",
        "backward_ns_mean",
        "optimizer_ns_mean",
        "step_ns_mean",
        "span_ns",
    )
    rows = stored.ask(f"SELECT DISTINCT {', '.join(names)} FROM run_rank_stats WHERE session_id = $session")
    assert [tuple(row.values()) for row in rows] == [(1e6, 3e6, 5e6, 1e6, 10e6, 200_000_000)]
    steps = stored.ask(
        "SELECT DISTINCT step_ns FROM step_stats WHERE session_id = $session AND kind = 'measured'"
    )
    assert steps == [{"step_ns": 10_000_000}]


def _apart(folder: Path, run: str) -> None:
    """Ranks that do not wait for each other stall in different steps."""
    path = folder / run / "steps.node0.parquet"
    start, step = (of_rows(path, name) for name in ("start_ns", "step_ns"))
    for rank, stalls in enumerate(((7, 8), (12, 13))[: len(step)]):
        for number in stalls:
            step[rank, number] += round(STALL_MS * 1e6)
            start[rank, number + 1 :] += round(STALL_MS * 1e6)
    rewrite_steps(folder, run, {"start_ns": start, "step_ns": step})


@loads(of_command(_apart, pauses="leave-out"))
def test_no_rank_loses_time_to_pauses_for_which_it_did_not_wait(stored: Stored) -> None:
    assert rates(stored) == pytest.approx({1: 8 / 0.01, 2: 16 / 0.01})
    (least,) = stored.ask("SELECT min(step_ns) AS ns FROM step_stats WHERE session_id = $session")
    assert least["ns"] >= 0


def _hiccup(folder: Path, run: str) -> None:
    """Steps of 1 ms, one of which a busy machine makes 8 ms longer."""
    path = folder / run / "steps.node0.parquet"
    columns = {
        name: of_rows(path, name) // 10
        for name in ("start_ns", "step_ns", "data_ns", "forward_ns", "backward_ns", "optimizer_ns")
    }
    rewrite_steps(folder, run, columns)
    stall(folder, run, {7: 8.0})


@loads(of_command(_hiccup))
def test_a_few_milliseconds_of_a_busy_machine_are_no_pause(stored: Stored) -> None:
    assert stored.ask("FROM run_pauses WHERE session_id = $session") == []
