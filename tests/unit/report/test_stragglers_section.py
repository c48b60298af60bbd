"""Slow ranks and nodes on the page of a session in which they were planted."""

from __future__ import annotations

import numpy as np

from analysis.report.charts.stragglers import CHART
from analysis.report.drawing.chart import drawing, specification
from analysis.report.sections.straggler_table import MOST_ROWS, stragglers
from tests.factory import Case
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import stored_as
from tests.unit.report.conftest import section_of
from tests.unit.report.test_charts import encodings, units_of
from tests.unit.report.test_session_page import rows_of, words

LATE_MS = {4: 20, 5: 20, 6: 20, 7: 20, 1: 10}
"""12 ranks on three nodes: those of the second node are late, and one of the first."""


def _plant(session):
    for repeat in range(3):
        for node in range(3):
            late = np.array([[LATE_MS.get(4 * node + rank, 0)] for rank in range(4)])
            columns = {"forward_ns": 30 + late, "backward_ns": 50 - late}
            rewrite_steps(
                session,
                f"ddp.3x4.r{repeat}",
                {name: (ms * 1e6).astype(np.int64) for name, ms in columns.items()},
                node=node,
            )


planted = stored_as(
    Case(name="ddp", step_ms={4: 300.0, 12: 100.0}, ranks_per_node=4, batch=48),
    environment={str(node): {"hostname": f"gpu-0{node}"} for node in range(3)},
    changed=_plant,
)


@planted
def test_a_slow_node_is_one_row_with_its_host_and_a_slow_rank_another(contents):
    section = section_of(contents, "steps")
    assert "Yes: 1 slow node and 1 slow rank at 1 of 2 sizes with several ranks." in words(section)
    assert rows_of(section) == [
        "slow case placement behind the median rank [95 %] of the step last in",
        "node 1 (gpu-01), all 4 ranks ddp 3x4 20.0 ms 20.0 % 100.0 % if alike: 33.3 %",
        "rank 1 on node 0 (gpu-00) ddp 3x4 10.0 ms [10.0, 10.0] 10.0 % 0.0 % if alike: 8.3 %",
    ]
    assert 'id="stragglers-title"' in section


@planted
def test_the_same_node_and_rank_at_two_sizes_are_one(contents):
    found = contents.rows("slow_ranks")
    larger = [row | {"placement": "6x4", "workers": 24} for row in found]
    section = stragglers(contents.rows("straggler_counts")[0] | {"with_stragglers": 2}, [*found, *larger])
    assert "Yes: 1 slow node and 1 slow rank at 2 of 2 sizes" in words(section)
    assert len(rows_of(section)) == 5


@planted
def test_neighbouring_nodes_differ_and_are_named_and_stragglers_have_a_shape(contents):
    rows = contents.charts["stragglers"]
    late = rows.filter(rows.get_column("judged") == "straggler")
    assert late.get_column("rank").to_list() == sorted(LATE_MS)
    assert (
        late.filter(late.get_column("node") == "node 1").get_column("excess_of_step").to_list() == [0.2] * 4
    )
    (view,) = drawing(CHART, rows, contents.cases).views.values()
    units = units_of(specification(view))
    (points,) = [unit for unit in units if unit["mark"]["type"] == "point"]
    assert encodings(points)["color"]["field"] == "alternation"
    assert [encodings(unit)["text"]["field"] for unit in units if unit["mark"]["type"] == "text"] == [
        "node",
        "panel",
    ]
    assert encodings(points)["shape"]["field"] == "judged"


@planted
def test_more_nodes_than_there_is_room_for_have_no_names(contents):
    rows = contents.charts["stragglers"].tail(12)
    many = rows.with_columns(node=("node " + rows.get_column("rank").cast(str)))
    (view,) = drawing(CHART, many, contents.cases).views.values()
    texts = [unit for unit in units_of(specification(view)) if unit["mark"]["type"] == "text"]
    assert [encodings(unit)["text"]["field"] for unit in texts] == ["panel"]


def counts(**values):
    return {"placements": 2, "judged": 2, "with_stragglers": 0, "ranks": 6} | values


def test_where_none_is_slow_the_page_says_so_and_where_none_is_judged_why():
    assert words(stragglers(counts(), [])).startswith(
        "No: of 2 sizes with several ranks, none has a rank that keeps"
    )
    unjudged = words(stragglers(counts(judged=0), []))
    assert "is not judged: that needs two ok repeats" in unjudged
    assert stragglers(counts(placements=0, judged=0), []) == ""


@planted
def test_of_very_many_the_first_are_shown(contents):
    (_, rank) = contents.rows("slow_ranks")
    shown = stragglers(counts(with_stragglers=1), [rank] * 50)
    assert len(rows_of(shown)) == 1 + MOST_ROWS
    assert "The first 40 of 50 rows; the CSV has all." in words(shown)
