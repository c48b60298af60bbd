"""Plan for a width: the numbers of steps and rounds that most cheaply make every interval narrow enough.

The variance of a session has a part for each level, steps and runs, and each level has its own cost: T. Kalibera, R.
Jones: Rigorous Benchmarking in Reasonable Time, ISMM 2013."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.records.t_interval import t_quantile

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite

_Array = np.ndarray[Any, np.dtype[np.float64]]

PROBABILITY = 0.8
"""Probability that a planned session makes every interval narrow enough."""
MOST_ROUNDS = 100
MOST_DIGITS = 6
"""Digits of the largest number of steps."""
_DIGITS = (*range(10, 20), *range(20, 40, 2), *range(40, 100, 5))
"""First two digits of the numbers of steps that are tried."""
_LEAST_STEPS = 10
"""Fewer steps have no interval of the median step."""
_LEAST_TIMES = 10
"""Least number of independent steps: fewer do not show how much successive steps are alike."""
_LEVELS = 100
"""Equally likely values of an unknown variance."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """A case at one placement: what its runs cost."""

    name: str
    start_s: float
    """Seconds of a run without its measured steps."""
    step_s: float
    pilot_steps: float
    steps: int
    """Measured steps that the suite asks for."""
    repeats: int
    """Repeats that the suite asks for."""
    least_steps: int
    timeout_s: float
    step_sd: float
    """Standard deviation of a step ÷ its mean."""
    run_sd: float | None
    """Standard deviation of ln(time) between runs of a round, without the part of the steps; null if unknown."""

    def run_s(self, steps: int | None) -> float:
        """Seconds of a run with this number of measured steps [null: the suite's]."""
        return self.start_s + (steps or self.steps) * self.step_s


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a ratio, or a throughput."""

    step_variance: float
    """Squared step_sd times the number of steps that count as one."""
    pilot_steps: float
    steps: int
    """Measured steps that the suite asks for."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An interval that must be narrow enough: of ln(throughput ÷ the baseline's), or of ln(throughput)."""

    name: str
    variance: float
    """Sample variance over the rounds of the pilot."""
    df: int | None
    """Its degrees of freedom; null if the variance is exact."""
    sides: tuple[Side, ...]

    def steps_variance(self, steps: int | None) -> float:
        """Part of the steps in the variance, with this number of measured steps [null: the suite's]."""
        return sum(side.step_variance / (steps or side.steps) for side in self.sides)

    @property
    def pilot_steps_variance(self) -> float:
        """The same in the pilot."""
        return sum(side.step_variance / side.pilot_steps for side in self.sides)

    def variances(self, steps: int | None) -> _Array:
        """Equally likely values of the true variance, from the largest to the smallest.

        The pilot's variance is uncertain: variance x df ÷ the true one has a chi-squared distribution. The part of the
        steps is known far better, from all steps; the true variance is at least that."""
        ratios = np.ones(_LEVELS) if self.df is None else self.df / _chi_squares(self.df)
        likely = np.maximum(self.variance * ratios, self.pilot_steps_variance)
        return np.maximum(likely - self.pilot_steps_variance + self.steps_variance(steps), 1e-18)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A session: how long it takes and what it reaches."""

    steps: int | None
    """Null: the suite's."""
    rounds: int
    seconds: float
    width: float | None
    """Half-width, as a fraction, that no interval exceeds with PROBABILITY; null for one round."""


@dataclass(frozen=True, kw_only=True)
class Pilot:
    """An earlier session of a suite, and the plans that follow from it."""

    session_id: str
    rounds: int
    """Fewest rounds of an interval."""
    sizes: tuple[Size, ...]
    intervals: tuple[Interval, ...]
    quantity: str
    """Quantity that has the intervals: efficiency, speedup, throughput."""
    session_start_s: float
    """Seconds of a session before its first run."""
    unknown: tuple[str, ...]
    """Sizes without an ok run."""

    def assurance(self, steps: int | None, rounds: int, width: float) -> float:
        """Probability that no interval of a session exceeds this half-width, a fraction.

        Given the true variances, sample variances of a session are independent of each other and have chi-squared
        distributions. The uncertainty of the true ones is taken as common to all intervals: the plan is made for the
        widest, and that the pilot's largest variance came out small is as unlikely as that any of them did."""
        quantile = t_quantile(rounds - 1)
        bound = (rounds - 1) * rounds * math.log1p(width) ** 2 / quantile**2
        variances = np.array([interval.variances(steps) for interval in self.intervals])
        within = 1 - chi_square_tail(bound / variances, rounds - 1)
        return float(within.prod(axis=0).mean())

    def seconds(self, steps: int | None, rounds: int | None) -> float:
        """Time of a session [null: the suite's steps, rounds]."""
        return self.session_start_s + sum((rounds or size.repeats) * size.run_s(steps) for size in self.sizes)

    def width(self, steps: int | None, rounds: int) -> float:
        """Half-width, as a fraction, that no interval of two or more rounds exceeds with PROBABILITY; within 0.01 %."""
        low, high = 1e-9, 1e3
        while high / low > 1.0001:
            middle = math.sqrt(low * high)
            low, high = (
                (low, middle) if self.assurance(steps, rounds, middle) >= PROBABILITY else (middle, high)
            )
        return high

    def plan(self, steps: int | None, rounds: int) -> Plan:
        """The plan with these numbers, two rounds or more."""
        seconds = self.seconds(steps, rounds)
        return Plan(steps=steps, rounds=rounds, seconds=seconds, width=self.width(steps, rounds))

    def as_it_is(self) -> Plan:
        """The suite's own steps and rounds, those of the case with fewest."""
        rounds, seconds = min(size.repeats for size in self.sizes), self.seconds(None, None)
        if rounds < 2:
            return Plan(steps=None, rounds=rounds, seconds=seconds, width=None)
        return replace(self.plan(None, rounds), seconds=seconds)

    @property
    def suite_steps(self) -> set[int]:
        """The suite's numbers of steps."""
        return {size.steps for size in self.sizes}

    def cheapest(self, width: float) -> Plan | None:
        """The cheapest plan for intervals no wider than this, of all numbers of rounds and of `step_counts`; null if
        none reaches it in MOST_ROUNDS."""
        best: tuple[float, int, int] | None = None
        for steps in self.step_counts():
            most = MOST_ROUNDS
            if best is not None:  # more rounds of these steps are dearer than the best
                round_s = sum(size.run_s(steps) for size in self.sizes)
                most = min(most, math.ceil((best[0] - self.session_start_s) / round_s) - 1)
            rounds = self.rounds_for(steps, width, most)
            if rounds is not None:
                best = (self.seconds(steps, rounds), steps, rounds)
        return None if best is None else self.plan(best[1], best[2])

    def rounds_for(self, steps: int | None, width: float, most: int = MOST_ROUNDS) -> int | None:
        """Fewest rounds that reach this width; null if `most` do not. More rounds always make it likelier."""
        if most < 2 or self.assurance(steps, most, width) < PROBABILITY:
            return None
        low, high = 1, most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self.assurance(steps, middle, width) >= PROBABILITY else (middle, high)
            )
        return high

    def least_timeout_s(self) -> float:
        """Time limit of a run that allows the fewest steps; rounded up."""
        least = max(size.least_steps for size in self.sizes)
        return math.ceil(2 * max(size.run_s(least) for size in self.sizes))

    def step_counts(self) -> Iterator[int]:
        """Numbers of steps to try: the pilot's; the least that the noise allows; and above it round numbers, while
        a run fits into half its time limit."""
        pilots = {round(size.pilot_steps) for size in self.sizes}
        least = max(size.least_steps for size in self.sizes)
        most = min((size.timeout_s / 2 - size.start_s) / size.step_s for size in self.sizes)
        tried = {
            steps
            for power in range(MOST_DIGITS - 1)
            for digits in _DIGITS
            if least < (steps := digits * 10**power) <= most
        }
        more = {least} | (pilots if len(pilots) == 1 else set())
        yield from sorted(tried | {steps for steps in more if steps <= most})


