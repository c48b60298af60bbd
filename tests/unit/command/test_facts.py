"""Facts that the probes of all ranks give together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bench.command import facts
from tests.unit.workloads.runs import spec

OPTIONS = {"examples_per_step": None}
RUN = replace(spec(batch_per_rank=0, world=4), workload="command", workload_options=OPTIONS)


def used(*groups: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Process groups of one profiled step."""
    return {
        "9": [
            {"name": str(n), "description": "", "ranks": ranks, "calls": 1} for n, ranks in enumerate(groups)
        ]
    }


def rank(number: int, **other: Any) -> dict[str, Any]:
    """The facts of a rank of a distributed training."""
    return {
        "examples": {"loader": {"total": 240, "batch": 8}}, "tokens": 0, "measured_steps": 30, "skipped_steps": 0,
        "loader_counts": ["indices"], "is_loaded_elsewhere": False, "digest": number,
        "world_size": 4, "reduced_bytes": 1000, "groups": used([0, 1, 2, 3]),
        "has_own_steps": False, "named_phases": [], "has_messages": False, "has_own_loss": False, "models": ["Net"],
        "seen": ["backward", "data", "forward"],
        "loader": {"workers": 2, "starts": 1}, "closing": "SGD", "optimizers": ["SGD"],
        "late_optimizers": [], "trained_elements": 1000,
        "profile_problem": None,
        "torch": "2.15.0", **other,
    }  # fmt: skip


def ranks(**other: Any) -> dict[str, dict[str, Any]]:
    return {str(number): rank(number, **other) for number in range(4)}


def test_the_batch_and_the_examples_are_those_of_all_ranks() -> None:
    counted = ranks() | {
        "3": rank(3, examples={"loader": {"total": 90, "batch": 6}}, measured_steps=15, tokens=630)
    }
    found = facts.with_the_batch(RUN, counted)
    assert (found.batch_per_rank, found.global_batch) == (8, 30)
    outcome = facts.of_run(RUN, counted)
    assert outcome["examples_per_step"] == 30
    assert outcome["tokens_per_example"] is None  # three ranks have none
    text = facts.of_run(RUN, ranks(tokens=24_000))
    assert (text["examples_per_step"], text["tokens_per_example"]) == (32, 100)
    assert outcome["same_batch"] is False
    assert json.loads(outcome["recorded_by"])["examples"] == "by the loader's indices"


NONE = {"loader": {"total": None, "batch": None}}
ASKED = replace(RUN, batch_per_rank=8, global_batch=32)


def by_model(batch: int, **other: Any) -> dict[str, Any]:
    """Counts of a rank that reads no DataLoader."""
    return {"examples": NONE | {"model": {"total": 30 * batch, "batch": batch}}, **other}


def test_the_batch_is_unknown_if_a_rank_could_not_count_it() -> None:
    """Also if the user asked for one: what was trained is another question."""
    without = ranks() | {"2": rank(2, examples=NONE)}
    for found in (facts.with_the_batch(RUN, without), facts.with_the_batch(ASKED, without)):
        assert (found.batch_per_rank, found.global_batch) == (0, 0)
    outcome = facts.of_run(RUN, without)
    assert outcome["examples_per_step"] is None
    assert json.loads(outcome["recorded_by"])["examples"] == "not known, because rank 2 has no count"


def test_rank_0_that_reads_the_batches_of_all_ranks_has_its_own() -> None:
    """As accelerate does for a stream: rank 0 reads 32 examples, and each rank trains 8."""
    read = {"loader": {"total": 960, "batch": 32}, "model": {"total": 240, "batch": 8}}
    dispatched = {str(number): rank(number, **by_model(8)) for number in range(4)}
    dispatched["0"] = rank(0, examples=read, loader_counts=["shape"])
    outcome = facts.of_run(RUN, dispatched)
    assert outcome["examples_per_step"] == 32
    assert "conflict" not in json.loads(outcome["recorded_by"])
    read["loader"] = {"total": 600, "batch": 20}
    outcome = facts.of_run(RUN, dispatched)
    assert outcome["examples_per_step"] is None
    assert facts.with_the_batch(ASKED, dispatched).global_batch == 0
    assert "rank 0 trains 20 examples" in json.loads(outcome["recorded_by"])["conflict"]


