"""The rule idle_stages: its advice can be planned, and ranks that share cores are not its subject."""

from __future__ import annotations

import json

import pytest

from analysis.database import schema
from bench.strategies._layout import Layout
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from tests.factory import Case, make_session
from tests.pipeline_rows import add_pipeline_steps
from tests.unit.analysis.test_batch_limits import probe

RULE = [rule for rule in schema.shipped_rules() if rule.finding == "idle_stages"]


@pytest.mark.parametrize(
    ("ranks", "schedule", "micro_batches", "batch", "advised"),
    [
        (3, "interleaved", 4, 48, 12),
        (8, "interleaved", 11, 96, 32),
        (2, "gpipe", 4, 32, 16),
        (4, "1f1b", 4, 30, 28),  # no multiple of 4 divides 30
    ],
)
def test_it_advises_the_fewest_micro_batches_that_are_enough(
    results, read_back, ranks, schedule, micro_batches, batch, advised
):
    case = Case(
        name="pp",
        strategy="pp",
        strategy_options={"schedule": schedule},
        step_ms={ranks: 20.0},
        ranks_per_node=8,
        scaling="none",
        batch=batch,
        accumulate=micro_batches,
        repeats=1,
    )
    folder = make_session(results, [case])
    add_pipeline_steps(folder / f"pp.1x{ranks}.r0", pipeline_ms=18.0, idle_share=(0.3,) * ranks)
    (row,) = read_back(rules=RULE)("FROM diagnosis WHERE finding = 'idle_stages'")
    assert f"with {advised}, equal stages would wait for 10 % or less" in row["advice"]
    stages = 2 if schedule == "interleaved" else 1
    assert (ranks - 1) / (stages * advised + ranks - 1) <= 0.1
    assert Layout(pp=ranks, schedule=schedule, stages_per_rank=stages).too_few(advised) is None
    assert ("do not divide so" in row["advice"]) == (batch % advised > 0)


@pytest.mark.parametrize("is_searched", [True, False])
def test_its_options_divide_the_batch_also_of_a_case_whose_batch_was_searched(
    results, read_back, tmp_path, is_searched
):
    model = {"name": "transformer_lm", "tie_embeddings": False}
    case = Case(
        name="pp", strategy="pp", strategy_options={"schedule": "gpipe"}, step_ms={2: 20.0}, scaling="none", batch=32,
        accumulate=4, repeats=1, workload="transformer_lm", options=model,
    )  # fmt: skip
    folder = make_session(results, [case])
    add_pipeline_steps(folder / "pp.1x2.r0", pipeline_ms=18.0, idle_share=(0.3, 0.3))
    if is_searched:
        probe(folder, case, 8, "ok", peak_mib=150)
    (row,) = read_back(rules=RULE)("FROM diagnosis WHERE finding = 'idle_stages'")
    given = {"find_batch": True} if is_searched else {"batch_per_rank": 32}
    cases = [
        {"name": "pp", "strategy": {"pp": {"schedule": "gpipe"}}, "scaling": "none", "world": [2], **given}
    ]
    suite = {
        "title": "P",
        "workload": model,
        "train": {"accumulate": 4},
        "measure": {"steps": 2},
        "cases": cases,
    }
    (tmp_path / "p.yaml").write_text(json.dumps(suite))
    settings = tuple(word for word in row["options"].split() if word != "--set")
    (changed,) = load_suite(str(tmp_path / "p.yaml"), Selection(settings=settings)).cases
    assert (changed.train.accumulate, changed.batch_per_rank, changed.find_batch) == (16, 32, None)


def test_ranks_that_share_cores_are_left_out(results, read_back):
    case = Case(name="pp", strategy="pp", step_ms={2: 20.0}, repeats=1, oversubscribed=frozenset({2}))
    folder = make_session(results, [case])
    add_pipeline_steps(folder / "pp.1x2.r0", pipeline_ms=18.0, idle_share=(0.3, 0.3))
    assert read_back(rules=RULE)("FROM diagnosis WHERE finding = 'idle_stages'") == []
