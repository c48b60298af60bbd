"""measure.until and until_efficiency: allowed values, refusals, and the plan's text."""

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
    """Repeats, until, max_repeats."""
    found = load_suite(str(suite), Selection(settings=settings, **wishes)).cases[0].measure  # type: ignore[arg-type]
    return found.repeats, found.until, found.max_repeats


@pytest.mark.parametrize(
    ("written", "until"), [("1%", 0.01), ("2.5 %", 0.025), ("0.03", 0.03), ("'5%'", 0.05), ("1e-3", 0.001)]
)
def test_a_width_is_a_percentage_or_a_fraction(suite: Path, written: str, until: float) -> None:
    assert measure(suite, f"measure.until={written}") == (2, pytest.approx(until), 20)


def test_the_width_of_efficiency_is_given_in_the_same_ways(suite: Path) -> None:
    for written in ("2%", "0.02"):
        found = load_suite(str(suite), Selection(settings=(f"measure.until_efficiency={written}",))).cases
        assert [case.measure.until_efficiency for case in found] == [0.02, 0.02]


def test_quick_can_take_it_back(suite: Path) -> None:
    assert measure(suite, quick=True) == (2, None, None)


def test_repeats_on_the_command_line_are_exactly_so_many(suite: Path) -> None:
    assert measure(suite, "measure.until_efficiency=1%", repeats=1) == (1, None, None)
    (one, _) = load_suite(str(suite), Selection(settings=("measure.until_efficiency=1%",), repeats=1)).cases
    assert one.measure.until_efficiency is None


def test_one_repeat_can_be_the_beginning(suite: Path) -> None:
    assert measure(suite, "measure.repeats=1") == (1, 0.01, 20)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("measure.until=0", "measure.until is 0: it must be greater than 0"),
        ("measure.until=100%", "measure.until is 1.0: it must be less than 1"),
        ("measure.until=tight", 'is "tight": it must be a percentage as in 1%, or a fraction as in 0.01'),
        ("measure.max_repeats=null", "measure.until needs measure.max_repeats: how many repeats it may lead to"),
        ("measure.until_efficiency=2", "measure.until_efficiency is 2: it must be less than 1"),
        ("measure.until_efficiency=1", "measure.until_efficiency is 1: it must be less than 1"),
        ("measure.until_efficiency=x", 'is "x": it must be a percentage as in 1%, or a fraction as in 0.01'),
        (
            "measure.until=null",
            "measure.max_repeats bounds what measure.until and until_efficiency add: give one of them too",
        ),
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


def test_both_keys_need_max_repeats_and_are_named(suite: Path) -> None:
    suite.write_text(SUITE.replace("max_repeats: 20,", "until_efficiency: 2%,"))
    with pytest.raises(InputError) as raised:
        measure(suite)
    for key in ("until", "until_efficiency"):
        assert f"measure.{key} needs measure.max_repeats: how many repeats it may lead to" in str(
            raised.value
        )


ONLY_EFFICIENCY = SUITE.replace("until: 1%", "until_efficiency: 1%").replace(
    "until: null", "until_efficiency: null"
)


@pytest.mark.parametrize(
    ("many", "is_refused"),
    [
        ("world: [1]", True),
        ("world: [1, 2]", False),
        ("world: auto", False),
        ("world: [1], threads: [1, 2], scaling: strong, global_batch: 8", False),
        ("world: [1], baseline: one", False),
        ("world: [1], baseline: many", True),
    ],
)
def test_a_width_of_efficiency_is_refused_if_no_case_has_an_efficiency(
    suite: Path, many: str, *, is_refused: bool
) -> None:
    """The case `one` has none; that alone is fine, because the suite may give the key to all of its cases."""
    written = many if "scaling" in many else f"scaling: weak, batch_per_rank: 8, {many}"
    last = "  - {name: many, strategy: ddp, scaling: weak, batch_per_rank: 8, world: [1, 1000]}"
    strategy = "single" if "threads" in many else "ddp"
    suite.write_text(ONLY_EFFICIENCY.replace(last, f"  - {{name: many, strategy: {strategy}, {written}}}"))
    if not is_refused:
        load_suite(str(suite))
        return
    with pytest.raises(InputError) as raised:
        load_suite(str(suite))
    assert "narrow.yaml:3:" in str(raised.value)
    assert (
        "measure.until_efficiency has no effect: no case that has it has a second size or a baseline"
        in str(raised.value)
    )


def show(suite: Path, monkeypatch: pytest.MonkeyPatch, *settings: str) -> list[str]:
    monkeypatch.chdir(suite.parent)
    chosen = [word for setting in settings for word in ("--set", setting)]
    asked = ["show", "narrow.yaml", "--device", "cpu", "--ranks-per-node", "2", *chosen]
    return CliRunner().invoke(group, asked).output.splitlines()


def test_the_plan_says_how_many_repeats_there_may_be(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show(suite, monkeypatch)
    assert shown[2].endswith("10 steps after 5 of warm-up, 5-20 repeats until")
    assert shown[3] == "throughput is within ±1 %"
    assert [line.split()[7] for line in shown[6:9]] == ["5-20", "5-20", "5"]
    assert shown[-1] == (
        "10 runs, 5 skipped, up to 40 with the repeats that measure.until may add; at most 20 min 00 s by their "
        "timeouts"
    )


def test_fewer_than_five_repeats_are_all_made(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show(suite, monkeypatch, "measure.max_repeats=3")
    assert [line.split()[7] for line in shown[6:9]] == ["3", "3", "3"]
    assert shown[-1] == "6 runs, 3 skipped; at most 3 min 00 s by their timeouts"


def test_the_plan_says_which_cases_get_repeats_for_their_efficiency(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.write_text(ONLY_EFFICIENCY.replace("world: [1, 1000]", "world: [1, 2]"))
    shown = show(suite, monkeypatch)
    text = " ".join(shown)
    assert "one: spiral_mlp on synthetic data, fp32, adamw: 10 steps after 5 of warm-up, 2 repeats" in text
    assert "5-20 repeats until efficiency is within ±1 %" in text
    assert [line.split()[7] for line in shown if line.startswith(("one  ", "many  "))] == [
        "2",
        "5-20",
        "5-20",
    ]
    assert "12 runs, up to 42 with the repeats that measure.until_efficiency may add" in shown[-1]


def test_a_target_is_a_loss_and_needs_validations(suite: Path) -> None:
    settings = ("measure.until_loss=0.25", "measure.validate_every=5")
    found = load_suite(str(suite), Selection(settings=settings)).cases
    assert [case.measure.until_loss for case in found] == [0.25, 0.25]
    with pytest.raises(InputError) as raised:
        load_suite(str(suite), Selection(settings=settings[:1]))
    assert (
        "measure.until_loss is reached at a validation: give measure.validate_every, the steps between two"
        in str(raised.value)
    )


def test_a_target_is_a_number(suite: Path) -> None:
    with pytest.raises(InputError) as raised:
        load_suite(str(suite), Selection(settings=("measure.until_loss=low", "measure.validate_every=5")))
    assert "measure.until_loss" in str(raised.value)