def pilot_of(session_id: str, rows: list[dict[str, Any]], suite: ResolvedSuite) -> Pilot | None:
    """The pilot from the rows of a session, a row for each case and placement, as analysis/sql/pilot.py reads them.

    Null if a size has fewer than two ok runs in common rounds with its baseline."""
    known = {row["point_id"]: row for row in rows if row["runs"]}
    cases = {case.name: case for case in suite.cases}
    scaled = any(cases[row["case_name"]].scaling != "none" for row in known.values() if row["baseline_id"])
    compared = [row for row in known.values() if row["baseline_id"] in known]
    quantity = "throughput" if not compared else "efficiency" if scaled else "speedup"
    intervals, fewest = [], math.inf
    for row in compared or known.values():
        of_ratio = bool(compared)
        variance = row["ratio_variance"] if of_ratio else row["log_variance"]
        rounds = row["ratio_rounds"] if of_ratio else row["runs"]
        if variance is None:
            return None
        fewest = min(fewest, rounds)
        both = [row, known[row["baseline_id"]]] if of_ratio else [row]
        intervals.append(
            Interval(
                name=_name(row),
                variance=variance,
                df=rounds - 1,
                sides=tuple(_side(one, cases[one["case_name"]].measure.steps or 1) for one in both),
            )
        )
    if not intervals or (len(known) < len(rows) and not compared):  # every size but the baseline failed
        return None
    return Pilot(
        session_id=session_id,
        rounds=int(fewest),
        sizes=tuple(_size(row, suite) for row in known.values()),
        intervals=tuple(intervals),
        quantity=quantity,
        session_start_s=max(0.0, rows[0]["session_start_s"] or 0.0),
        unknown=tuple(_name(row) for row in rows if not row["runs"]),
    )


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['case_name']} {row['placement']}"


