"""measure.until: allowed values, refusals, and the plan's text."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import group
from bench.common.errors import InputError
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

SUITE = """\
title: Narrow
workload: {name: spiral_mlp}
measure: {steps: 10, repeats: 2, until: 1%, max_repeats: 20, timeout_s: 30}
cases:
  - {name: one, strategy: single, scaling: none, batch_per_rank: 8, world: [1]}
  - {name: many, strategy: ddp, scaling: weak, batch_per_rank: 8, world: [1, 1000]}
quick:
  measure: {until: null, max_repeats: null}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "narrow.yaml"
    path.write_text(SUITE)
    return path


def measure(suite: Path, *settings: str, **wishes: object) -> tuple[int, float | None, int | None]:
    found = load_suite(str(suite), Selection(settings=settings, **wishes)).cases[0].measure  # type: ignore[arg-type]
    return found.repeats, found.until, found.max_repeats


@pytest.mark.parametrize(
    ("written", "until"), [("1%", 0.01), ("2.5 %", 0.025), ("0.03", 0.03), ("'5%'", 0.05), ("1e-3", 0.001)]
)
def test_a_width_is_a_percentage_or_a_fraction(suite: Path, written: str, until: float) -> None:
    assert measure(suite, f"measure.until={written}") == (2, pytest.approx(until), 20)


def test_quick_can_take_it_back(suite: Path) -> None:
    assert measure(suite, quick=True) == (2, None, None)


def test_repeats_on_the_command_line_are_exactly_so_many(suite: Path) -> None:
    assert measure(suite, repeats=1) == (1, None, None)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("measure.until=0", "measure.until is 0: it must be greater than 0"),
        ("measure.until=100%", "measure.until is 1.0: it must be less than 1"),
        ("measure.until=tight", 'is "tight": it must be a percentage as in 1%, or a fraction as in 0.01'),
        ("measure.max_repeats=null", "measure.until needs measure.max_repeats: how many repeats it may lead to"),
        ("measure.until=null", "measure.max_repeats bounds what measure.until adds: give until too"),
        ("measure.repeats=1", "measure.until needs repeats: 2 or more, since one repeat has no interval"),
        ("measure.repeats=21", "measure.max_repeats is 20, measure.repeats 21: it must not be smaller"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(suite: Path, setting: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        measure(suite, setting)
    assert said in str(raised.value)


def test_what_is_wrong_for_every_case_is_said_once(suite: Path) -> None:
    with pytest.raises(InputError) as raised:
        measure(suite, "measure.max_repeats=null", quick=False)
    assert str(raised.value) == (
        f"{suite}:3:41: measure.until needs measure.max_repeats: how many repeats it may lead to"
    )


def test_the_plan_says_how_many_repeats_there_may_be(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.parent)
    asked = ["show", "narrow.yaml", "--device", "cpu", "--ranks-per-node", "1"]
    shown = CliRunner().invoke(group, asked).output.splitlines()
    assert shown[2].endswith("10 steps after 5 of warm-up, 2-20 repeats until")
    assert shown[3] == "throughput is within ±1 %"
    assert [line.split()[7] for line in shown[6:9]] == ["2-20", "2-20", "2"]
    assert shown[-1] == (
        "4 runs, 2 skipped, up to 40 with the repeats that measure.until adds; at most 20 min 00 s by their timeouts"
    )
