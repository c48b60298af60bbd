"""Imported times that mislead a mean: rounded ones, two speeds of a processor, too few of them, a serial part that
falls, and two sessions that differ by their machine alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench import cli
from tests.unit.importing.conftest import Take, ask, imported

Row = dict[str, float]


@pytest.fixture
def measured(take: Take, results: Path, tmp_path: Path) -> Callable[..., dict[int, Row]]:
    """`measured(times)`: import seconds by world size, in rounds; returns the rows of `scaling` by world size."""

    def run(times: dict[int, Iterable[float]], name: str = "odd") -> dict[int, Row]:
        lines = [
            f"ddp,strong,{world_size},{repeat},{repeat},{position},{seconds},100000"
            for position, (world_size, of_size) in enumerate(times.items())
            for repeat, seconds in enumerate(of_size)
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "\n".join(["case,scaling,world_size,repeat,round,position,seconds,examples", *lines]) + "\n"
        )
        imported(take, str(path), "--suite", "odd", "--session", name)
        columns = (
            "world_size, speedup, speedup_lo, speedup_hi, verdict, repeats_needed, slow_runs, throughput"
        )
        rows = ask(results, f"SELECT {columns} FROM scaling WHERE session_id = '{name}'")
        return {int(str(row[0])): dict(zip(columns.split(", "), row, strict=True)) for row in rows}  # type: ignore[misc]

    return run


def shown(results: Path, *arguments: str) -> str:
    done = CliRunner().invoke(cli.group, [*arguments, "--results", str(results)], standalone_mode=False)
    assert done.exception is None, done.output
    return done.output


@pytest.mark.parametrize(
    ("single", "eight", "step"), [(187.4, 24.3, 1), (61.2, 8.55, 1), (9.42, 1.31, 0.1), (3600.0, 470.4, 60)]
)
def test_times_that_are_rounded_hold_the_truth(measured, single, eight, step):
    """All repeats are rounded to the same number, so that they do not vary."""
    row = measured({1: [step * round(single / step)] * 3, 8: [step * round(eight / step)] * 3})[8]
    assert row["speedup_lo"] < single / eight < row["speedup_hi"]
    assert row["speedup_lo"] < row["speedup"] < row["speedup_hi"]


def test_times_of_less_than_two_units_have_no_interval(measured):
    row = measured({1: [9, 9, 9], 8: [1, 1, 1]})[8]
    assert (row["speedup_lo"], row["verdict"]) == (None, "undecided")


def test_times_of_less_than_two_units_ask_for_digits_and_not_for_rounds(measured, results):
    measured({1: [9, 9, 9], 2: [5, 5, 5], 4: [2, 3, 2], 8: [1, 1, 2]})
    said = shown(results, "findings", "odd")
    assert "more digits" in said
    assert "more rounds do not help" in said
    assert "unlike the others" not in said  # 1 s and 2 s may be nearly the same
    assert "rounded, those of ddp 1x8" in shown(results, "summary", "odd")


@pytest.mark.parametrize(("before", "after"), [(12.45, 12.57), (12.4, 12.6), (30.4, 30.6)])
def test_rounding_makes_no_difference_between_sessions(measured, results, before, after):
    """Times that do not vary, and fall on either side of a whole or a half second."""
    measured({1: [94, 94, 94], 8: [round(before)] * 3}, "before")
    measured({1: [94, 94, 94], 8: [round(after)] * 3}, "after")
    ((ratio_lo, ratio_hi, verdict),) = ask(
        results, "SELECT ratio_lo, ratio_hi, verdict FROM compare('before', 'after') WHERE world_size = 8"
    )
    assert ratio_lo < before / after < ratio_hi
    assert verdict not in ("slower", "faster")


def test_a_size_or_a_base_line_with_one_run_is_a_finding(measured, results):
    measured({1: [96.0], 2: [49.0, 49.2, 49.1], 8: [13.0, 13.1, 12.9]})
    assert "ddp on 1x1 has one ok run: 2 sizes are without an interval" in shown(results, "findings", "odd")
    measured({1: [96.0, 96.3, 95.9], 2: [49.0, 49.2, 49.1], 8: [13.0]}, "largest")
    assert "ddp on 1x8 has one ok run: 1 size is without an interval" in shown(results, "findings", "largest")


def test_a_base_line_with_two_speeds_does_not_move_the_median_round(measured):
    noise = np.random.default_rng(5).normal(0, 0.003, (2, 10))
    single = 80 * np.exp(noise[0]) / np.array([1, 1.3, 1, 1, 1.3, 1, 1, 1, 1.3, 1])
    row = measured({1: single, 8: 10 * np.exp(noise[1])})[8]
    assert row["speedup"] == pytest.approx(8, rel=0.01)
    row = measured({1: single[:5], 8: 10 * np.exp(noise[1, :5])}, "five")[8]
    assert row["speedup_lo"] < 8 < row["speedup_hi"]
    assert row["verdict"] == "undecided"


def test_two_repeats_have_no_verdict_and_one_advice(measured, results):
    row = measured({1: [97.9, 101.6], 2: [51.1, 50.2], 8: [14.9, 14.3]})[8]
    assert (row["speedup_lo"], row["verdict"], row["repeats_needed"]) == (None, "undecided", 3)
    said = shown(results, "findings", "odd")
    assert said.count("3 more rounds") == 1
    assert "quiet" not in said


def test_a_serial_part_that_falls_is_not_said_to_stay_or_grow(measured, results):
    """Karp and Flatt's fraction falls 13 times while efficiency falls to 30 %."""
    noise = np.exp(np.random.default_rng(7).normal(0, 0.004, (5, 3)))
    sizes = {1: 1.0, 64: 57.4, 512: 413.0, 4096: 2463.0, 16384: 4902.0}
    rows = measured(
        {size: 1e6 / speedup * noise[place] for place, (size, speedup) in enumerate(sizes.items())}
    )
    assert rows[16384]["verdict"] == "poor"
    titles = {row[0] for row in ask(results, "SELECT finding FROM findings")}
    assert titles.isdisjoint({"serial_fraction", "unexplained_loss"})
    assert titles <= {"too_few_repeats", "undecided", "odd_run"}


