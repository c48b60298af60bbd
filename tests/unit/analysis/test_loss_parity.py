"""Whether training is the same at every size: planted differences, and every reason to withhold a verdict."""

from __future__ import annotations

import numpy as np
import pytest

from tests.factory import Case, make_session
from tests.rewriting import drop_steps, rewrite_steps
from tests.unit.analysis.conftest import derive_again

LOSSES = np.linspace(2.0, 1.0, 32)
"""Losses of 2 warm-up and 30 measured steps; the same at every size."""


def _case(**values):
    given = {"name": "ddp", "step_ms": {1: 4.0, 2: 2.0}, "repeats": 1, "steps": 30, "losses": (2.0, 1.0)}
    return Case(**(given | values))


@pytest.fixture
def parity(results, read_back):
    """Parity of a case, with a run's losses multiplied by a factor for each step; the row of two ranks."""

    def run(case=None, factors=None, run_id="ddp.1x2.r0", dropped=frozenset()):
        folder = make_session(results, [case or _case()])
        if factors is not None:
            rewrite_steps(folder, run_id, {"loss": LOSSES * factors})
        if dropped:
            drop_steps(folder, run_id, dropped)
        rows = read_back()("FROM loss_parity ORDER BY workers, repeat")
        return rows[0]

    return run


def _factors(*changed, steps=32):
    values = np.ones(steps)
    for step, factor in changed:
        values[step] = factor
    return values


def test_equal_losses_are_the_same_training(parity):
    row = parity()
    assert (row["verdict"], row["reason"], row["largest_relative_difference"]) == ("same", None, 0.0)
    assert row["at_step"] is None
    assert (row["workers"], row["baseline_workers"], row["baseline_placement"]) == (2, 1, "1x1")
    assert (row["steps_compared"], row["tolerance"]) == (20, 1e-4)


def test_the_largest_relative_difference_of_the_first_twenty_steps_decides(parity):
    row = parity(factors=_factors((3, 1 - 5e-5), (19, 1 - 2e-4), (20, 0.5)))
    assert row["verdict"] == "different"
    assert row["largest_relative_difference"] == pytest.approx(2e-4)
    assert (row["at_step"], row["reason"]) == (19, None)


@pytest.mark.parametrize(
    ("strategy", "options", "precision", "tolerance"),
    [
        ("ddp", {"gradient_compression": "none"}, "fp32", 1e-4),
        ("ddp", {"gradient_compression": "fp16"}, "fp32", 1e-2),
        ("ddp", {"gradient_compression": "bf16"}, "fp16", 5e-2),
        ("fsdp", {"reduce_dtype": "bf16"}, "fp32", 5e-2),
        ("fsdp", {"reduce_dtype": "fp32"}, "bf16", 5e-2),
        ("ddp", {"gradient_compression": "powersgd"}, "fp32", 1e-4),
    ],
)
def test_what_gradients_travel_as_widens_the_tolerance(parity, strategy, options, precision, tolerance):
    case = _case(strategy=strategy, strategy_options=options, precision=precision)
    row = parity(case, factors=_factors((5, 1 + 9e-3)))
    assert row["tolerance"] == tolerance
    assert row["verdict"] == ("different" if tolerance == 1e-4 else "same")


def test_of_steps_with_the_same_difference_the_first_is_named(results, read_back):
    folder = make_session(results, [_case()])
    for run_id, loss in (("ddp.1x1.r0", 1.0), ("ddp.1x2.r0", 1.5)):
        rewrite_steps(folder, run_id, {"loss": np.full(32, loss)})
    row = read_back()("FROM loss_parity ORDER BY workers, repeat")[0]
    assert (row["verdict"], row["at_step"]) == ("different", 0)


def test_what_follows_the_first_twenty_steps_is_told_and_not_judged(parity):
    row = parity(factors=_factors((31, 1.5)))
    assert row["verdict"] == "same"
    assert row["final_loss_relative_difference"] == pytest.approx(0.5)
    measured = LOSSES[2:]
    assert row["mean_loss_relative_difference"] == pytest.approx(0.5 * LOSSES[31] / measured.sum())


@pytest.mark.parametrize(
    ("precision", "within", "beyond"),
    [("fp32", 0.9e-4, 1.1e-4), ("tf32", 0.9e-2, 1.1e-2), ("bf16", 4e-2, 6e-2)],
)
def test_the_tolerance_hangs_on_the_precision(results, read_back, precision, within, beyond):
    folder = make_session(results, [_case(repeats=2, precision=precision)])
    rewrite_steps(folder, "ddp.1x2.r0", {"loss": LOSSES * _factors((0, 1 - within))})
    rewrite_steps(folder, "ddp.1x2.r1", {"loss": LOSSES * _factors((0, 1 - beyond))})
    rows = read_back()("FROM loss_parity ORDER BY repeat")
    assert [row["verdict"] for row in rows] == ["same", "different"]


def test_each_repeat_is_held_against_the_same_repeat(results, read_back):
    folder = make_session(results, [_case(repeats=2)])
    for size in (1, 2):
        rewrite_steps(folder, f"ddp.1x{size}.r1", {"loss": LOSSES * 3})
    rows = read_back()("FROM loss_parity")
    assert [row["verdict"] for row in rows] == ["same", "same"]


