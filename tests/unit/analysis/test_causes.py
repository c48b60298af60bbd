"""Causes: certain is what was measured, and what repeats do not show has no cause."""

from __future__ import annotations

import io
from importlib import import_module

import pytest
from click.testing import CliRunner
from rich.console import Console

from analysis import history
from analysis.database.schema import shipped_rules
from analysis.diagnosis.advice import first_advice
from analysis.loading.load import load
from analysis.wording import verdicts
from tests.factory import Case, make_session
from tests.profile_rows import add_profile
from tests.unit.analysis.conftest import ask, measured

RULES = {rule.finding: rule for rule in shipped_rules()}
LOSES = Case(name="ddp", step_ms={1: [9.9, 10.0, 10.1], 2: [9.9, 10.0, 10.1]}, shares=(0.0, 0.3, 0.6, 0.1))


def exchanging(folder):
    """Half of a step on two ranks is communication."""
    add_profile(folder, lambda spec, _: (100, 0, 0, 100) if spec.world_size == 1 else (100, 50, 50, 50), {})


@pytest.mark.parametrize(("known_by", "certainty"), [("estimated", "estimated"), ("profiled", "shown")])
def test_a_cause_is_as_certain_as_its_time_was_measured(in_memory, known_by, certainty):
    assert in_memory.execute(
        "SELECT certainty_of($1, 0.1), certainty_of('one rank', NULL)", [known_by]
    ).fetchone() == (
        certainty,
        "likely",
    )


@measured(LOSES)
def test_an_estimated_cause_is_likely_and_says_how_to_measure_it(ask):
    found = {row["finding"]: row for row in ask("FROM diagnosis")}
    estimated = [row for row in found.values() if row["short_evidence"].startswith("by estimate, ")]
    assert estimated
    for row in estimated:
        assert (row["certainty"], row["options"]) == ("likely", "--set measure.profiled=4")
        assert row["short_advice"].startswith("Profile some steps first: ")


@measured(LOSES, changed=exchanging)
def test_a_profiled_cause_is_certain_and_needs_no_measurement(ask):
    row = next(row for row in ask("FROM diagnosis") if row["finding"] == "small_model")
    assert row["certainty"] == "shown"
    assert "Profile" not in row["advice"]


@measured(LOSES)
def test_profiling_is_advised_once(ask):
    given = first_advice(
        ask("SELECT *, NULL AS command FROM diagnosis ORDER BY finding_order"), ask("FROM scaling")
    )
    assert sum(one.options == "--set measure.profiled=4" for one in given) == 1


@pytest.mark.parametrize(
    ("low", "high", "is_unknown"),
    [(0.8, 0.9, False), (0.9, 1.0, True), (0.97, 1.02, True), (None, None, False), (0.1, 0.45, True)],
)
def test_a_loss_is_unknown_if_its_interval_contains_0_or_says_too_little(in_memory, low, high, is_unknown):
    assert in_memory.execute("SELECT is_loss_unknown($1::DOUBLE, $2::DOUBLE)", [low, high]).fetchone() == (
        is_unknown,
    )


@pytest.mark.parametrize(
    ("fractions", "said"),
    [
        ((0.0018, 0.0006, 0.00014), None),  # Amdahl's law does not explain it
        ((0.00014, 0.0006, 0.0018), "it grows"),
        ((0.0018, 0.0018, 0.0018), "no growth beyond noise"),
    ],
)
def test_serial_fractions_are_compared_as_ratios_however_small_they_are(results, read_back, fractions, said):
    """All of them lie within 0.2 % of each other."""
    sizes = zip((1, 64, 512, 16_384), (0, *fractions), strict=True)
    rows = [
        f"ddp,strong,{n},{repeat},{repeat},{1e6 * (serial + (1 - serial) / n) * noise:.9g},1000000000"
        for n, serial in sizes
        for repeat, noise in enumerate((0.999, 1.0, 1.001))
    ]
    file = results / "timed.csv"
    file.write_text("\n".join(["case,scaling,world_size,repeat,round,seconds,examples", *rows]))
    command = import_module("bench.cli.import").command
    done = CliRunner().invoke(command, [str(file), "--suite", "timed", "--results", str(results)])
    assert done.exit_code == 0, done.output
    file.unlink()
    found = read_back(rules=[RULES["serial_fraction"]])("FROM diagnosis")
    assert [said in row["evidence"] for row in found] == ([] if said is None else [True])


@pytest.mark.parametrize(
    ("efficiency", "low", "high", "said"),
    [
        (0.8996, 0.89, 0.91, "89.96 % [89, 91]"),
        (0.8996, None, None, "89.96 %"),
        (0.904, 0.8999, 0.91, "90 % [89.99, 91]"),
        (0.748, 0.74, 0.7499, "74.8 % [74, 74.99]"),
        (1.053, None, None, "105.3 %"),
        (0.62, 0.6, 0.64, "62 % [60, 64]"),
    ],
)
def test_an_efficiency_next_to_a_border_shows_the_digit_that_decides(in_memory, efficiency, low, high, said):
    query = "SELECT efficiency_text($1::DOUBLE, $2::DOUBLE, $3::DOUBLE)"
    assert in_memory.execute(query, [efficiency, low, high]).fetchone() == (said,)


@pytest.mark.parametrize(
    ("percent", "ends", "said"),
    [
        (89.96, (None, None), ("89.96", "")),
        (89.9996, (None, None), ("89.9996", "")),
        (90.0, (None, None), ("90.0", "")),
        (92.0, (89.97, 95.0), ("92.00", "[89.97, 95.00]")),
        (105.04, (None, None), ("105.04", "")),
        (70.12, (69.0, 71.0), ("70.1", "[69.0, 71.0]")),
    ],
)
def test_so_does_one_on_a_page_or_a_terminal(percent, ends, said):
    assert verdicts.efficiency_estimate(percent, *ends) == said


def test_so_do_findings_and_the_history(results):
    """20 ÷ 2 ÷ 11.115 is 89.97 %, which is good."""
    case = Case(name="ddp", step_ms={1: 20.0, 2: [11.015, 11.115, 11.215]})
    make_session(results, [case])
    load(results)
    (row,) = ask(results, "FROM diagnosis WHERE finding = 'too_few_repeats'")
    assert row["evidence"].startswith("efficiency is 89.97 % [8")
    printed = Console(file=io.StringIO(), width=200)
    history.show(results, None, last=1, out=printed)
    assert " 89.97 % " in printed.file.getvalue()
