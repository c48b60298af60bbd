"""Rows of the report's queries, on numbers that can be worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.database import connections
from analysis.report import named_queries
from tests.unit.report.conftest import BROKEN, GPUS, HOSTILE, HOSTILE_CASE, SCALING


@pytest.fixture
def ask(results):
    with connections.reader(results) as connection:
        yield lambda name, session=SCALING: named_queries.frame(connection, name, session)


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
    loss = select(ask("loss"), case_name="ddp", workers=1)
    assert loss.height == 60  # of 402 steps
    assert loss.get_column("step").to_list()[:3] == [0, 7, 14]
    assert loss.get_column("loss")[0] == pytest.approx(2.3 - 2.0 * 3 / 401)  # mean of steps 0 to 6
    assert select(ask("loss"), case_name="alone").height == 12
    by_rank = select(ask("step_time_by_rank"), case_name="ddp", workers=4)
    assert sorted(by_rank.group_by("rank").len().rows()) == [(rank, 50) for rank in range(4)]


def test_the_first_ok_repeat_stands_for_a_placement(ask):
    assert select(ask("loss"), case_name="ddp").get_column("repeat").unique().to_list() == [0]


def test_of_many_ranks_the_four_slowest_and_the_four_fastest_are_shown(ask):
    rows = ask("step_time_by_rank", GPUS)
    assert select(rows, placement="2x8").get_column("rank").n_unique() == 8
    assert select(rows, placement="2x8", half="slower").get_column("rank").n_unique() == 4
    assert select(rows, placement="1x8").get_column("rank").n_unique() == 8


def test_memory_of_a_run_that_failed_is_shown_too(ask):
    rows = ask("memory", BROKEN)
    assert rows.get_column("status").unique().to_list() == ["failed"]
    assert rows.select("kind", "memory_mib").unique().rows() == [("resident set", 1_000_000_000 / 2**20)]


def test_memory_on_gpus_is_allocated_and_reserved(ask):
    rows = ask("memory", GPUS)
    assert sorted(rows.select("kind", "memory_mib").unique().rows()) == [
        ("allocated", 1_000_000_000 / 2**20),
        ("reserved", 1_250_000_000 / 2**20),
    ]


def test_training_loss_knows_the_step_the_epoch_and_the_wall_time_of_its_bins(ask):
    rows = select(ask("training_loss"), case_name="alone")
    assert rows.get_column("step").to_list() == list(range(12))
    last = rows.row(-1, named=True)
    assert last["epoch"] == pytest.approx(12 * 64 / 10_000)
    assert last["time_s"] == pytest.approx(1.2)
    assert last["loss"] == pytest.approx(0.3)


def test_a_validation_lies_at_the_end_of_the_last_step_before_it(ask):
    (row,) = select(ask("validation_accuracy"), case_name="alone").to_dicts()
    assert (row["step"], row["val_accuracy"]) == (12, 0.9)
    assert row["time_s"] == pytest.approx(1.2)
    (loss,) = select(ask("validation_loss"), case_name="alone").get_column("val_loss").to_list()
    assert loss == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [("power", "power_w", 600.0), ("temperature", "temperature_c", 61.0), ("clocks", "clock_mhz", 1980.0)],
)
def test_sensors_of_gpus_are_binned_over_time(ask, name, column, value):
    rows = ask(name, GPUS)
    assert rows.get_column("kind").unique().to_list() == ["GPU"]
    assert rows.get_column(column).to_list() == pytest.approx([value] * rows.height)
    assert max(rows.group_by("placement").len().get_column("len")) <= 40
    assert ask(name).is_empty()


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
    ordered = named_queries.by_suite(ask("throughput"), ["ddp", "alone", "fsdp"]).get_column("case_name")
    assert ordered.unique(maintain_order=True).to_list() == ["ddp", "alone", "fsdp"]


def test_characters_that_draw_nothing_become_visible(ask):
    (name,) = ask("cases", HOSTILE).get_column("case_name").to_list()
    assert name == HOSTILE_CASE.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028")


def test_the_sql_beside_a_chart_can_be_pasted(results, ask):
    with connections.reader(results) as connection:
        pasted = connection.sql(named_queries.pasteable("throughput", HOSTILE)).pl()
    assert pasted.height == ask("throughput", HOSTILE).height == 2
    assert named_queries.pasteable("cases", "it's").count("'it''s'") == 1


def test_a_timeline_joins_neighbouring_slices_in_which_a_rank_does_the_same(ask):
    rows = select(ask("timeline"), panel="ddp 1x2")
    found = rows.select("rank", "part", "begin_ms", "end_ms").rows()
    assert found == [
        (0, "compute alone", 0.0, 5.0),
        (0, "communication behind compute", 5.0, 6.0),
        (0, "exposed communication", 6.0, 7.0),
        (1, "compute alone", 1.0, 6.0),
        (1, "communication behind compute", 6.0, 7.0),
        (1, "exposed communication", 7.0, 8.0),
    ]
