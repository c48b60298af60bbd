"""Rows of the report's queries, on numbers that can be worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from analysis import database
from analysis.report import frames
from tests.unit.report.conftest import BROKEN, GPUS, HOSTILE, HOSTILE_CASE, SCALING


@pytest.fixture
def ask(results):
    with database.reader(results) as connection:
        yield lambda name, session=SCALING: frames.frame(connection, name, session)


def select(rows, **wanted):
    return rows.filter([pl.col(name) == value for name, value in wanted.items()])


def test_speedup_leaves_out_cases_that_do_not_scale(ask):
    rows = ask("speedup")
    assert rows.get_column("case_name").unique().sort().to_list() == ["ddp", "fsdp"]
    ddp = select(rows, case_name="ddp")
    assert ddp.get_column("placement").to_list() == ["1x1", "1x2", "1x4"]
    assert ddp.get_column("speedup").to_list() == pytest.approx([1.0, 2.0, 3.2])
    assert select(rows, oversubscribed=True).get_column("placement").to_list() == ["1x4"]


def test_placements_on_several_nodes_are_told_apart(ask):
    assert ask("speedup", GPUS).select("placement", "locality").rows() == [
        ("1x8", "within_node"),
        ("2x8", "across_nodes"),
    ]


def test_steps_of_all_ok_repeats_make_the_distribution(ask):
    (row,) = select(ask("step_time_distribution"), case_name="ddp", workers=2).to_dicts()
    assert (row["label"], row["steps"], row["repeats"]) == ("ddp 1x2", 1200, 3)
    assert {row[name] for name in row if name.endswith("_ms")} == {200.0}


def test_long_series_are_binned_and_short_ones_are_not(ask):
    loss = select(ask("loss"), kind="training", case_name="ddp", workers=1)
    assert loss.height == 100  # of 402 steps
    assert loss.get_column("step").to_list()[:3] == [0, 5, 9]
    assert loss.get_column("loss")[0] == pytest.approx(2.3 - 2.0 * 2 / 401)  # mean of steps 0 to 4
    assert select(ask("loss"), kind="training", case_name="alone").height == 12
    by_rank = select(ask("step_time_by_rank"), case_name="ddp", workers=4)
    assert sorted(by_rank.group_by("rank").len().rows()) == [(rank, 50) for rank in range(4)]


def test_the_first_ok_repeat_stands_for_a_placement(ask):
    assert select(ask("loss"), case_name="ddp").get_column("repeat").unique().to_list() == [0]


def test_of_many_ranks_the_four_slowest_and_the_four_fastest_are_shown(ask):
    rows = ask("step_time_by_rank", GPUS)
    assert select(rows, placement="2x8").get_column("rank").n_unique() == 8
    assert select(rows, placement="1x8").get_column("rank").n_unique() == 8


def test_memory_of_a_run_that_failed_is_shown_too(ask):
    rows = ask("memory", BROKEN)
    assert rows.get_column("status").unique().to_list() == ["failed"]
    assert rows.get_column("memory_allocated_bytes").unique().to_list() == [1_000_000_000]


def test_wall_time_adds_up_to_what_the_runs_took(ask):
    # 12 steps of 100 ms, one second besides, of which half is start-up; three repeats
    alone = dict(select(ask("wall_time"), case_name="alone").select("part", "wall_s").rows())
    assert alone == pytest.approx({"start-up": 1.5, "measured": 3.0, "other": 2.1})
    lost = select(ask("wall_time"), part="lost").select("label", "wall_s").rows()
    assert lost == [("fsdp 1x1", pytest.approx(1 + 7 * 0.4))]


def test_utilisation_is_a_fraction_by_kind_of_device(ask):
    rows = ask("utilisation", GPUS)
    found = dict(rows.group_by("kind").agg(pl.col("utilisation").mean()).rows())
    assert found == pytest.approx({"host": 0.55, "GPU": 0.92})


def test_cases_follow_the_suite(ask):
    assert ask("cases").get_column("case_name").to_list() == ["ddp", "alone", "fsdp"]
    ordered = frames.by_suite(ask("throughput"), ["ddp", "alone", "fsdp"]).get_column("case_name")
    assert ordered.unique(maintain_order=True).to_list() == ["ddp", "alone", "fsdp"]


def test_characters_that_draw_nothing_become_visible(ask):
    (name,) = ask("cases", HOSTILE).get_column("case_name").to_list()
    assert name == HOSTILE_CASE.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028")


def test_the_sql_beside_a_chart_can_be_pasted(results, ask):
    with database.reader(results) as connection:
        pasted = connection.sql(frames.pasteable("throughput", HOSTILE)).pl()
    assert pasted.height == ask("throughput", HOSTILE).height == 2
    assert frames.pasteable("cases", "it's").count("'it''s'") == 1
