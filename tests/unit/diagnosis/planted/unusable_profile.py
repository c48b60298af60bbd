from __future__ import annotations

from pathlib import Path

from bench.measure.profile.profiled_step import problem_of
from tests.factory import Case, make_session

PROBLEMS = {
    "no_kernels": problem_of("cuda", ()),
    "own_profiler": "a profiler of the script is running: turn it off in the script",
    "short": "the script ended before its profiled steps: let it train for more steps",
    "error": "RuntimeError: Can't disable Kineto profiler when it's not running",
}
"""By the name of a case."""


def fires(results: Path) -> None:
    """A rank has no rows, and the run says why."""
    cases = [
        Case(name=name, step_ms={2: 11.0}, outcome={"profile_problem": text})
        for name, text in PROBLEMS.items()
    ]
    make_session(results, cases)


def quiet(results: Path) -> None:
    """Nothing was profiled."""
    make_session(results, [Case(name="ddp", step_ms={2: 11.0})])
