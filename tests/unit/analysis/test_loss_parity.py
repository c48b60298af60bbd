"""Whether training is the same at every size: planted differences, and every reason to withhold a verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from analysis.wording import lost_efficiency
from analysis.wording.headline import headline
from analysis.wording.main_loss import main_loss
from tests.factory import Case, write_json
from tests.rewriting import drop_steps, rewrite_steps
from tests.unit.analysis.conftest import asks, measured, session_of

LOSSES = np.linspace(2.0, 1.0, 32)
"""Losses of 2 warm-up and 30 measured steps; the same at every size."""


def _case(**values):
    given = {"name": "ddp", "step_ms": {1: 4.0, 2: 2.0}, "repeats": 1, "steps": 30, "losses": (2.0, 1.0)}
    return Case(**(given | values))


def training(case=None, *, losses=None, dropped=None, node=0):
    """A session of the case, with these losses and without these steps of its runs."""

    def changed(folder):
        for run_id, values in (losses or {}).items():
            rewrite_steps(folder, run_id, {"loss": values})
        for run_id, steps in (dropped or {}).items():
            drop_steps(folder, run_id, steps, node=node)

    return session_of(case or _case(), changed=changed)


def trained(case=None, **values):
    return asks(training(case, **values))


@pytest.fixture
def rows(ask):
    return ask("FROM loss_parity ORDER BY workers, repeat")


@pytest.fixture
def row(rows):
    """The first repeat of two ranks."""
    return rows[0]


def _scaled(*changed, steps=32):
    """Losses of which some steps are multiplied by a factor."""
    values = np.ones(steps)
    for step, factor in changed:
        values[step] = factor
    return LOSSES * values


TWO = "ddp.1x2.r0"


@trained()
def test_equal_losses_are_the_same_training(row):
    assert (row["verdict"], row["reason"], row["largest_relative_difference"]) == ("same", None, 0.0)
    assert row["at_step"] is None
    assert (row["workers"], row["baseline_workers"], row["baseline_placement"]) == (2, 1, "1x1")
    assert (row["steps_compared"], row["tolerance"]) == (20, 1e-4)


@trained(losses={TWO: _scaled((3, 1 - 5e-5), (19, 1 - 2e-4), (20, 0.5))})
def test_the_largest_relative_difference_of_the_first_twenty_steps_decides(row):
    assert row["verdict"] == "different"
    assert row["largest_relative_difference"] == pytest.approx(2e-4)
    assert (row["at_step"], row["reason"]) == (19, None)


def _travelling(strategy, options, precision):
    """Two ranks' loss differs by 0.9 %."""
    case = _case(strategy=strategy, strategy_options=options, precision=precision)
    return training(case, losses={TWO: _scaled((5, 1 + 9e-3))})


@pytest.mark.parametrize(
    ("ask", "tolerance"),
    [
        (_travelling("ddp", {"gradient_compression": "none"}, "fp32"), 1e-4),
        (_travelling("ddp", {"gradient_compression": "fp16"}, "fp32"), 1e-2),
        (_travelling("ddp", {"gradient_compression": "bf16"}, "fp16"), 5e-2),
        (_travelling("fsdp", {"reduce_dtype": "bf16"}, "fp32"), 5e-2),
        (_travelling("fsdp", {"reduce_dtype": "fp32"}, "bf16"), 5e-2),
        (_travelling("ddp", {"gradient_compression": "powersgd"}, "fp32"), 1e-4),
    ],
    indirect=["ask"],
)
def test_what_gradients_travel_as_widens_the_tolerance(row, tolerance):
    assert row["tolerance"] == tolerance
    assert row["verdict"] == ("different" if tolerance == 1e-4 else "same")


@trained(losses={"ddp.1x1.r0": np.full(32, 1.0), TWO: np.full(32, 1.5)})
def test_of_steps_with_the_same_difference_the_first_is_named(row):
    assert (row["verdict"], row["at_step"]) == ("different", 0)


@trained(losses={TWO: _scaled((31, 1.5))})
def test_what_follows_the_first_twenty_steps_is_told_and_not_judged(row):
    assert row["verdict"] == "same"
    assert row["final_loss_relative_difference"] == pytest.approx(0.5)


