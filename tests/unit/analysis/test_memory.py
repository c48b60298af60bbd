"""Memory growth, unused cache, and free memory of the device."""

from __future__ import annotations

import numpy as np
import pytest

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import asks, derive_again, measured, session_of

GB = 10**9
GPU = {
    "0": {"gpu0_memory_bytes": str(80 * GB), "gpu1_memory_bytes": str(64 * GB), "memory_bytes": str(500 * GB)}
}


def _case(**values):
    given = {
        "name": "ddp",
        "step_ms": {2: 50.0},
        "warmup": 2,
        "steps": 40,
        "device_type": "cuda",
        "memory_bytes": GB,
    }
    return Case(**(given | values))


def _allocate(folder, run_id, by_rank):
    """bytes [ranks, 42 steps]"""
    rewrite_steps(folder, run_id, {"memory_allocated_bytes": np.asarray(by_rank).astype(np.int64)})


def _rising(bytes_per_step):
    return GB + bytes_per_step * np.arange(42)


def growing(*by_rank, environment=GPU):
    """A session in which the memory of ranks 0 and 1 is this over the steps of each of three repeats."""

    def changed(folder):
        for repeat in range(3):
            _allocate(folder, f"ddp.1x2.r{repeat}", np.vstack(by_rank))

    return session_of(_case(), changed=changed, environment=environment)


def grown(*by_rank, **session):
    return asks(growing(*by_rank, **session))


@pytest.fixture
def row(ask):
    """The one row of the session."""
    (row,) = ask("FROM memory")
    return row


FLAT = np.full(42, GB)


@grown(np.full(42, 2 * GB), _rising(10_000_000))
def test_a_rank_that_leaks_is_found_with_the_steps_that_are_left(row):
    assert (row["is_growing"], row["growing_rank"]) == (True, 1)
    assert row["growth_bytes_per_step"] == pytest.approx(10_000_000)
    assert (row["peak_memory_allocated_bytes"], row["device_memory_bytes"]) == (2 * GB, 64 * GB)
    # The allocator's cache, 1.25 GB, is more than the sensors saw.
    assert row["headroom_bytes"] == 62.75 * GB
    assert row["steps_to_full"] == 6275


@grown(_rising(10_000_000), _rising(10_000_000))
def test_of_ranks_that_grow_alike_the_smallest_is_named(row):
    assert (row["is_growing"], row["growing_rank"]) == (True, 0)


@grown(FLAT, FLAT)
def test_constant_memory_does_not_grow(row):
    assert row["growing_rank"] is None
    assert (row["is_growing"], row["growth_bytes_per_step"], row["steps_to_full"]) == (False, 0.0, None)


@pytest.mark.parametrize(
    "ask",
    [growing(np.where(np.arange(42) < at, GB, 2 * GB), FLAT) for at in (4, 12, 22, 30, 40)],
    indirect=True,
)
def test_a_jump_is_no_growth(row):
    assert row["is_growing"] is False


def _jumps(*at):
    """Jumps, and a page in each step, as the resident set of any process has them."""
    return GB + GB // 20 * np.sum(np.arange(42) >= np.array(at)[:, None], axis=0) + 4_096 * np.arange(42)


@pytest.mark.parametrize(
    "ask",
    [growing(_jumps(*at), FLAT) for at in [(12, 27), (5, 36), (15, 16), (4, 20, 35)]],
    indirect=True,
)
def test_a_few_jumps_are_no_growth(row):
    assert row["is_growing"] is False


@pytest.mark.parametrize(
    "ask",
    [growing(GB + 8_000_000 * (np.arange(42) // 4) + jump * (np.arange(42) >= 14), FLAT) for jump in (0, GB)],
    indirect=True,
)
def test_a_leak_in_every_fourth_step_grows_whatever_jumps_beside_it(row):
    assert (row["is_growing"], row["growing_rank"]) == (True, 0)
    assert row["growth_bytes_per_step"] == pytest.approx(2_000_000, rel=0.5)


@grown(*np.random.default_rng(0).normal(GB, 0.1 * GB, (2, 42)))
def test_noise_is_no_growth(row):
    assert row["is_growing"] is False


@grown(_rising(200_000), FLAT)
def test_growth_below_one_percent_over_the_measured_steps_does_not_count(row):
    assert row["is_growing"] is False  # 8 MB of 1 GB


@grown(_rising(-10_000_000), _rising(-10_000_000))
def test_shrinking_memory_does_not_grow(row):
    assert (row["is_growing"], row["growth_bytes_per_step"]) == (False, pytest.approx(-10_000_000))


@measured(
    _case(),
    environment=GPU,
    changed=lambda folder: _allocate(folder, "ddp.1x2.r1", [_rising(10_000_000)] * 2),
)
def test_growth_in_one_repeat_alone_is_not_steady(row):
    assert row["is_growing"] is False


@measured(_case(steps=8))
def test_few_readings_leave_growth_unknown(row):
    assert (row["is_growing"], row["growth_bytes_per_step"], row["steps_to_full"]) == (None, None, None)


@measured(
    _case(repeats=1),
    environment=GPU,
    changed=lambda folder: rewrite_steps(
        folder, "ddp.1x2.r0", {"memory_reserved_bytes": np.array([[3 * GB], [2 * GB]])}
    ),
)
def test_the_cache_is_told_of_the_rank_where_most_lies_unused(row):
    assert row["reserved_to_allocated"] == 3.0
    assert row["headroom_bytes"] == 61 * GB
    assert (row["free_share"], row["memory_limit_bytes"]) == (61 / 64, None)


@measured(_case(measure={"memory_limit_bytes": 5 * GB}), environment=GPU)
def test_what_is_free_of_a_limit_counts_where_it_is_less_than_of_the_device(row):
    assert (row["memory_limit_bytes"], row["free_share"]) == (5 * GB, 1 - 1.25 / 5)


@measured(_case())
def test_an_unknown_device_has_no_headroom(row):
    assert (row["device_memory_bytes"], row["headroom_bytes"]) == (None, None)


@grown(_rising(10_000_000), _rising(10_000_000), environment={})
def test_a_leak_on_a_device_of_unknown_size_has_no_steps_to_full(row):
    assert (row["is_growing"], row["headroom_bytes"], row["steps_to_full"]) == (True, None, None)


@measured(_case(memory_bytes=50 * GB, statuses={(2, repeat): "oom" for repeat in range(3)}), environment=GPU)
def test_a_run_that_ran_out_of_memory_shows_how_little_was_left(row):
    assert (row["oom_runs"], row["headroom_bytes"]) == (3, 64 * GB - 62.5 * GB)
    assert (row["is_growing"], row["growth_bytes_per_step"]) == (None, None)


@measured(_case(device_type="cpu"), environment=GPU)
def test_of_a_cpu_the_node_is_what_fills(row):
    assert (row["device_memory_bytes"], row["reserved_to_allocated"]) == (500 * GB, None)
    assert row["headroom_bytes"] is None  # no sensor read the host's memory
    assert row["is_growing"] is False


@measured(_case(), environment={"0": {"gpu0_memory_bytes": "lots"}})
def test_a_fact_that_is_no_number_is_unknown(row):
    assert row["device_memory_bytes"] is None


def test_sensors_are_read_even_where_no_step_was_completed(results, read_back, in_memory):
    make_session(results, [_case(repeats=1)])
    ask = read_back()
    in_memory.execute("DELETE FROM steps")
    derive_again(in_memory)
    (row,) = ask("FROM memory")
    assert (row["peak_device_memory_used_bytes"], row["peak_memory_allocated_bytes"]) == (GB, None)
