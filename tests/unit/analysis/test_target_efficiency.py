"""Time to a target: what each run needed, and the factors between two sizes, planted and found."""

from __future__ import annotations

import json
import math

import pytest

from tests.factory import Case, write_json
from tests.unit.analysis.conftest import asks, measured, session_of

STEPS = 200


def case(name="weak", **changes):
    """64 examples per rank and step, a validation of 50 ms every 10 steps, 0.4 s of start-up; 10 and 12.5 ms a step."""
    given = {
        "step_ms": {1: 10.0, 2: 12.5}, "scaling": "weak", "repeats": 4, "warmup": 2, "steps": STEPS - 2,
        "validate_every": 10, "until_loss": 0.5, "setup_s": 0.4, "validation_ms": 50.0,
    }  # fmt: skip
    return Case(name=name, **(given | changes))


def at(**steps):
    """`at(one=[40, 50], two=[30, None])`: steps to the target of the repeats at 1 and 2 workers; null: missed."""
    return {
        (workers, repeat): step
        for workers, of_size in ((1, steps["one"]), (2, steps["two"]))
        for repeat, step in enumerate(of_size)
    }


def one_row(ask, what="*", where="workers = 2"):
    (row,) = ask(f"SELECT {what} FROM target_efficiency WHERE {where}")
    return row


@measured(case(target_step=at(one=[40] * 4, two=[30] * 4)))
def test_a_run_needs_the_steps_until_the_first_validation_at_the_target_and_the_clock_until_its_end(ask):
    (row,) = ask("FROM target_runs WHERE workers = 2 AND repeat = 0")
    assert (row["reached"], row["steps"], row["examples"]) == (True, 30, 30 * 128)
    assert row["seconds"] == pytest.approx(0.4 + 30 * 0.0125 + 3 * 0.05)
    assert row["training_s"] == pytest.approx(30 * 0.0125)
    assert (row["setup_s"], row["validation_s"]) == (0.4, pytest.approx(0.15))
    assert row["other_s"] == pytest.approx(0, abs=1e-9)
    assert row["training_share"] == pytest.approx(row["training_s"] / row["seconds"])


@measured(case(target_step=at(one=[40] * 4, two=[30, 30, 30, None])))
def test_a_run_that_misses_the_target_is_kept_with_all_that_it_had(ask):
    (row,) = ask("FROM target_runs WHERE workers = 2 AND NOT reached")
    assert (row["repeat"], row["steps"], row["examples"], row["status"]) == (3, STEPS, STEPS * 128, "ok")
    assert row["seconds"] == pytest.approx(0.4 + STEPS * 0.0125 + 20 * 0.05)


@measured(
    case(
        target_step=at(one=[40] * 4, two=[30, 30, 30, 30]),
        statuses={(2, 0): "timeout", (2, 1): "skipped"},
    )
)
def test_a_run_that_ends_early_missed_the_target_and_one_that_never_began_is_none(ask):
    rows = ask(
        "SELECT repeat, reached, examples, throughput FROM target_runs WHERE workers = 2 ORDER BY repeat"
    )
    assert [row["repeat"] for row in rows] == [0, 2, 3]
    assert rows[0] == {"repeat": 0, "reached": False, "examples": 20 * 128, "throughput": None}
    assert (one_row(ask)["runs"], one_row(ask)["missed"]) == (3, 1)


@measured(case(until_loss=None))
def test_a_run_without_a_target_is_in_neither_table(ask):
    assert ask("FROM target_runs") == ask("FROM target_efficiency") == []


@measured(case(target_step=at(one=[40, 50, 40, 50], two=[30, 40, 40, 30])))
def test_the_factors_are_the_planted_ones_and_their_product_is_the_efficiency(ask):
    row = one_row(ask)
    needs = {1: 64 * math.sqrt(40 * 50), 2: 128 * math.sqrt(30 * 40)}
    assert row["estimate"] == "mean"
    assert row["examples"] == pytest.approx(needs[2])
    assert row["steps"] == pytest.approx(math.sqrt(30 * 40))
    assert row["throughput_factor"] == pytest.approx(10 / 12.5)
    assert row["examples_factor"] == pytest.approx(needs[1] / needs[2])
    factors = row["throughput_factor"] * row["examples_factor"] * row["share_factor"]
    assert row["efficiency"] == pytest.approx(factors)
    one, two = (ask(f"FROM target_efficiency WHERE workers = {n}")[0]["seconds"] for n in (1, 2))
    assert row["efficiency"] == pytest.approx(one / (2 * two))
    assert row["examples_factor_lo"] < row["examples_factor"] < row["examples_factor_hi"]


