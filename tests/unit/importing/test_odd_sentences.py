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
