"""The cheapest plan for a width: its probabilities against SciPy's, its choice against trying every plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, f

from bench.plan.plan_for import MOST_ROUNDS, PROBABILITY, Interval, Pilot, Side, Size, chi_square_tail
from bench.records.t_interval import t_quantile


def size(name: str, *, start_s: float = 2.0, step_s: float = 0.05, least_steps: int = 10) -> Size:
    return Size(
        name=name, start_s=start_s, step_s=step_s, pilot_steps=50, steps=50, repeats=3, least_steps=least_steps,
        timeout_s=60, step_sd=0.05, run_sd=0.01,
    )  # fmt: skip


def interval(*, run_sd: float = 0.01, step_sd: float = 0.05, df: int | None = 2, steps: int = 50) -> Interval:
    """The interval of a ratio whose pilot had exactly its expected variance."""
    side = Side(step_variance=step_sd**2, pilot_steps=steps, steps=50)
    return Interval(name="ddp 1x2", variance=2 * (run_sd**2 + step_sd**2 / steps), df=df, sides=(side, side))


def pilot(*intervals: Interval, start_s: float = 2.0) -> Pilot:
    sizes = (size("ddp 1x1", start_s=start_s), size("ddp 1x2", start_s=start_s, step_s=0.03))
    return Pilot(
        session_id="s",
        rounds=3,
        sizes=sizes,
        intervals=intervals,
        quantity="efficiency",
        session_start_s=7.0,
        unknown=(),
    )


@pytest.mark.parametrize("df", [1, 2, 3, 4, 7, 30, 99])
def test_the_tail_of_chi_squared(df: int) -> None:
    x = np.array([0.0, 0.01, 1.0, df, 3.0 * df, 300.0])
    assert chi_square_tail(x, df) == pytest.approx(chi2.sf(x, df), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("df", [1, 2, 4, 9])
@pytest.mark.parametrize("rounds", [3, 10, 40])
def test_with_the_pilots_own_steps_the_probability_is_that_of_an_f(df: int, rounds: int) -> None:
    """The future variance over the pilot's is an F, if steps tell nothing."""
    one = interval(step_sd=0.0, df=df)
    for width in (0.005, 0.02, 0.05):
        ratio = rounds * np.log1p(width) ** 2 / t_quantile(rounds - 1) ** 2 / one.variance
        assert pilot(one).assurance(50, rounds, width) == pytest.approx(
            f.cdf(ratio, rounds - 1, df), abs=0.006
        )


def test_every_interval_must_be_narrow_enough() -> None:
    one = interval(df=None)
    alone = pilot(one).assurance(50, 7, 0.02)
    assert 0.1 < alone < 0.99
    assert pilot(one, one, one).assurance(50, 7, 0.02) == pytest.approx(alone**3)


@pytest.mark.parametrize("df", [2, 4, None])
@pytest.mark.parametrize("start_s", [0.1, 2.0, 20.0])
@pytest.mark.parametrize(("run_sd", "step_sd"), [(0.01, 0.05), (0.002, 0.1), (0.02, 0.02)])
def test_no_plan_of_all_is_cheaper(run_sd: float, step_sd: float, start_s: float, df: int | None) -> None:
    made = pilot(interval(run_sd=run_sd, step_sd=step_sd, df=df), interval(df=df), start_s=start_s)
    plan = made.cheapest(0.04)
    assert plan is not None
    assert plan.steps in made.step_counts()
    assert plan.seconds == made.seconds(plan.steps, plan.rounds)
    assert made.assurance(plan.steps, plan.rounds, 0.04) >= PROBABILITY
    for steps in made.step_counts():
        for rounds in range(2, MOST_ROUNDS + 1):
            if made.seconds(steps, rounds) < plan.seconds:
                assert made.assurance(steps, rounds, 0.04) < PROBABILITY, (steps, rounds)
    assert plan.width is not None
    assert plan.width <= 0.04 * 1.0002


def test_dear_starts_take_more_steps_and_fewer_rounds() -> None:
    cheap, dear = (pilot(interval(df=9), start_s=start_s).cheapest(0.02) for start_s in (0.1, 20.0))
    assert cheap is not None
    assert dear is not None
    assert cheap.steps is not None
    assert dear.steps is not None
    assert (cheap.steps < dear.steps, cheap.rounds > dear.rounds) == (True, True)


def test_more_steps_do_not_help_runs_that_differ() -> None:
    made = pilot(interval(run_sd=0.05, step_sd=0.001, df=None))
    plan = made.cheapest(0.05)
    assert plan is not None
    assert plan.steps == min(made.step_counts())


def test_a_lucky_pilot_does_not_lower_the_part_of_the_steps() -> None:
    """Three runs may agree by chance, but their steps show that they cannot be that alike."""
    lucky, usual = replace(interval(), variance=0.0), interval(run_sd=0.0, df=None)
    assert pilot(lucky).assurance(50, 5, 0.02) == pytest.approx(pilot(usual).assurance(50, 5, 0.02))


def test_fewer_rounds_of_a_pilot_need_a_larger_margin() -> None:
    found = [pilot(interval(df=df)).rounds_for(50, 0.02) for df in (2, 4, 9, None)]
    rounds = [number for number in found if number is not None]
    assert len(rounds) == 4
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[0] > 2 * rounds[-1]


def test_steps_are_at_least_ten_independent_ones_or_those_of_the_pilot() -> None:
    sizes = (size("a", least_steps=120), size("b"))
    made = replace(pilot(interval()), sizes=sizes)
    assert list(made.step_counts())[:3] == [50, 120, 130]


def test_a_run_keeps_within_half_its_time_limit() -> None:
    made = pilot(interval())
    assert max(made.step_counts()) == 550  # 2 s + 560 steps of 0.05 s are 30 s
    assert all(one.run_s(steps) <= 30 for one in made.sizes for steps in made.step_counts())


def test_no_plan_reaches_what_is_too_narrow() -> None:
    assert pilot(interval()).cheapest(0.0001) is None
