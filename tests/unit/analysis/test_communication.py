"""Views `communication` and `communication_by_op` on profiled steps that were made up."""

from __future__ import annotations

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.factory import Case, make_session
from tests.profile_rows import add_profile, without_synchronisation

OPS = {"all_reduce": (3, 1_000_000, 500_000), "control": (1, 4, 100_000)}


def figures(spec, rank):
    """The first repeat: rank 0 waits longer; the second: everything takes 10 ms longer."""
    return (100 + 10 * spec.repeat, 40 - 20 * rank, 30 - 20 * rank, 60)


@pytest.fixture
def profiled(results, read_back):
    folder = make_session(
        results,
        [Case(name="ddp", step_ms={2: 50.0}, repeats=2, steps=10), Case(name="bare", step_ms={2: 9.0})],
    )
    for run in folder.glob("bare*"):
        (run / "run.json").write_text((run / "run.json").read_text().replace('"ok"', '"failed"'))
    add_profile(folder, figures, OPS)
    without_synchronisation(folder, "ddp.1x2.r0", 8)
    without_synchronisation(folder, "ddp.1x2.r1", 8)
    return read_back()


def test_parts_of_a_profiled_step_are_means_that_add_up_to_it(profiled):
    (row,) = profiled("FROM communication")
    assert (row["case_name"], row["repeats"], row["profiled_steps"]) == ("ddp", 2, 2)
    assert (row["profiled_step_ms"], row["communication_ms"], row["exposed_communication_ms"]) == (
        105.0,
        30.0,
        20.0,
    )
    assert (row["hidden_communication_ms"], row["compute_ms"], row["least_communication_ms"]) == (10, 60, 20)
    alone = row["compute_ms"] - row["hidden_communication_ms"]
    parts = alone + row["hidden_communication_ms"] + row["exposed_communication_ms"] + row["other_ms"]
    assert parts == pytest.approx(row["profiled_step_ms"])
    assert row["overlap"] == pytest.approx(1 / 3)


def test_the_exposed_share_has_an_interval_over_repeats(profiled):
    (row,) = profiled("FROM communication")
    shares = (20 / 100, 20 / 110)
    half = 12.7062 * abs(shares[0] - shares[1]) / 2  # Student's t with one degree of freedom
    assert row["exposed_share"] == pytest.approx(sum(shares) / 2)
    assert row["exposed_share_hi"] == pytest.approx(sum(shares) / 2 + half, rel=1e-4)
    assert row["exposed_share_lo"] == pytest.approx(max(0, sum(shares) / 2 - half), abs=1e-4)


def test_the_exposed_share_of_one_repeat_has_no_interval(results, read_back):
    add_profile(make_session(results, [Case(name="ddp", step_ms={2: 50.0}, repeats=1)]), figures, OPS)
    (row,) = read_back()("FROM communication")
    assert (row["exposed_share"], row["exposed_share_lo"], row["exposed_share_hi"]) == (0.2, None, None)


def test_messages_are_those_of_a_rank_in_a_step_and_control_is_no_all_reduce(profiled):
    (row,) = profiled("FROM communication")
    assert row["message_bytes"] == 1_000_004
    assert row["all_reduce_bus_gbps"] == pytest.approx(2 * (2 - 1) / 2 * 1e6 / 5e5)
    by_op = {row["op"]: row for row in profiled("FROM communication_by_op")}
    assert {op: (row["calls"], row["message_bytes"], row["time_ms"]) for op, row in by_op.items()} == {
        "all_reduce": (3, 1e6, 0.5),
        "control": (1, 4, 0.1),
    }
    assert by_op["all_reduce"]["bus_gbps"] == pytest.approx(2.0)
    assert by_op["control"]["bus_gbps"] is None


def test_each_dimension_of_a_mesh_has_its_own_share(results, read_back):
    groups = {
        "mesh_tp": (2, 12, 4_000, 30_000_000, 20_000_000),
        "mesh_dp_shard": (4, 3, 900, 8_000_000, 5_000_000),
    }
    folder = make_session(results, [Case(name="mesh", strategy="mesh", step_ms={8: 50.0}, repeats=2)])
    add_profile(folder, lambda spec, rank: (100 + 10 * spec.repeat, 40, 30, 60), OPS, groups=groups)
    ask = read_back()
    rows = {row["dimension"]: row for row in ask("FROM communication_by_group")}
    assert set(rows) == {"tp", "dp_shard"}
    figures = ("ranks", "repeats", "calls", "message_bytes", "time_ms", "exposed_ms")
    assert [rows["tp"][name] for name in figures] == [2, 2, 12, 4_000, 30, 20]
    assert [rows["dp_shard"][name] for name in figures] == [4, 2, 3, 900, 8, 5]
    shares = (20 / 100, 20 / 110)
    half = 12.7062 * abs(shares[0] - shares[1]) / 2
    assert rows["tp"]["exposed_share"] == pytest.approx(sum(shares) / 2)
    assert rows["tp"]["exposed_share_hi"] == pytest.approx(sum(shares) / 2 + half, rel=1e-4)


def test_steps_that_synchronise_nothing_are_in_no_figure_but_the_saving(profiled):
    (row,) = profiled("FROM communication")
    assert (row["measured_step_ms"], row["no_sync_step_ms"], row["no_sync_saving_ms"]) == (50.0, 50.0, 0.0)
    counts = {row["measured_steps"] for row in profiled("FROM run_summary WHERE case_name = 'ddp'")}
    assert counts == {8 - 2}


def test_a_run_has_as_many_profiled_steps_as_the_rank_with_the_fewest(results, read_back):
    folder = make_session(results, [Case(name="ddp", step_ms={2: 50.0}, repeats=1)])
    add_profile(folder, figures, OPS, steps=3)
    (path,) = folder.glob("*/profile.node0.parquet")
    table = pq.read_table(path)
    is_kept = pc.or_(pc.equal(table["rank"], 0), pc.equal(table["step"], pc.min(table["step"])))
    pq.write_table(table.filter(is_kept), path)
    (row,) = read_back()("FROM communication")
    assert row["profiled_steps"] == 1
