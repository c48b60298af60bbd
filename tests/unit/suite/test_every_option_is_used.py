"""A suite that ships sets every setting that a suite can have; otherwise the setting would be untested."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import strategies
from bench.records.run_spec import DataSpec, MeasureSpec, TrainSpec
from bench.suite.models import Case
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

SUITES = sorted(path.stem for path in (Path(__file__).parents[3] / "suites").glob("*.yaml"))
SECTIONS: dict[str, Any] = {"data": DataSpec, "train": TrainSpec, "measure": MeasureSpec}
UNUSED: dict[str, str] = {
    "measure.until": "suites ask for ratios, which until_efficiency narrows",
    "train.float8": "needs a GPU of compute capability 8.9, which a suite cannot ask for",
    "train.seed": "any seed is as good as 0; a repeat's own follows from it",
}
"""Key -> why no suite has to set it."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Cases of all suites, unchanged and with --quick."""
    selections = (Selection(), Selection(quick=True))
    return [
        case for suite in SUITES for selection in selections for case in load_suite(suite, selection).cases
    ]


def defaults(kind: Any) -> Iterator[tuple[str, Any]]:
    """Every field with its default."""
    for field in dataclasses.fields(kind):
        made = field.default_factory is not dataclasses.MISSING
        yield field.name, field.default_factory() if made else field.default  # type: ignore[misc]


KEYS = [(section, name, default) for section, kind in SECTIONS.items() for name, default in defaults(kind)]
OPTIONS = [
    (strategy, name, default)
    for strategy in strategies.names()
    for name, default in defaults(strategies.load(strategy).Options)
]


@pytest.mark.parametrize(("section", "name", "default"), KEYS, ids=[f"{key[0]}.{key[1]}" for key in KEYS])
def test_a_key_is_set_by_a_suite(section: str, name: str, default: Any, cases: list[Case]) -> None:
    values = [getattr(getattr(case, section), name) for case in cases]
    used = any(value != default for value in values)
    assert used != (f"{section}.{name}" in UNUSED), (
        f"no suite sets {section}.{name} to other than {default!r}"
    )


@pytest.mark.parametrize(
    ("strategy", "name", "default"), OPTIONS, ids=[f"{key[0]}.{key[1]}" for key in OPTIONS]
)
def test_a_strategys_option_is_set_by_a_suite(
    strategy: str, name: str, default: Any, cases: list[Case]
) -> None:
    values = [case.strategy.options[name] for case in cases if case.strategy.name == strategy]
    used = any(value != default for value in values)
    assert used != (f"{strategy}.{name}" in UNUSED), (
        f"no suite sets {strategy}'s {name} to other than {default!r}"
    )


def test_every_strategy_precision_and_scaling_is_in_a_suite(cases: list[Case]) -> None:
    assert {case.strategy.name for case in cases} == set(strategies.names()) - {"command"}  # no command ships
    assert {case.scaling for case in cases} == {"none", "strong", "weak"}
    assert {case.device for case in cases} == {"auto", "cpu", "cuda"}
    assert any(case.threads is not None and len(case.threads) > 1 for case in cases)
