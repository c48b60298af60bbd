"""Intervals hold the truth as often as they say: small parts of benchmarks/coverage.py, with seeds."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import (
    BEFORE,
    GROWING,
    ODD,
    PROCESSES,
    ROUNDINGS,
    SCENARIOS,
    STEPS,
    TABLES,
    advised,
    growing,
    odd_runs,
    orders,
    over_steps,
    ratios,
    rounded,
    some_slow,
    true_ratios,
)
from benchmarks.coverage_speedruns import differ, groups


def seeded():
    return np.random.default_rng(1)


def test_intervals_of_a_ratio_hold_a_log_normal_truth_in_95_of_100():
    found = ratios(SCENARIOS["noise of 1 %"], 5, 400, seeded())
    assert found.given == 1
    assert 0.92 <= found.holds <= 0.98
    assert found.wrong <= 0.005


@pytest.mark.parametrize(
    ("name", "rounds"),
    [("30 % of runs at one rank 1.3 times faster", 5), ("two speeds, 30 %, 1.3", 10)],
)
def test_intervals_hold_the_median_round_of_a_processor_of_two_speeds(name, rounds):
    """Where leaving slow runs out held it in half of the sessions."""
    found = ratios(SCENARIOS[name], rounds, 250, seeded())
    assert found.holds >= 0.91
    assert found.wrong <= 0.03


def test_ten_rounds_give_most_rows_one_verdict_although_a_slow_run_counts():
    found = ratios(SCENARIOS["one run 5 times slower"], 10, 60, seeded())
    assert found.single >= 0.95
    assert found.width < 1.02


def test_the_true_ratio_is_that_of_the_median_round():
    """A third of the runs at the largest size is slow, so the median round is not."""
    truth = true_ratios(some_slow((0, 0, 0, 0.3), 0.4))
    assert truth[:3].tolist() == [0, 0, 0]
    assert -0.02 < truth[3] < 0


def test_the_second_round_is_the_first_one_backwards_and_no_size_keeps_its_place_in_three():
    drawn = orders(seeded(), 200, 4)
    assert (drawn[:, 1] == 3 - drawn[:, 0]).all()
    assert not (drawn[:, :3] == drawn[:, :1]).all(axis=1).any()
    assert (np.sort(drawn, axis=2) == np.arange(4)).all()


def test_intervals_hold_the_truth_also_if_rounds_are_added_until_they_are_narrow():
    throughput, speedup = growing(GROWING[2], 400, seeded())
    assert throughput >= 0.93
    assert speedup >= 0.93


def test_an_odd_run_is_found_and_noise_is_none():
    assert odd_runs(ODD["noise of 20 %"], 3, 300, seeded()) <= 0.03
    assert odd_runs(ODD["one run 1.3 times slower"], 3, 300, seeded()) >= 0.95


def test_those_who_are_told_a_number_of_rounds_mostly_decide_after_it():
    found = advised(0.02, 3, 250, seeded())
    assert 0.4 <= found.told <= 0.8
    assert 3 <= found.median <= 20
    assert 0.65 <= found.decided <= 0.97
    assert found.by_border <= 0.75


def test_intervals_of_rounded_times_hold_the_truth_or_are_not_given():
    by_name = {times.name: times for times in ROUNDINGS}
    holds, given = rounded(by_name["10 s to 1 s, noise of 0.3 %"], 3, 60, seeded())
    assert given <= 0.6
    assert holds is None or holds >= 0.95
    holds, given = rounded(by_name["95 s to 1 s, noise of 0.3 %"], 3, 200, seeded())
    assert holds is not None
    assert holds >= 0.95
    assert given == 1


def test_intervals_of_the_median_step_hold_that_of_independent_steps_in_95_of_100_or_more():
    for held, null in over_steps(PROCESSES[0], 400, seeded()):
        assert held >= 0.93
        assert null <= 0.2


def test_intervals_of_the_median_step_hold_that_of_correlated_steps_in_90_of_100_from_200_steps_on():
    for process in PROCESSES[1:3]:
        shares = over_steps(process, 500, seeded())
        assert min(held for held, _ in shares[STEPS.index(200) :]) >= 0.9, process.name


def test_most_runs_of_fewer_than_ten_autocorrelation_times_have_no_interval():
    (_, null), *_ = over_steps(PROCESSES[2], 400, seeded())
    assert null > 0.8


@pytest.fixture
def speedruns(tmp_path):
    """Twelve alike trainings of one cell, then twelve slower ones; and seven of another cell, which are too few."""
    rng = seeded()
    rows = [("a", 100, 200 * np.exp(rng.normal(0, 0.01) + 0.05 * (run >= 12)), run) for run in range(24)]
    rows += [("b", 100, 200.0, run) for run in range(7)]
    path = tmp_path / "speedruns.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["cell", "steps", "seconds", "finished"])
        writer.writerows(
            (cell, steps, seconds, f"2026-01-{day + 1:02d}") for cell, steps, seconds, day in rows[::-1]
        )
    return path


def test_halves_in_the_order_of_time_differ_if_the_machine_became_slower(in_memory, speedruns):
    (logs,) = groups(speedruns)
    assert len(logs) == 24
    assert logs[:12].mean() > logs[12:].mean()
    assert differ(in_memory, [logs]).tolist() == [True]
    rng = seeded()
    alike = differ(in_memory, [rng.permutation(logs) for _ in range(200)])
    assert alike.mean() <= 0.1


def test_each_table_is_printed_in_markdown(speedruns):
    program = Path(__file__).parents[3] / "benchmarks/coverage.py"
    asked = ["--only", "sessions", "--draws", "50", "--speedruns", str(speedruns)]
    done = subprocess.run([sys.executable, program, *asked], text=True, capture_output=True, check=True)
    tables = done.stdout.strip().split("\n\n")
    assert len(tables) == 2
    for table in tables:
        head, rule, *rows = table.splitlines()
        assert set(rule) <= set("|-: ")
        assert rows
        assert {row.count("|") for row in rows} == {head.count("|")}


def test_the_figures_before_are_those_of_the_scenarios():
    assert set(BEFORE) == set(SCENARIOS)
    assert {"ratios", "history", "comparison", "laws"} <= set(TABLES)
    assert all(len(row) == 3 and len(figures) == 3 for row in BEFORE.values() for figures in row)