def test_a_fraction_that_grows_with_the_logarithm_is_told_by_its_surest_size(measured, results):
    """The smallest size knows its own fraction badly, so that a comparison with it alone shows no growth."""
    noise = np.exp(np.random.default_rng(3).normal(0, 0.005, (5, 4)))
    sizes = (1, 64, 512, 4096, 16384)
    measured({n: 1e6 * (1 / n + 2.05e-5 * np.log2(n)) * noise[place] for place, n in enumerate(sizes)})
    (row,) = ask(results, "SELECT evidence FROM findings WHERE finding = 'serial_fraction'")
    assert ": it grows;" in str(row[0])


def test_two_sessions_on_a_slower_machine_share_what_differs(measured, take, results, tmp_path):
    """Twelve rows, each 3 % slower: one sentence, and no row differs beyond it; without the machine none does."""

    def session(name: str, factor: float, seed: int) -> None:
        noise = np.exp(np.random.default_rng(seed).normal(0, 0.004, (3, 6, 2)))
        lines = [
            f"c{case},strong,{world_size},{repeat},{repeat},{2 * case + place},"
            f"{100 / world_size * factor * noise[repeat, case, place]:.6f},100000"
            for repeat in range(3)
            for case in range(6)
            for place, world_size in enumerate((1, 2))
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "\n".join(["case,scaling,world_size,repeat,round,position,seconds,examples", *lines]) + "\n"
        )
        imported(take, str(path), "--suite", "odd", "--session", name)

    session("before", 1, 1)
    session("again", 1, 2)
    session("elsewhere", 1 / 0.97, 3)
    columns = "SELECT verdict, shared_ratio, differs FROM compare('before', '{}')"
    again = ask(results, columns.format("again"))
    assert not {"slower", "faster"} & {row[0] for row in again}
    assert {row[1] for row in again} == {None}
    elsewhere = ask(results, columns.format("elsewhere"))
    assert [row[1] for row in elsewhere] == pytest.approx([0.97] * 12, abs=0.005)
    assert {row[2] for row in elsewhere} == {False}
    said = shown(results, "compare", "before", "elsewhere")
    assert re.search(r"All 12 rows moved by −(2\.[89]|3\.[012]) %: something that they share\.", said)