def _of_precision(precision, within, beyond):
    losses = {TWO: _scaled((0, 1 - within)), "ddp.1x2.r1": _scaled((0, 1 - beyond))}
    return training(_case(repeats=2, precision=precision), losses=losses)


@pytest.mark.parametrize(
    "ask",
    [
        _of_precision("fp32", 0.9e-4, 1.1e-4),
        _of_precision("tf32", 0.9e-2, 1.1e-2),
        _of_precision("bf16", 4e-2, 6e-2),
    ],
    indirect=True,
)
def test_the_tolerance_hangs_on_the_precision(rows):
    assert [row["verdict"] for row in rows] == ["same", "different"]


@trained(_case(repeats=2), losses={f"ddp.1x{size}.r1": LOSSES * 3 for size in (1, 2)})
def test_each_repeat_is_held_against_the_same_repeat(rows):
    assert [row["verdict"] for row in rows] == ["same", "same"]


@trained(_case(precision="fp16"), losses={TWO: _scaled((15, 1.1))})
def test_fp16_beyond_its_tolerance_has_no_verdict(row):
    assert (row["verdict"], row["largest_relative_difference"]) == (None, pytest.approx(0.1 / 1.1))
    assert "loss scaler" in row["reason"]


@trained(_case(precision="bf16", train={"float8": True}), losses={TWO: _scaled((5, 1.2))})
def test_float8_beyond_the_tolerance_has_no_verdict(row):
    assert row["largest_relative_difference"] > row["tolerance"]
    assert (row["verdict"], row["reason"]) == (
        None,
        "float8 scales each tensor by its largest element, which depends on the batch of a rank",
    )


@trained(_case(scaling="weak"))
def test_weak_scaling_has_another_global_batch_and_no_verdict(row):
    assert (row["verdict"], row["reason"]) == (None, "weak scaling: more ranks, another global batch")
    assert (row["largest_relative_difference"], row["final_loss_relative_difference"]) == (None, None)


@trained(_case(couples_examples=True), losses={TWO: _scaled((4, 0.9))})
def test_a_model_that_couples_examples_has_its_difference_and_no_verdict(row):
    assert (row["verdict"], row["largest_relative_difference"]) == (None, pytest.approx(0.1))
    assert "BatchNorm" in row["reason"]


@pytest.mark.parametrize(
    ("ask", "verdict"),
    [
        (training(_case(couples_examples=None), losses={TWO: _scaled((4, factor))}), verdict)
        for factor, verdict in [(1.0, "same"), (0.9, None)]
    ],
    indirect=["ask"],
)
def test_where_coupling_was_not_recorded_only_equal_losses_have_a_verdict(row, verdict):
    assert row["verdict"] == verdict
    assert (row["reason"] is None) == (verdict == "same")


@trained(_case(outcome={"examples_per_step": 60.5}), losses={TWO: _scaled((4, 0.9))})
def test_batches_of_several_sizes_may_train_another_model(row):
    assert row["verdict"] is None
    assert row["reason"].startswith("the batches differ in size")


@trained(losses={TWO: _scaled((7, np.nan))})
def test_a_loss_that_is_not_finite_on_one_side_alone_is_a_difference(row):
    assert (row["verdict"], row["reason"]) == ("different", "not finite on one side alone at step 7")
    assert row["steps_compared"] == 19


@trained(losses={f"ddp.1x{size}.r0": _scaled((7, np.inf), (8, np.nan)) for size in (1, 2)})
def test_losses_that_are_not_finite_on_both_sides_leave_nothing_to_judge(rows):
    (row,) = rows
    assert (row["verdict"], row["reason"]) == (None, "not finite on either side from step 7 on")


@pytest.mark.parametrize(
    "ask", [training(dropped={run_id: {5, 6}}) for run_id in ("ddp.1x1.r0", TWO)], indirect=True
)
def test_missing_steps_leave_no_verdict(row):
    assert (row["verdict"], row["reason"]) == (None, "18 of 20 steps are there on both sides")