@pytest.mark.parametrize(("batch", "agrees"), [(8, True), (24, True), (4, False), (12, False)])
def test_whole_micro_batches_agree_with_what_the_user_asked_for(batch: int, agrees: bool) -> None:
    counts = {"loader": {"total": 30 * batch, "batch": batch}}
    outcome = facts.of_run(ASKED, ranks(examples=counts))
    assert outcome["examples_per_step"] == (4 * batch if agrees else None)
    assert ("conflict" in json.loads(outcome["recorded_by"])) is not agrees


def test_a_model_that_gets_one_of_several_batches_is_a_question() -> None:
    """The script drops every second batch."""
    counts = {"loader": {"total": 480, "batch": 16}, "model": {"total": 240, "batch": 8}}
    outcome = facts.of_run(RUN, ranks(examples=counts))
    assert outcome["examples_per_step"] is None
    assert "the model gets 8" in json.loads(outcome["recorded_by"])["conflict"]
    for other in (35, 1):  # time first, and one row without padding
        counts["model"] = {"total": other * 30, "batch": other}
        assert facts.of_run(RUN, ranks(examples=counts))["examples_per_step"] == 64


def test_an_error_of_the_recorder_leaves_no_count() -> None:
    outcome = facts.of_run(RUN, ranks(errors={"examples": "Traceback"}))
    assert outcome["examples_per_step"] is None


@pytest.mark.parametrize(
    ("other", "train"),
    [
        ({}, "one model"),
        ({"groups": {}}, "one model"),  # this torch does not tell its groups
        ({"world_size": None}, "independent copies"),  # no process group
        ({"world_size": 1}, "independent copies"),
        ({"reduced_bytes": 4}, "independent copies"),  # a loss for the log
        ({"reduced_bytes": 64 * 4, "trained_elements": 1_000_000}, "independent copies"),  # 64 metrics
        ({"reduced_bytes": 2_000, "trained_elements": 1_000_000}, "one model"),  # PowerSGD sends no less
        ({"reduced_bytes": 63, "trained_elements": 10}, "independent copies"),
        ({"reduced_bytes": 64, "trained_elements": 10}, "one model"),
        ({"reduced_bytes": None}, None),  # the profiler failed
        ({"groups": {"9": []}}, "one model"),
        ({"reduced_bytes": 0, "has_messages": True}, None),  # a pipeline
    ],
)
def test_ranks_that_combine_their_gradients_train_one_model(other: dict[str, Any], train: str | None) -> None:
    assert facts.of_run(RUN, ranks(**other))["ranks_train"] == train


def test_the_rank_that_reduces_least_and_the_one_that_trains_most_decide() -> None:
    of_ranks = ranks(reduced_bytes=10_000, trained_elements=1_000_000)
    assert facts.of_run(RUN, of_ranks)["ranks_train"] == "one model"
    for other in ({"reduced_bytes": 256}, {"trained_elements": 100_000_000}):
        one_differs = of_ranks | {"2": of_ranks["2"] | other}
        assert facts.of_run(RUN, one_differs)["ranks_train"] == "independent copies"


def test_groups_must_lead_from_every_rank_to_every_other() -> None:
    apart = {str(number): rank(number, groups=used([0, 1] if number < 2 else [2, 3])) for number in range(4)}
    assert facts.of_run(RUN, apart)["ranks_train"] == "independent copies"
    linked = apart | {"0": rank(0, groups=used([0, 1], [0, 2]))}
    assert facts.of_run(RUN, linked)["ranks_train"] == "one model"


def test_a_run_that_was_stopped_has_no_profiled_steps_to_judge_by() -> None:
    stopped = ranks()
    for one in stopped.values():
        del one["reduced_bytes"], one["has_messages"]
    assert facts.of_run(RUN, stopped)["ranks_train"] is None


def test_the_stages_of_a_pipeline_share_their_batch() -> None:
    same = {name: one | {"digest": 7} for name, one in ranks().items()}
    stages = {name: one | {"has_messages": True} for name, one in same.items()}
    assert facts.of_run(RUN, same)["same_batch"] is True
    assert facts.of_run(RUN, stages)["same_batch"] is None


def test_one_rank_trains_one_model_anyway() -> None:
    alone = replace(RUN, world_size=1)
    assert facts.of_run(alone, {"0": rank(0)})["ranks_train"] is None
    assert facts.of_run(alone, {"0": rank(0)})["same_batch"] is None
