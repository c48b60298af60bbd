"""Levels of made-up histories: 12 cases that vary by 0.5 %, and what happens to them."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.levels.judge import judge

SERIES, DRAWS, SD = 12, 100, 0.005


def judged(shifts, sessions=14, series=SERIES):
    """The result of `judge` for 100 histories. `shifts`: session, series, and a factor of throughput from there on."""
    values = np.random.default_rng(7).normal(0, SD, (sessions, DRAWS, series))
    for session, which, factor in shifts:
        values[session:, :, which] += np.log(factor)
    return judge(values, np.full(values.shape, SD**2))


EVERY = slice(None)


@pytest.mark.parametrize("shared", [1.05, 0.9])
def test_a_case_that_slows_down_after_a_shift_of_all_is_found_with_its_own_ratio(shared):
    """Its level is then that of the sessions since the shift; otherwise it would be hidden, or told with the shift."""
    own = judged([(8, EVERY, shared), (10, 0, 0.95)]).own
    slower = own.direction[:, :, 0] == -1
    assert slower.any(axis=0).mean() > 0.95
    assert np.exp(own.log_ratio[:, :, 0][slower]) == pytest.approx(0.95, abs=0.03)
    assert (own.level_first[:, :, 0][slower] >= 8).all()
    assert (own.direction[:, :, 1:] == -1).any(axis=(0, 2)).mean() < 0.05


@pytest.mark.parametrize(("moved", "least", "most"), [(SERIES, 11, 12), (7, 7, 9)])
def test_a_shift_counts_the_cases_that_moved_with_it(moved, least, most):
    found = judged([(8, slice(0, moved), 0.97)])
    shifts = np.nonzero(found.shared.direction[:, :, 0])
    assert len(shifts[0]) >= DRAWS * 0.95
    counts = found.sharing.sum(axis=-1)[shifts]
    assert ((least <= counts) & (counts <= most)).mean() > 0.9


def test_one_slow_session_is_told_and_so_is_the_return_from_it():
    found = judged([(5, EVERY, 1 / 1.3), (6, EVERY, 1.3)], series=6).shared
    assert (found.direction[5, :, 0] == -1).mean() > 0.95
    assert ((found.direction[6, :, 0] == 1) & (found.returns[6, :, 0] == 1)).mean() > 0.95
    assert (found.direction[7:, :, 0] != 0).any(axis=0).mean() < 0.05