def test_fp16_beyond_its_tolerance_has_no_verdict(parity):
    row = parity(_case(precision="fp16"), _factors((15, 1.1)))
    assert (row["verdict"], row["largest_relative_difference"]) == (None, pytest.approx(0.1 / 1.1))
    assert "loss scaler" in row["reason"]


def test_weak_scaling_has_another_global_batch_and_no_verdict(parity):
    row = parity(_case(scaling="weak"))
    assert (row["verdict"], row["reason"]) == (None, "weak scaling: more ranks, another global batch")
    assert (row["largest_relative_difference"], row["final_loss_relative_difference"]) == (None, None)


def test_a_model_that_couples_examples_has_its_difference_and_no_verdict(parity):
    row = parity(_case(couples_examples=True), _factors((4, 0.9)))
    assert (row["verdict"], row["largest_relative_difference"]) == (None, pytest.approx(0.1))
    assert "BatchNorm" in row["reason"]


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "same"), (0.9, None)])
def test_where_coupling_was_not_recorded_only_equal_losses_have_a_verdict(parity, factor, verdict):
    row = parity(_case(couples_examples=None), _factors((4, factor)))
    assert row["verdict"] == verdict
    assert (row["reason"] is None) == (verdict == "same")


def test_a_loss_that_is_not_finite_on_one_side_alone_is_a_difference(parity):
    row = parity(factors=_factors((7, np.nan)))
    assert (row["verdict"], row["reason"]) == ("different", "not finite on one side alone at step 7")
    assert row["steps_compared"] == 19


def test_losses_that_are_not_finite_on_both_sides_leave_nothing_to_judge(results, read_back):
    folder = make_session(results, [_case()])
    for size in (1, 2):
        rewrite_steps(folder, f"ddp.1x{size}.r0", {"loss": LOSSES * _factors((7, np.inf), (8, np.nan))})
    (row,) = read_back()("FROM loss_parity")
    assert (row["verdict"], row["reason"]) == (None, "not finite on either side from step 7 on")


@pytest.mark.parametrize("run_id", ["ddp.1x1.r0", "ddp.1x2.r0"])
def test_missing_steps_leave_no_verdict(parity, run_id):
    row = parity(run_id=run_id, dropped={5, 6})
    assert (row["verdict"], row["reason"]) == (None, "18 of 20 steps are there on both sides")


def test_a_difference_that_was_seen_needs_no_further_steps(results, read_back):
    folder = make_session(results, [_case()])
    rewrite_steps(folder, "ddp.1x2.r0", {"loss": LOSSES * _factors((2, 0.9))})
    drop_steps(folder, "ddp.1x2.r0", {5, 6})
    (row,) = read_back()("FROM loss_parity")
    assert (row["verdict"], row["at_step"], row["steps_compared"]) == ("different", 2, 18)


def test_of_runs_shorter_than_twenty_steps_all_are_compared(parity):
    row = parity(_case(steps=6))
    assert (row["verdict"], row["steps_compared"]) == ("same", 8)


def test_a_run_that_failed_early_has_too_few_steps(parity):
    row = parity(_case(steps=20, statuses={(2, 0): "failed"}))
    assert (row["status"], row["reason"]) == ("failed", "12 of 20 steps are there on both sides")


def test_a_repeat_without_its_baseline_has_no_verdict(results, read_back):
    case = _case(repeats=2, statuses={(1, 1): "skipped"})
    make_session(results, [case])
    rows = read_back()("FROM loss_parity ORDER BY repeat")
    assert [(row["verdict"], row["reason"]) for row in rows] == [
        ("same", None),
        (None, "the baseline has no such repeat"),
    ]


def test_without_any_ok_run_no_size_is_a_baseline(results, read_back):
    statuses = {(n, 0): "failed" for n in (1, 2)}
    make_session(results, [_case(statuses=statuses)])
    rows = read_back()("FROM loss_parity")
    assert [(row["verdict"], row["reason"]) for row in rows] == [
        (None, "the baseline has no such repeat")
    ] * 2


def test_losses_of_zero_agree(results, read_back):
    folder = make_session(results, [_case()])
    for size in (1, 2):
        rewrite_steps(folder, f"ddp.1x{size}.r0", {"loss": 0.0})
    (row,) = read_back()("FROM loss_parity")
    assert (row["verdict"], row["final_loss_relative_difference"]) == ("same", None)


def test_a_loss_that_a_rank_did_not_report_is_no_step_of_all_ranks(results, read_back):
    folder = make_session(results, [_case(ranks_per_node=1, step_ms={1: 4.0, 2: 2.0})])
    drop_steps(folder, "ddp.2x1.r0", {4}, node=1)
    (row,) = read_back()("FROM loss_parity")
    assert (row["placement"], row["reason"]) == ("2x1", "19 of 20 steps are there on both sides")


def test_threads_share_the_batch_of_one_rank(results, read_back):
    make_session(results, [_case(axis="threads")])
    (row,) = read_back()("FROM loss_parity")
    assert (row["placement"], row["baseline_placement"], row["verdict"]) == ("1x1 t2", "1x1 t1", "same")


def test_another_accumulation_leaves_no_verdict(results, read_back, in_memory):
    make_session(results, [_case()])
    ask = read_back()
    in_memory.execute("UPDATE runs SET accumulate = 4 WHERE workers = 2")
    derive_again(in_memory)
    (row,) = ask("FROM loss_parity")
    assert (row["verdict"], row["reason"]) == (None, "4 micro-batches a step against 1")
