"""Sentences about imported times of odd kinds: very short ones, faster than ideal, without any certainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import cli
from tests.unit.importing.conftest import Take, ask, imported

Said = Callable[..., str]


@pytest.fixture
def said(take: Take, results: Path, tmp_path: Path) -> Said:
    """`said(command, times)`: import seconds by world size, in rounds; returns what the command prints on them."""

    def run(
        command: str, times: dict[int, Sequence[float]], name: str = "odd", scaling: str = "strong"
    ) -> str:
        lines = [
            f"ddp,{scaling},{size},{repeat},{repeat},{seconds},{1000 * (size if scaling == 'weak' else 1)}"
            for size, of_size in times.items()
            for repeat, seconds in enumerate(of_size)
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["case,scaling,world_size,repeat,round,seconds,examples", *lines]) + "\n")
        imported(take, str(path), "--suite", "odd", "--session", name)
        return printed(results, command, name)

    return run


def printed(results: Path, *arguments: str) -> str:
    done = CliRunner().invoke(cli.group, [*arguments, "--results", str(results)], standalone_mode=False)
    assert done.exception is None, done.output
    return " ".join(done.output.split())


def test_times_far_below_a_step_of_rounding_are_not_rounded_to_nothing(said, results):
    said("summary", {1: [1.21e-5, 1.2e-5, 1.19e-5], 8: [1.6e-6, 1.61e-6, 1.59e-6]})
    assert ask(results, "SELECT DISTINCT resolution FROM run_summary") == [(None,)]
    assert ask(results, "SELECT count(*) FROM scaling WHERE throughput_lo IS NULL") == [(0,)]


@pytest.mark.parametrize("scaling", ["strong", "weak"])
def test_a_workers_part_is_smaller_under_strong_scaling_alone(said, scaling):
    eighth = 8 if scaling == "strong" else 1
    times = {1: [100.3, 99.8, 100.1], 8: [seconds / eighth / 1.2 for seconds in (100.2, 99.9, 100.4)]}
    found = said("findings", times, scaling=scaling)
    assert "Measure the baseline again" in found
    assert ("smaller part of the work" in found) == (scaling == "strong")


def test_a_headline_without_a_verdict_has_its_interval(said):
    """Two of five runs of the base line are 1.3 times as fast."""
    base = [100.31, 77.12, 99.74, 76.83, 100.15]
    text = said("summary", {1: base, 8: [12.51, 12.49, 12.52, 12.47, 12.53]})
    assert "ddp on 8 ranks is 7.21 times [6.04, 8.59] as fast" in text


def test_a_large_size_has_its_separator(said):
    times = {
        size: [100 / size * (1 + 0.05 * (size - 1)) * factor for factor in (1, 1.001, 0.999)]
        for size in (1, 64, 16384)
    }
    assert "on 16,384: " in said("findings", times)


def test_no_row_with_a_test_needs_no_word_on_tests(said, results):
    times = {1: [100.1, 99.7, 100.2], 8: [12.61, 12.57, 12.54]}
    said("summary", times, "a")
    said("summary", {size: of_size[:1] for size, of_size in times.items()}, "b")
    assert "(Holm)" not in printed(results, "compare", "a", "b")


def test_of_two_runs_none_is_called_odd(said, results):
    """Each is as far from their middle as the other."""
    said("summary", {1: [100.1, 99.9], 2: [50.3, 50.1], 4: [25.3, 40.7], 8: [12.6, 12.7]})
    assert ask(results, "SELECT count(*) FROM odd_runs") == [(0,)]


def test_an_odd_run_is_told_as_a_factor_of_time(said):
    found = said(
        "findings", {1: [100.1, 99.9, 100.4, 99.7], 2: [50.3, 50.1, 75.2, 50.2], 4: [25.3, 25.2, 25.4, 25.1]}
    )
    assert "took 1.49 times as long as the other runs of its size; nothing is left out" in found


def test_sizes_are_slower_than_the_one_before_by_the_median_as_their_interval_is(said, results):
    """One of ten runs on 4 ranks is 5 times as fast, which moves the mean of the differences, and not their median."""
    noise = [0.1, -0.2, 0.05, 0.15, -0.1, 0.0, 0.2, -0.05, 0.12, -0.15]
    times = {
        n: [seconds * (1 + e / 100) for e in noise] for n, seconds in ((1, 100.03), (2, 60.21), (4, 66.37))
    }
    times[2].reverse()
    times[4][3] /= 5
    said("summary", times)
    assert ask(results, "SELECT verdict FROM scaling WHERE workers = 4") == [("retrograde",)]


def test_a_serial_fraction_beside_sizes_without_an_interval_is_that_of_the_largest(said):
    many = [-0.1, 0.15, 0.02, -0.07, 0.09]
    times = {n: [seconds * (1 + e / 100) for e in many] for n, seconds in ((1, 100.03), (8, 32.13))}
    found = said("findings", times | {2: [61.19], 4: [40.07]})
    assert "on 8: " in found.partition("serial fraction")[2]


def test_times_of_a_base_line_that_are_too_coarse_are_not_too_few(said):
    """One rank takes a second, of which nothing is known beyond that."""
    times = {1: [1, 1, 1], 2: [3, 3, 3], 4: [3, 3, 3]}
    found = said("findings", times, scaling="weak") + said("summary", times, "coarse", scaling="weak")
    assert "too coarse for an interval" in found
    assert "range of the rounds" not in found
    assert "too few for an interval" not in found


def test_a_number_of_rounds_passes_over_no_rounding(said):
    """Whole minutes: the border is nearer than rounding, so no number of rounds decides."""
    found = said("findings", {1: [5700, 5700, 5760], 8: [780, 780, 780]})
    assert "20 more rounds would not decide" in found


def test_a_summary_says_of_a_case_on_a_border_no_number_that_is_for_another(said):
    times = {1: [100.3, 99.8, 100.1, 99.9, 100.2], 2: [55.7, 55.5, 55.8, 55.4, 55.6], 4: [27.9]}
    found = said("summary", times)
    assert "20 more rounds" not in found.partition("Take 3 more rounds")[0]
    assert "Take 3 more rounds, then ask again" in found


@pytest.mark.parametrize("position", [True, False])
def test_a_drift_within_rounds_is_said_to_be_in_the_ratios(take, results, tmp_path, position):
    """Each later position takes 6 % longer, or each later round does."""
    orders = ["1248", "1248", "1284", "1248", "2148"]
    lines = ["case,scaling,world_size,repeat,round,position,seconds,examples"]
    for number, order in enumerate(orders):
        for place, size in enumerate(map(int, order)):
            slower = 1.06 ** (place if position else number)
            seconds = 100 / size**0.98 * slower * (1 + 0.001 * ((7 * number + 3 * place) % 5 - 2))
            lines.append(f"ddp,strong,{size},{number},{number},{place},{seconds:.6f},1000")
    path = tmp_path / "drift.csv"
    path.write_text("\n".join([*lines, ""]))
    imported(take, str(path), "--suite", "odd", "--session", "drift")
    found = printed(results, "findings", "drift")
    assert ("Ratios include it for sizes that ran mostly early or mostly late" in found) == position
    assert ("Ratios within rounds do not include it" in found) == (not position)
