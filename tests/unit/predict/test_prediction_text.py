"""Predicted speedups as a sentence."""

from __future__ import annotations

import dataclasses

from bench.predict.predict import Prediction
from bench.predict.prediction_text import lines
from bench.predict.step_time import StepTime
from bench.records.vocabulary import COMMAND
from tests.factory import Case, specs


def speedups(*sizes: Prediction) -> list[str]:
    return [line for line in lines(sizes) if line.startswith("speedup")]


def size(ranks: int, step_s: float | None, *, batch: int = 8, is_upper_bound: bool = False) -> Prediction:
    """`batch`: of all ranks; 0 for a script."""
    (found,) = specs(Case(name="case", step_ms={ranks: 1.0}, repeats=1), "s", "suite", ())
    computation_s = None if step_s is None else 0.5 * step_s
    return Prediction(
        spec=dataclasses.replace(found, global_batch=batch, batch_per_rank=8, threads=1),
        time=StepTime(communication_s=0.1, computation_s=computation_s, exposed_s=computation_s),
        step_is_upper_bound=is_upper_bound,
    )


def test_speedups_are_over_the_fewest_ranks_whose_step_is_known() -> None:
    assert speedups(size(1, None), size(4, 2.0), size(2, 3.0), size(8, 1.5)) == [
        "speedup over 2 ranks: 1.5 on 4 (efficiency 75 %), 2 on 8 (efficiency 50 %)"
    ]


def test_a_line_says_why_an_efficiency_is_above_100_percent_and_what_makes_its_source_doubtful() -> None:
    def cautions(*sizes: Prediction) -> list[str]:
        return [line for line in lines(sizes) if line.startswith("not certain")]

    one, two = size(1, 1.0), size(2, 0.4)
    assert cautions(one, size(2, 0.5)) == []
    half = "above 100 % on 2 because one rank took less than its share of the time for 4 of 8 examples"
    assert cautions(one, dataclasses.replace(two, spec=dataclasses.replace(two.spec, batch_per_rank=4))) == [
        f"not certain: {half}"
    ]
    doubts = ("in s, the machine was busy with other work",)
    weak = [dataclasses.replace(found, doubts=doubts) for found in (one, size(2, 0.9, batch=16))]
    shard = "above 100 % on 2 because a rank updates only its shard of the parameters"
    assert cautions(*weak) == [f"not certain: {shard}; {doubts[0]}"]


def test_examples_count_and_not_steps() -> None:
    assert speedups(size(1, 1.0), size(2, 1.0, batch=16)) == [
        "speedup over 1 rank: 2 on 2 (efficiency 100 %)"
    ]
    script = size(1, 1.0, batch=0), size(2, 1.25, batch=0)
    assert speedups(*script) == ["speedup over 1 rank: 1.6 on 2 (efficiency 80 %)"]


def test_a_step_that_may_be_shorter_gives_a_lower_bound_or_none() -> None:
    bounded = size(2, 1.0, is_upper_bound=True)
    assert speedups(size(1, 1.0), bounded) == ["speedup over 1 rank: at least 1 on 2 (efficiency 50 %)"]
    assert speedups(bounded, size(4, 1.0)) == []


def test_the_precision_of_a_script_is_not_known() -> None:
    suites = size(2, 1.0)
    scripts = dataclasses.replace(suites, spec=dataclasses.replace(suites.spec, workload=COMMAND))
    assert [lines([one])[0] for one in (suites, scripts)] == ["case: ddp on cpu, fp32", "case: ddp on cpu"]
    assert [one.to_json()["precision"] for one in (suites, scripts)] == ["fp32", None]


def test_one_size_has_no_speedup() -> None:
    assert speedups(size(2, 1.0)) == []
