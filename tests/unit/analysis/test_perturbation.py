"""View `perturbation` on pairs of steps that were made up."""

from __future__ import annotations

import pytest

from tests.factory import Case, make_session
from tests.selfcheck_rows import add_selfcheck

BARE_MS = 10.0


def added_us(pair: int, rank: int) -> float:
    """20 on the mean over ranks, 7 more with every pair; the ranks lie 10 apart."""
    return 20 + 7 * pair + (5 if rank else -5)


@pytest.fixture
def perturbed(results, read_back):
    """`found` has 11 pairs at 2 ranks and 4 at 1; of the others no steps were taken."""
    folder = make_session(
        results,
        [
            Case(name="found", step_ms={1: 20.0, 2: BARE_MS}, repeats=2),
            Case(name="off", step_ms={1: 20.0}, measure={"selfcheck": 0}),
            Case(name="short", step_ms={1: 20.0}),
            Case(name="broken", step_ms={1: 20.0}, statuses={(1, 0): "failed", (1, 1): "failed", (1, 2): "failed"}),
        ],
    )  # fmt: skip
    add_selfcheck(folder / "found.1x2.r0", pairs=11, bare_ms=BARE_MS, added_us=added_us)
    add_selfcheck(folder / "found.1x1.r0", pairs=4, bare_ms=BARE_MS, added_us=lambda pair, rank: -3.0)
    return read_back()


def test_what_measuring_adds_is_the_median_over_pairs_of_means_over_ranks(perturbed):
    (row,) = perturbed("FROM perturbation WHERE case_name = 'found' AND workers = 2")
    assert (row["pairs"], row["steps"], row["bare_step_ms"]) == (11, 22, BARE_MS)
    assert row["difference_us"] == pytest.approx(20 + 7 * 5)
    assert row["instrumented_step_ms"] == pytest.approx(BARE_MS + 0.055)
    assert row["share"] == pytest.approx(0.0055)
    assert row["left_out"] is None


def test_its_interval_lies_between_two_of_the_pairs_differences(perturbed):
    (row,) = perturbed("FROM perturbation WHERE case_name = 'found' AND workers = 2")
    # of 11 sorted values the second and the tenth hold the median with 98.8 %, the third and the ninth with 93.5 %
    assert (row["difference_us_lo"], row["difference_us_hi"]) == pytest.approx((20 + 7, 20 + 7 * 9))
    assert (row["share_lo"], row["share_hi"]) == pytest.approx((0.0027, 0.0083))


def test_too_few_pairs_have_a_figure_and_no_interval(perturbed):
    (row,) = perturbed("FROM perturbation WHERE case_name = 'found' AND workers = 1")
    assert (row["pairs"], row["difference_us"]) == (4, pytest.approx(-3.0))
    assert (row["difference_us_lo"], row["difference_us_hi"], row["share_lo"]) == (None, None, None)


def test_where_nothing_was_measured_everything_is_null_but_the_reason(perturbed):
    rows = {row["case_name"]: row for row in perturbed("FROM perturbation WHERE pairs = 0")}
    assert {name: row["left_out"] for name, row in rows.items()} == {
        "off": "switched off", "short": "too short"
    }  # fmt: skip
    for row in rows.values():
        assert {row[name] for name in row if name.endswith(("_ms", "_us", "_lo", "_hi"))} == {None}


def test_these_steps_are_in_no_other_figure(perturbed):
    counts = perturbed("SELECT DISTINCT measured_steps FROM run_summary WHERE case_name = 'found'")
    kinds = perturbed("SELECT DISTINCT kind FROM steps ORDER BY kind")
    assert counts == [{"measured_steps": 10}]
    assert [row["kind"] for row in kinds] == ["measured", "warmup"]