@measured(case(target_step=at(one=[40, 50, 40, 50], two=[30, 40, 40, 30])))
def test_an_interval_is_students_of_the_differences_within_rounds(ask):
    row = one_row(ask)
    pairs = [(40, 30), (50, 40), (40, 40), (50, 30)]
    logs = [math.log(64 * one / (128 * two)) for one, two in pairs]
    mean = sum(logs) / 4
    deviation = math.sqrt(sum((log - mean) ** 2 for log in logs) / 3)
    assert row["examples_factor_lo"] == pytest.approx(math.exp(mean - 3.182446 * deviation / 2), rel=1e-6)


@measured(case(target_step=at(one=[40] * 4, two=[30] * 4)))
def test_seeds_that_end_at_the_same_validation_leave_the_distance_since_the_one_before(ask):
    row = one_row(ask)
    at_one, at_two = 10 / 40, 10 / 30  # of the examples, since the validation before
    logs = [math.log(row[f"examples_factor{end}"]) for end in ("", "_lo", "_hi")]
    deviation = math.sqrt((at_one**2 + at_two**2) / 12 / 4)
    # as many degrees of freedom as Welch's t has for these variances: 5.5; t = 2.5
    assert logs[2] - logs[0] == pytest.approx(logs[0] - logs[1])
    assert 2.45 < (logs[2] - logs[0]) / deviation < 2.57
    needs = [math.log(row[f"examples{end}"]) for end in ("", "_lo", "_hi")]
    assert needs[2] - needs[0] == pytest.approx(3.182446 * at_two / math.sqrt(12) / 2)
    assert row["seconds_lo"] < row["seconds"] * math.exp(-0.1)


FORTY = {(1, repeat): 40 for repeat in range(4)}
SMALL = case("small", step_ms={1: 10.0}, target_step=FORTY)


@measured(
    SMALL,
    case(
        "large",
        step_ms={1: 20.0},
        batch=256,
        baseline="small",
        target_step={(1, repeat): 20 for repeat in range(4)},
    ),
)
def test_a_case_with_another_batch_is_compared_with_the_baseline_that_it_names(ask):
    row = one_row(ask, where="case_name = 'large'")
    assert (row["baseline_case"], row["throughput_factor"]) == ("small", pytest.approx(2))
    assert row["examples_factor"] == pytest.approx(40 * 64 / (20 * 256))


OTHERWISE = [
    {"until_loss": 0.4}, {"workload": "mnist_cnn"}, {"options": {"hidden": [8]}}, {"device_type": "cuda"},
]  # fmt: skip


@pytest.mark.parametrize(
    "ask",
    [
        session_of(SMALL, case("large", step_ms={1: 20.0}, baseline="small", target_step=FORTY, **changes))
        for changes in OTHERWISE
    ],
    indirect=True,
    ids=[*map(str, OTHERWISE)],
)
def test_trainings_that_differ_in_more_than_batch_and_strategy_are_not_compared(ask):
    row = one_row(ask, where="case_name = 'large'")
    assert row["examples"] == 40 * 64
    assert (row["baseline_case"], row["efficiency"], row["examples_factor"]) == (None, None, None)


SOME = [20, 30, 40, 30, 20, 40]


@measured(case(repeats=7, target_step=at(one=[40] * 7, two=[*SOME, None])))
def test_if_fewer_than_half_miss_the_target_a_fit_needs_more_than_those_that_reached_it(ask):
    row = one_row(ask)
    assert (row["reached"], row["missed"], row["estimate"], row["bound"]) == (6, 1, "fit", None)
    of_those = 128 * math.prod(SOME) ** (1 / 6)
    with_the_limit = (of_those**6 * STEPS * 128) ** (1 / 7)
    assert row["examples"] > with_the_limit > of_those
    assert row["examples_factor"] == pytest.approx(40 * 64 / row["examples"])
    assert row["examples_factor_lo"] < row["examples_factor"] < row["examples_factor_hi"]
    factors = row["throughput_factor"] * row["examples_factor"] * row["share_factor"]
    assert row["efficiency"] == pytest.approx(factors)


