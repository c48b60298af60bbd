"""Where the efficiency of each case went, in a line."""

from __future__ import annotations

import json

import pytest

from analysis import summary
from analysis.database import connections
from analysis.database.rows import session_rows
from analysis.wording import lost_efficiency
from tests.factory import Case
from tests.unit.analysis.conftest import stored_as

KEYS = {"case_name": "ddp", "nodes": 1, "ranks_per_node": 4, "threads": 1}
POINT = KEYS | {
    "workers": 4, "axis": "ranks", "oversubscribed": False, "throughput": 10.0, "speedup": 2.4,
    "efficiency": 0.6, "efficiency_lo": 0.55, "efficiency_hi": 0.65, "is_baseline": False,
    "verdict": "acceptable", "verdict_lo": "acceptable", "verdict_hi": "acceptable",
}  # fmt: skip


def terms(known_by="profiled", /, **shares):
    """Rows of one size: a share, or one with its interval."""
    rows = []
    for term, said in shares.items():
        share, low, high = said if isinstance(said, tuple) else (said, None, None)
        rows.append(KEYS | {"term": term, "share": share, "share_lo": low, "share_hi": high})
    return [row | {"known_by": known_by} for row in rows]


def lines(losses, **point):
    return list(lost_efficiency.lines([POINT | point], losses, []))


def test_the_largest_part_comes_first_and_what_is_not_explained_last():
    rows = terms(data=(0.05, 0.02, 0.08), communication=0.25, clocks=None, work=-0.05, remainder=0.15)
    assert lines(rows) == [
        "Where the efficiency went",
        "  ddp on 4 ranks loses 40 %: exposed communication 25 %, waiting for data 5.0 %, slower computation −5.0 %, "
        "not explained 15 %",
    ]


def test_what_may_as_well_be_nothing_is_only_perhaps_and_what_is_nothing_is_not_named():
    rows = terms("estimated", data=(0.02, -0.01, 0.05), imbalance=0.001, communication=(0.3, 0.2, 0.4))
    rows += terms("estimated", remainder=(0.08, -0.02, 0.18))
    assert lines(rows)[1] == (
        "  ddp on 4 ranks loses 40 %: exposed communication 30 %, perhaps waiting for data 2.0 %, "
        "perhaps not explained 8.0 % (estimated)"
    )


def test_a_mesh_has_its_exposed_communication_by_dimension():
    rows = terms(communication=0.25, remainder=0.15)
    shares = {"dp_shard": 0.08, "tp": 0.2, "dp_replicate": 0.004}
    ends = {"exposed_share_lo": None, "exposed_share_hi": None}
    by_group = [KEYS | ends | {"dimension": name, "exposed_share": share} for name, share in shares.items()]
    by_group[1] |= {"exposed_share_lo": 0.18, "exposed_share_hi": 0.22}
    assert list(lost_efficiency.lines([POINT], rows, by_group))[2:] == [
        "    exposed communication of a profiled step: tp 20 % [18, 22], dp_shard 8.0 %"
    ]
    assert len(list(lost_efficiency.lines([POINT], rows, by_group[:1]))) == 2, "one dimension has all of it"


def test_a_case_without_a_known_cause_is_named_with_the_way_to_measure_it():
    tp = {"case_name": "tp"}
    rows = terms(communication=0.25, remainder=0.15)
    rows += [row | tp for row in terms(None, communication=None, remainder=0.9)]
    assert list(lost_efficiency.lines([POINT, POINT | tp], rows, []))[2:] == [
        "  tp: communication is not known apart from computation: --set measure.profiled=4 measures it"
    ]
    assert list(lost_efficiency.lines([POINT | tp], rows[2:], [])) == [], (
        "imported timings have no causes at all"
    )


UNTOLD = "  ddp on 4 ranks: these repeats do not show how much was lost"


@pytest.mark.parametrize(
    ("point", "line"),
    [
        (
            {"efficiency_hi": 1.0},
            "  ddp on 4 ranks: at most 45 % of the ranks' time was lost, perhaps nothing",
        ),
        (
            {"efficiency": 1.1, "efficiency_lo": 0.9, "efficiency_hi": 1.3},
            "  ddp on 4 ranks: at most 10 % of the ranks' time was lost, perhaps nothing",
        ),
        ({"verdict_lo": "poor", "verdict_hi": "good"}, UNTOLD),
        (
            {"verdict_lo": "poor", "verdict_hi": "acceptable"},
            "  ddp on 4 ranks loses 40 %: waiting for data 40 %",
        ),
    ],
)
def test_neither_a_loss_nor_a_cause_is_named_where_repeats_do_not_tell(point, line):
    assert lines(terms(data=(0.4, 0.3, 0.5)), **point) == ["Where the efficiency went", line]


@pytest.mark.parametrize(
    ("efficiency", "said"),
    [(0.995, "less than 1 % was lost"), (1.0, "nothing was lost"), (1.2, "nothing was lost")],
)
def test_of_a_case_that_loses_nothing_that_is_said(efficiency, said):
    ends = {
        "efficiency": efficiency,
        "efficiency_lo": efficiency - 0.001,
        "efficiency_hi": efficiency + 0.001,
    }
    assert lines(terms(communication=0.004, remainder=0.001), **ends)[1:] == [f"  ddp on 4 ranks: {said}"]
    assert lines(terms(communication=0.004), **ends, is_baseline=True) == []


def test_of_what_was_timed_elsewhere_nothing_is_explained():
    assert lines(terms(None, data=None, communication=None, remainder=0.4)) == []
    assert lines(terms(None, data=0.0, communication=None, remainder=0.4))[1].endswith(": not explained 40 %")


@stored_as(
    *(Case(name=f"c{n}", step_ms={1: 10.0, 2: 10.0 - n, 4: 9.0 - n}, repeats=1) for n in range(7)),
    Case(name="scales", step_ms={1: 8.0, 2: 4.0}, repeats=1),
)
def test_of_many_cases_those_that_lose_most_have_a_line(stored):
    with connections.reader(stored.results) as connection:
        points, losses = (
            session_rows(connection, view, stored.session_id) for view in ("scaling", "efficiency_loss")
        )
    head, *shown, last = lost_efficiency.lines(points, losses, [])
    assert head == "Where the efficiency went"
    assert [line.split(" loses ")[0] for line in shown] == [f"  c{n} on 4 ranks" for n in range(6)]
    assert shown[0].startswith("  c0 on 4 ranks loses 72 %: ")
    assert last == "  and 2 more cases, more efficient by their points"
    rows = json.loads(json.dumps(summary.answer(*stored)["efficiency_loss"], allow_nan=False))
    assert sum(row["share"] or 0 for row in rows if row["case_name"] == "c0" and row["workers"] == 4) == (
        pytest.approx(1 - 10 / 36)
    )
