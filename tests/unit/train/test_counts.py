"""Examples and tokens that a workload counts in each batch."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from bench.train.counts import Counts, count_of
from bench.workloads import Workload
from tests.factory import Case, specs


class Own(Workload):
    """With the given methods of counting; it trains nothing."""

    tokens_per_example = 7
    model = batch = loss = None  # type: ignore[assignment]

    def __new__(cls, **methods: Any) -> Any:
        kind = type("Own", (cls,), {name: staticmethod(method) for name, method in methods.items()})
        return object.__new__(kind)

    def __init__(self, **_: Any) -> None: ...


def outcome(workload: Any, batches: list[int], *, warmup: int, accumulate: int = 1) -> dict[str, Any]:
    """`batches`: their examples, of 10 tokens each."""
    case = Case(name="a", step_ms={1: 1.0}, warmup=warmup, accumulate=accumulate)
    spec = dataclasses.replace(specs(case, "s", "suite", [])[0], global_batch=8)
    counts = Counts(workload)
    for _ in counts.counted(iter([{"x": torch.zeros(size, 10)} for size in batches])):
        pass
    return counts.outcome(spec, len(batches) // accumulate, torch.device("cpu"))


def test_only_measured_steps_count() -> None:
    counted = outcome(Own(examples_in=lambda batch: len(batch["x"])), [100, 4, 6], warmup=1)
    assert counted == {"examples_per_step": 5.0, "tokens_per_example": 7, "work_of_ranks": None}


def test_a_step_has_all_its_micro_batches() -> None:
    counted = outcome(
        Own(examples_in=lambda batch: len(batch["x"]), tokens_in=lambda batch: batch["x"].numel()),
        [100, 100, 4, 6, 5, 1],
        warmup=1,
        accumulate=2,
    )
    assert counted == {"examples_per_step": 8.0, "tokens_per_example": 10.0, "work_of_ranks": None}


def test_tokens_alone_are_a_mean_over_the_global_batch() -> None:
    assert outcome(Own(tokens_in=lambda batch: 4), [8, 8], warmup=0) == {
        "examples_per_step": None,
        "tokens_per_example": 0.5,
        "work_of_ranks": None,
    }


def test_without_the_methods_nothing_is_counted_and_the_batches_are_the_same_iterator() -> None:
    batches = iter([{"x": torch.zeros(1)}])
    assert Counts(Own()).counted(batches) is batches


@pytest.mark.parametrize("found", [3, torch.tensor(3), np.int64(3)])
def test_any_whole_number_is_a_count(found: Any) -> None:
    assert count_of(found) == 3


@pytest.mark.parametrize("found", [0, -1, True, 2**62, 2.0, None, "3", torch.tensor(2.0), torch.zeros(2)])
def test_another_answer_is_refused(found: Any) -> None:
    assert count_of(found) is None
    with pytest.raises(TypeError, match=r"tokens_in\(\) returned .*: return a whole number, 1 or more"):
        outcome(Own(tokens_in=lambda batch: found), [8], warmup=0)
