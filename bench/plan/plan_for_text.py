"""`bench suite --plan-for` as text: the cheapest plan next to others, their measurements, the command."""

from __future__ import annotations

import textwrap

from bench.common.terminal import aligned
from bench.plan.plan_for import MOST_ROUNDS, PROBABILITY, Pilot, Plan, Size
from bench.plan.plan_text import duration

_WIDTH = 79
_WIDER = 1.05
"""Advised width ÷ the narrowest that is possible: the narrowest takes the most steps."""


def plan_for_lines(pilot: Pilot, width: float, best: Plan, command: str) -> list[str]:
    """Lines of at most 79 columns, unless names or options are long. `best` is the cheapest plan for this width, and
    `command` runs it."""
    as_it_is = pilot.as_it_is()
    rounds = pilot.rounds_for(None, width)
    more = None if rounds is None else pilot.plan(None, rounds)
    suites = "-".join(str(steps) for steps in sorted({min(pilot.suite_steps), max(pilot.suite_steps)}))
    plans = [
        ("", "steps", "rounds", "duration", "half-width"),
        ("cheapest", *_plan_cells(best, suites)),
        ("more rounds only", *_plan_cells(more, suites)),
        ("suite as it is", *_plan_cells(as_it_is, suites)),
    ]
    ratios = (
        f"The cheapest plan takes {best.seconds / as_it_is.seconds:.2g} times as long as the suite as it is"
    )
    if more is not None and more.seconds > best.seconds:
        ratios += f", and {best.seconds / more.seconds:.2g} times as long as more rounds of its steps"
    return [
        *_wrapped(
            f"To know the {pilot.quantity} of every size within {percent(width)} (half-width of its 95 % interval); "
            f"{100 * PROBABILITY:.0f} % of such sessions without slow runs reach the half-width shown:"
        ),
        "",
        *aligned(plans, left=1),
        "",
        *_wrapped(f"{ratios}."),
        "",
        *_wrapped(
            f"From {pilot.session_id}, {pilot.rounds} rounds; {duration(pilot.session_start_s)} before the first run; "
            "standard deviations of steps and of runs of a round:"
        ),
        "",
        *aligned([("", "start", "a step", "of steps", "of runs"), *map(_size_cells, pilot.sizes)], left=1),
        *(
            _wrapped(f"Without an ok run, so not in the durations: {', '.join(pilot.unknown)}.")
            if pilot.unknown
            else []
        ),
        "",
        command,
    ]


def unreached(pilot: Pilot, width: float) -> str:
    """A message: no number of rounds up to MOST_ROUNDS reaches this width, and another width that one does."""
    narrowest = min(pilot.width(steps, MOST_ROUNDS) for steps in pilot.step_counts())
    possible = float(f"{_WIDER * narrowest:.1e}")
    near = pilot.cheapest(possible) if possible <= 1 else None
    text = f"{percent(width)} cannot be reached in {MOST_ROUNDS} rounds. "
    if near is not None:
        text += (
            f"{percent(possible)} can, in {duration(near.seconds)} ({near.rounds} rounds of {near.steps} steps): "
            f"--plan-for {percent(possible).replace(' ', '')}. "
        )
    return (
        f"{text}Session {pilot.session_id} has {pilot.rounds} rounds: a pilot of more rounds, as with --repeats 10, "
        "knows the noise better and needs a smaller margin. A quieter machine needs fewer rounds."
    )


def percent(fraction: float) -> str:
    """`2 %`."""
    if fraction > 1:
        return "> 100 %"
    return f"{100 * fraction:.3g} %"


def _plan_cells(plan: Plan | None, suites: str) -> tuple[str, ...]:
    if plan is None:
        return (suites, f"> {MOST_ROUNDS}", "", "")
    width = "unknown" if plan.width is None else percent(plan.width)
    return (str(plan.steps or suites), str(plan.rounds), duration(plan.seconds), width)


def _size_cells(size: Size) -> tuple[str, ...]:
    runs = "" if size.run_sd is None else f"{100 * size.run_sd:.2f} %"
    return (
        size.name,
        f"{size.start_s:.2f} s",
        f"{1e3 * size.step_s:.4g} ms",
        f"{100 * size.step_sd:.2f} %",
        runs,
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False, break_long_words=False)