def _side(row: Mapping[str, Any], steps: int) -> Side:
    step_variance = float((row["step_sd"] or 0) ** 2 * (row["autocorrelation_steps"] or 1))
    return Side(step_variance=step_variance, pilot_steps=row["steps"], steps=steps)


def _size(row: Mapping[str, Any], suite: ResolvedSuite) -> Size:
    measure = next(case.measure for case in suite.cases if case.name == row["case_name"])
    independent = math.ceil(_LEAST_TIMES * (row["autocorrelation_steps"] or 1))
    return Size(
        name=_name(row),
        start_s=row["start_s"],
        step_s=row["step_s"],
        pilot_steps=row["steps"],
        steps=measure.steps or 1,
        repeats=measure.fewest_repeats,
        least_steps=max(_LEAST_STEPS, independent, measure.warmup),
        timeout_s=measure.timeout_s,
        step_sd=row["step_sd"] or 0,
        run_sd=row["run_sd"],
    )


def chi_square_tail(x: _Array, df: int) -> _Array:
    """Probability that a chi-squared of `df` degrees of freedom, a whole number, exceeds x; any shape.

    The sum of M. Abramowitz, I. Stegun: Handbook of Mathematical Functions, 26.4.4 and 26.4.5."""
    half = x / 2
    power = np.exp(-half)
    if df % 2:
        tail = np.vectorize(math.erfc, otypes=[float])(np.sqrt(half))
        power = power * np.sqrt(half / math.pi) * 2
        order = 1.5
    else:
        tail = power
        power = power * half
        order = 2.0
    while order < df / 2 + 0.75:
        tail = tail + power
        power = power * half / order
        order += 1
    return np.asarray(tail)


@functools.cache
def _chi_squares(df: int) -> _Array:
    """_LEVELS equally likely values of a chi-squared, from the smallest to the largest, by bisection."""
    wanted = 1 - (np.arange(_LEVELS) + 0.5) / _LEVELS
    low, high = np.zeros(_LEVELS), np.full(_LEVELS, df + 20 * math.sqrt(2 * df) + 20)
    for _ in range(80):
        middle = (low + high) / 2
        is_below = chi_square_tail(middle, df) > wanted
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.asarray((low + high) / 2)