@measured(case(target_step=at(one=[40, 50, 40, 50], two=[30, 40, None, None])))
def test_if_half_miss_the_target_only_the_upper_end_is_known(ask):
    row = one_row(ask)
    assert (row["estimate"], row["bound"], row["examples"], row["seconds"]) == (
        "bound",
        "at most",
        None,
        None,
    )
    for name in ("examples_factor", "efficiency"):
        assert row[name] is row[f"{name}_lo"] is None
        assert row[f"{name}_hi"] > 0
    assert row["examples_lo"] > 0
    assert row["throughput_factor"] == pytest.approx(0.8)


@measured(
    case("here", target_step=at(one=[40, None, None, 50], two=[30, 40, 30, 40])),
    case("both", target_step=at(one=[None] * 4, two=[None] * 4)),
)
def test_if_the_baseline_misses_the_target_only_the_lower_end_is_known_and_nothing_if_both_do(ask):
    row = one_row(ask, where="workers = 2 AND case_name = 'here'")
    assert (row["bound"], row["efficiency"], row["efficiency_hi"]) == ("at least", None, None)
    assert row["efficiency_lo"] > 0
    row = one_row(ask, where="workers = 2 AND case_name = 'both'")
    assert (row["bound"], row["efficiency_lo"], row["efficiency_hi"]) == (None, None, None)
    row = one_row(ask, where="is_baseline AND case_name = 'both'")
    assert (row["examples_factor"], row["efficiency"], row["efficiency_lo"]) == (None, None, None)
    assert one_row(ask, "efficiency", where="is_baseline AND case_name = 'here'") == {"efficiency": None}


@measured(case(repeats=1, target_step=at(one=[40], two=[30])))
def test_a_single_repeat_has_factors_without_intervals(ask):
    row = one_row(ask)
    assert row["examples_factor"] == pytest.approx(40 / 60)
    assert (row["examples_factor_lo"], row["efficiency_hi"], row["costs_most"]) == (None, None, None)


@pytest.mark.parametrize(
    ("ask", "costs_most"),
    [
        (
            session_of(case(step_ms={1: 10.0, 2: two_ms}, target_step=at(one=[40, 50, 40, 50], two=two))),
            costs_most,
        )
        for two_ms, two, costs_most in (
            (12.5, [80, 100, 80, 90], "examples"),
            (12.5, [20, 40, 30, 20], None),
            (40.0, [20, 30, 20, 30], "throughput"),
        )
    ],
    indirect=["ask"],
    ids=["examples", "none", "throughput"],
)
def test_the_factor_that_costs_most_is_named_only_if_the_runs_tell_it_from_the_others(ask, costs_most):
    assert one_row(ask)["costs_most"] == costs_most


def as_imported(folder):
    """Give every run the figures of a training that was measured elsewhere."""
    for path in folder.glob("*/run.json"):
        run = json.loads(path.read_text())
        parts = {
            "seconds": 100.0,
            "examples": 5_000,
            "training_s": 80.0,
            "reached": not path.match("*1x1.r3/*"),
        }
        write_json(path, run | {"imported": {"place": "line 1", "epochs": None, **parts}})


@asks(session_of(case(until_loss=None, accuracy=None), changed=as_imported))
def test_an_imported_training_has_its_target_and_its_parts_from_its_file(ask):
    rows = ask(
        "SELECT reached, examples, seconds, throughput, training_share FROM target_runs WHERE workers = 1"
    )
    assert [row["reached"] for row in rows].count(False) == 1
    for row in rows:
        assert row | {"reached": None} == {
            "reached": None, "examples": 5_000, "seconds": 100, "throughput": 62.5, "training_share": 0.8,
        }  # fmt: skip
    assert one_row(ask, "throughput_factor")["throughput_factor"] == 0.5
