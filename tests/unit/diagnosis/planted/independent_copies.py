from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

OPTIONS = {
    "command": ["python", "train.py"], "cwd": None, "env": {}, "step_optimizer": None, "examples_per_step": None,
    "script": None,
}  # fmt: skip


def fires(results: Path) -> None:
    """The ranks of a command reduced no gradients."""
    make_session(results, [_case("independent copies")])


def quiet(results: Path) -> None:
    """They did, or it is unknown."""
    make_session(results, [_case("one model")])
    make_session(results, [_case(None)], session_id="unknown")


def _case(ranks_train: str | None) -> Case:
    outcome = {"ranks_train": ranks_train}
    return Case(name="command", step_ms={2: 11.0}, workload="command", options=OPTIONS, outcome=outcome)