@trained(losses={TWO: _scaled((2, 0.9))}, dropped={TWO: {5, 6}})
def test_a_difference_that_was_seen_needs_no_further_steps(rows):
    (row,) = rows
    assert (row["verdict"], row["at_step"], row["steps_compared"]) == ("different", 2, 18)


@trained(_case(steps=6))
def test_of_runs_shorter_than_twenty_steps_all_are_compared(row):
    assert (row["verdict"], row["steps_compared"]) == ("same", 8)


@trained(_case(steps=20, statuses={(2, 0): "failed"}))
def test_a_run_that_failed_early_has_too_few_steps(row):
    assert (row["status"], row["reason"]) == ("failed", "12 of 20 steps are there on both sides")


@trained(_case(repeats=2, statuses={(1, 1): "skipped"}))
def test_a_repeat_without_its_baseline_has_no_verdict(rows):
    assert [(row["verdict"], row["reason"]) for row in rows] == [
        ("same", None),
        (None, "the baseline has no such repeat"),
    ]


@trained(_case(statuses={(n, 0): "failed" for n in (1, 2)}))
def test_without_any_ok_run_no_size_is_a_baseline(rows):
    assert [(row["verdict"], row["reason"]) for row in rows] == [
        (None, "the baseline has no such repeat")
    ] * 2


@trained(losses={f"ddp.1x{size}.r0": 0.0 for size in (1, 2)})
def test_losses_of_zero_agree(rows):
    (row,) = rows
    assert (row["verdict"], row["final_loss_relative_difference"]) == ("same", None)


@trained(_case(ranks_per_node=1), dropped={"ddp.2x1.r0": {4}}, node=1)
def test_a_loss_that_a_rank_did_not_report_is_no_step_of_all_ranks(rows):
    (row,) = rows
    assert (row["placement"], row["reason"]) == ("2x1", "19 of 20 steps are there on both sides")


@trained(_case(axis="threads"))
def test_threads_share_the_batch_of_one_rank(rows):
    (row,) = rows
    assert (row["placement"], row["baseline_placement"], row["verdict"]) == ("1x1 t2", "1x1 t1", "same")


def _accumulating(folder):
    path = folder / TWO / "run.json"
    run = json.loads(path.read_text())
    run["spec"]["train"]["accumulate"] = 4
    write_json(path, run)


@measured(_case(), changed=_accumulating)
def test_another_accumulation_is_judged_because_the_mean_over_its_micro_batches_is_the_same(rows):
    (row,) = rows
    assert (row["verdict"], row["reason"]) == ("same", None)


@measured(_case(couples_examples=True), changed=_accumulating)
def test_another_accumulation_of_coupled_examples_leaves_no_verdict(rows):
    (row,) = rows
    assert (row["verdict"], row["reason"]) == (
        None,
        "the model couples the examples of a batch, as BatchNorm does",
    )


@trained(
    _case(repeats=3, step_ms={1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2]}),
    losses={run: _scaled((3, 0.9)) for run in (TWO, "ddp.1x2.r1", "ddp.1x2.r2")},
)
def test_another_training_that_is_slower_is_marked_as_slower(ask):
    assert [(row["verdict"], row["is_slower"]) for row in ask("FROM scaling ORDER BY workers")] == [
        (None, False),
        ("different training", True),
    ]


@trained(_case(repeats=2), losses={run: _scaled((3, 0.9)) for run in (TWO, "ddp.1x2.r1")})
def test_the_speed_of_another_training_gets_no_verdict_of_its_own(ask):
    points = ask("FROM scaling ORDER BY workers")
    assert [point["verdict"] for point in points] == [None, "different training"]
    assert points[1]["efficiency"] == pytest.approx(1.0, rel=0.2)
    assert (points[1]["verdict_lo"], points[1]["repeats_needed"]) == (None, 0)
    losses = ask("FROM efficiency_loss")
    assert "trains a different model than on 1 rank" in headline(points)
    assert main_loss(points, losses) == ""
    assert list(lost_efficiency.lines(points, losses, [])) == []
