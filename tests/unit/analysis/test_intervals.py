"""Confidence intervals against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.tables.scaling import ratio_parts
from bench.records.t_interval import median_places, t_quantile, t_quantile_of_stopped
from tests.factory import Case
from tests.unit.analysis.conftest import fetch, measured, session_of

ONE = [10.0, 10.4, 10.1, 10.9]
FOUR = [3.0, 3.3, 2.9]


four_over_one = measured(
    Case(name="ddp", step_ms={1: ONE, 4: [*FOUR, 1.0]}, repeats=4, statuses={(4, 3): "failed"})
)


@pytest.fixture
def rows(ask):
    return ask("FROM scaling ORDER BY workers")


def _logs(step_ms: list[float]) -> np.ndarray:
    return np.log(64 / (np.array(step_ms) / 1e3))


def _failed_at_four(failed, *, repeats=4, rounds=True):
    """A session in which the last of these repeats on four ranks failed."""
    statuses = {(4, repeat): "failed" for repeat in range(repeats - failed, repeats)}
    return session_of(
        Case(name="ddp", step_ms={1: 10.0, 4: 3.0}, repeats=repeats, statuses=statuses, rounds=rounds)
    )


@four_over_one
def test_throughput_has_students_interval_on_its_log(rows):
    logs = _logs(FOUR)
    low, high = stats.t.interval(0.95, df=2, loc=logs.mean(), scale=stats.sem(logs))
    assert rows[1]["throughput"] == pytest.approx(np.exp(logs.mean()), rel=1e-12)
    assert rows[1]["throughput_lo"] == pytest.approx(np.exp(low), rel=1e-9)
    assert rows[1]["throughput_hi"] == pytest.approx(np.exp(high), rel=1e-9)


@four_over_one
def test_speedup_has_students_interval_on_differences_within_the_rounds_that_both_sizes_have(rows):
    differences = _logs(FOUR) - _logs(ONE[:3])
    low, high = stats.t.interval(0.95, df=2, loc=differences.mean(), scale=stats.sem(differences))
    assert rows[1]["rounds"] == 3
    assert rows[1]["speedup"] == pytest.approx(np.exp(differences.mean()), rel=1e-12)
    assert rows[1]["speedup_lo"] == pytest.approx(np.exp(low), rel=1e-9)
    assert rows[1]["speedup_hi"] == pytest.approx(np.exp(high), rel=1e-9)


@measured(Case(name="ddp", step_ms={1: [10.0, 11.0, 12.0], 4: [3.0, 3.3, 3.6]}))
def test_what_a_round_does_to_all_sizes_does_not_change_their_ratio(rows):
    assert rows[1]["speedup"] == pytest.approx(10 / 3)
    assert rows[1]["speedup_hi"] - rows[1]["speedup_lo"] == pytest.approx(0, abs=1e-6)
    assert rows[1]["throughput_hi"] / rows[1]["throughput_lo"] > 1.4


@pytest.mark.parametrize(
    ("ask", "rounds"),
    [
        (_failed_at_four(1), 3),
        (_failed_at_four(2), None),
        (_failed_at_four(1, repeats=3), None),  # two rounds show no interval that holds
        (_failed_at_four(0, repeats=2), None),
        (_failed_at_four(4, repeats=7), 3),
        (_failed_at_four(0, rounds=False), None),
    ],
    indirect=["ask"],
)
def test_ratios_are_estimated_within_rounds_where_these_are_complete_enough(rows, rounds):
    assert rows[1]["rounds"] == rounds


@measured(
    Case(name="ddp", step_ms={1: ONE, 4: [*FOUR, 1.0]}, repeats=4, statuses={(4, 3): "failed"}, rounds=False)
)
def test_without_rounds_speedup_has_welchs_interval_on_the_difference_of_logs(rows):
    test = stats.ttest_ind(_logs(FOUR), _logs(ONE), equal_var=False).confidence_interval(0.95)
    assert rows[1]["rounds"] is None
    assert rows[1]["speedup_lo"] == pytest.approx(np.exp(test.low), rel=1e-4)
    assert rows[1]["speedup_hi"] == pytest.approx(np.exp(test.high), rel=1e-4)
    assert rows[1]["efficiency_lo"] == pytest.approx(rows[1]["speedup_lo"] / 4)
    assert rows[1]["efficiency_hi"] == pytest.approx(rows[1]["speedup_hi"] / 4)


def _ok_repeats(one, four):
    """A session with this number of ok repeats on one rank and on four."""
    ok = {1: one, 4: four}
    statuses = {(n, repeat): "failed" for n in ok for repeat in range(ok[n], 3)}
    return session_of(
        Case(name="ddp", step_ms={1: [10.0, 10.1, 10.2], 4: [3.0, 3.1, 3.2]}, statuses=statuses)
    )


@pytest.mark.parametrize(
    ("ask", "verdict"),
    [
        (_ok_repeats(1, 3), "one repeat"),
        (_ok_repeats(3, 1), "one repeat"),
        (_ok_repeats(1, 1), "one repeat"),
        (_ok_repeats(2, 2), "undecided"),
    ],
    indirect=["ask"],
)
def test_too_few_repeats_leave_the_interval_unknown_and_the_verdict_says_so(ask, verdict):
    row = ask("FROM scaling WHERE workers = 4")[0]
    assert row["speedup"] is not None
    assert (row["speedup_lo"], row["speedup_hi"], row["efficiency_lo"]) == (None, None, None)
    assert (row["throughput_lo"] is None) == (row["repeats"] < 3)
    assert row["verdict"] == verdict
    assert row["repeats_needed"] == 3


@measured(Case(name="ddp", step_ms={1: [10.0, 10.2], 4: [3.0, 2.9]}, repeats=2))
def test_two_rounds_show_their_range(ask):
    row = ask("FROM scaling WHERE workers = 4")[0]
    assert (row["speedup_min"], row["speedup_max"]) == (pytest.approx(10 / 3), pytest.approx(10.2 / 2.9))
    assert row["speedup"] == pytest.approx((10 / 3 * 10.2 / 2.9) ** 0.5)
    assert " ".join(ratio_parts(row, "speedup")) == "3.42 (3.33 to 3.52)"


TEN = [10.0, 10.1, 9.9, 10.2, 10.05, 9.95, 10.15, 9.85, 10.3, 10.0]
FAR = [3.0, 3.1, 2.95, 3.05, 9.0, 2.9, 3.2, 3.02, 2.98, 12.0]


@measured(Case(name="ddp", step_ms={1: TEN, 4: FAR}, repeats=10))
def test_from_six_rounds_on_it_is_the_median_with_the_interval_of_order_statistics(ask):
    """k and w of ten values are those of Hettmansperger and Sheather: 2 and 0.658."""
    row = ask("FROM scaling WHERE workers = 4")[0]
    ratios = sorted(np.log(np.array(TEN) / np.array(FAR)))
    assert row["speedup"] == pytest.approx(np.exp(np.median(ratios)))
    assert np.log(row["speedup_lo"]) == pytest.approx(0.342 * ratios[1] + 0.658 * ratios[2], abs=1e-3)
    assert np.log(row["speedup_hi"]) == pytest.approx(0.342 * ratios[8] + 0.658 * ratios[7], abs=1e-3)
    assert row["slow_runs"] == 2
    assert row["throughput"] == pytest.approx(np.exp(np.median(_logs(FAR))))


@pytest.mark.parametrize("n", [6, 8, 10, 17, 30, 60])
def test_the_places_of_the_median_are_those_of_the_runner(in_memory, n):
    found = in_memory.execute("SELECT median_places($1, 0.965)", [n]).fetchone()[0]
    assert (found["k"], pytest.approx(found["w"])) == median_places(n)
    level = in_memory.execute("SELECT median_places($1, 0.95)", [n]).fetchone()[0]["k"]
    assert 1 - 2 * stats.binom.cdf(level - 1, n, 0.5) >= 0.95 > 1 - 2 * stats.binom.cdf(level, n, 0.5)


@measured(Case(name="ddp", step_ms={1: 10.0, 4: 3.0}))
def test_repeats_without_variance_have_an_interval_of_no_width(ask):
    row = ask("FROM scaling WHERE workers = 4")[0]
    assert row["speedup_lo"] == row["speedup"] == row["speedup_hi"]
    assert row["throughput_lo"] == row["throughput_hi"] == pytest.approx(row["throughput"], rel=1e-12)


@measured(Case(name="ddp", step_ms={1: 10.0, 4: [3.0, 3.3, 2.9]}))
def test_variance_on_one_side_only_has_that_sides_degrees_of_freedom(ask):
    row = ask("FROM scaling WHERE workers = 4")[0]
    logs = _logs(FOUR)
    half = stats.t.ppf(0.975, 2) * stats.sem(logs)
    assert row["speedup_lo"] == pytest.approx(10e-3 * np.exp(logs.mean() - half) / 64, rel=1e-9)


DEGREES_OF_FREEDOM = (
    1,
    1.02,
    1.025,
    1.51,
    2,
    2.333,
    3.77,
    4.99,
    5,
    5.1,
    7.9,
    9.99,
    17.2,
    29.5,
    33,
    55,
    100,
    180,
    777,
    5e3,
    1e7,
)


@pytest.mark.parametrize(
    ("macro", "of_the_runner"),
    [
        ("t_quantile(df)", t_quantile),
        ("t_quantile_for(df, false)", t_quantile),
        ("t_quantile_for(df, true)", t_quantile_of_stopped),
    ],
)
def test_student_t_is_that_of_the_runner_and_unknown_below_one_degree_of_freedom(
    in_memory, macro, of_the_runner
):
    values = ", ".join(f"({df})" for df in DEGREES_OF_FREEDOM)
    rows = fetch(in_memory, f"SELECT {macro} AS t FROM (VALUES {values}) AS wanted(df) ORDER BY df")
    found = [row["t"] for row in rows]
    assert found == pytest.approx([of_the_runner(df) for df in DEGREES_OF_FREEDOM], rel=1e-14)
    below = fetch(in_memory, f"SELECT {macro} AS t FROM (VALUES (0.99), (0), (-3), (NULL)) AS wanted(df)")
    assert [row["t"] for row in below] == [None] * 4


@four_over_one
def test_times_of_a_case_have_students_interval_on_their_logs_around_the_geometric_mean(rows):
    medians = np.log(FOUR)
    low, high = stats.t.interval(0.95, df=2, loc=medians.mean(), scale=stats.sem(medians))
    assert rows[1]["step_ms"] == pytest.approx(np.exp(medians.mean()))
    assert (rows[1]["step_ms_lo"], rows[1]["step_ms_hi"]) == pytest.approx((np.exp(low), np.exp(high)))
    elapsed = np.log(1 + 12 * np.array(FOUR) / 1e3)  # what the factory writes: a second, and every step
    assert rows[1]["elapsed_s"] == pytest.approx(np.exp(elapsed.mean()))


@four_over_one
def test_karp_flatt_has_the_interval_of_the_speedup_upside_down(rows):
    def serial(speedup):
        return (1 / speedup - 1 / 4) / (1 - 1 / 4)

    assert rows[1]["karp_flatt"] == pytest.approx(serial(rows[1]["speedup"]))
    assert rows[1]["karp_flatt_lo"] == pytest.approx(serial(rows[1]["speedup_hi"]))
    assert rows[1]["karp_flatt_hi"] == pytest.approx(serial(rows[1]["speedup_lo"]))
    assert (rows[0]["karp_flatt_lo"], rows[1]["gustafson"]) == (None, None)
