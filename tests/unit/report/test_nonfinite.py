"""A loss that is not finite: the curve ends, a mark shows the place, and a sentence names the run."""

from __future__ import annotations

import html
import math
import re

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.database import connections
from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.drawing.chart import drawing, specification
from tests.factory import Case, make_session
from tests.unit.report.conftest import comparison


def write_sessions(results):
    """A session of four cases of 400 steps, whose names say where their losses are NaN, and two of one case each."""
    nan = {"nowhere": [], "tail": range(200, 400), "every_other": range(1, 400, 2), "everywhere": range(400)}
    cases = [
        Case(name=name, step_ms={1: 5.0}, repeats=1, steps=398, warmup=2, validate_every=100) for name in nan
    ]
    session = make_session(results, cases, session_id="nonfinite", suite="nonfinite")
    for name, steps in nan.items():
        _put_nan(next(session.glob(f"{name}*/steps.node0.parquet")), "loss", steps)
    _put_nan(next(session.glob("tail*/evals*.parquet")), "val_loss", [3])
    for name in ("finite", "not-finite"):
        session = make_session(results, [Case(name="ddp", step_ms={1: 5.0})], session_id=name, suite=name)
    _put_nan(next(session.glob("ddp*r0/steps.node0.parquet")), "loss", range(7, 12))


@pytest.fixture(scope="module")
def ask(shared):
    """A function that asks a named query about the session of four cases, or the sessions given."""
    with connections.reader(shared) as connection:
        yield lambda name, **given: named_queries.frame(
            connection, name, **(given or {"session_id": "nonfinite"})
        )


def _put_nan(path, column, places):
    table = pq.read_table(path)
    values = table[column].to_pylist()
    for place in places:
        values[place] = math.nan
    index = table.schema.get_field_index(column)
    changed = table.set_column(
        index, table.schema.field(index), pa.array(values, table.schema.field(index).type)
    )
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)


@pytest.mark.parametrize(("name", "bins"), [("loss", 60), ("training_loss", 100)])
def test_a_curve_ends_where_the_loss_is_first_not_finite(ask, name, bins):
    rows = ask(name)
    lengths = dict(rows.group_by("case_name").len().rows())
    assert lengths == {"nowhere": bins, "tail": bins // 2 + 1, "every_other": 2, "everywhere": 1}
    ends = rows.filter(pl.col("loss").is_null()).select("case_name", "step").rows()
    assert sorted(ends) == [("every_other", 1), ("everywhere", 0), ("tail", 200)]
    assert rows.get_column("panel_count")[0] == 4


@pytest.mark.parametrize("name", ["loss", "training_loss"])
def test_the_chart_marks_the_place_and_names_the_run(ask, name):
    rows = ask(name)
    drawn = drawing(all_charts()[name], rows, ["nowhere", "tail", "every_other", "everywhere"])
    assert "tail 1x1 at step 200" in drawn.note
    assert "nowhere" not in drawn.note
    for view in drawn.views.values():
        assert '"valid": False' in str(specification(view)).replace("'", '"')


def test_curves_of_a_comparison_end_there_too(ask):
    rows = ask("compare_learning", session_ids=["nonfinite"]).filter(pl.col("val_accuracy").is_null())
    lengths = dict(rows.group_by("case_name").len().rows())
    assert lengths == {"nowhere": 100, "tail": 51, "every_other": 2, "everywhere": 1}
    ends = rows.filter("nonfinite").select("case_name", "step", "loss").rows()
    assert sorted(ends) == [("every_other", 1, None), ("everywhere", 0, None), ("tail", 200, None)]


def test_a_comparison_marks_the_place_and_names_the_session(shared):
    page = comparison(shared, ["finite", "not-finite"])
    assert "first of B not-finite ddp 1x1 at step 7." in html.unescape(re.sub(r"<[^>]+>", "", page))


def test_a_validation_whose_loss_is_not_finite_is_a_null_of_its_chart(ask):
    rows = ask("validation_loss")
    assert rows.filter(pl.col("val_loss").is_null()).select("case_name", "step").rows() == [("tail", 400)]
    assert "tail 1x1 at step 400" in drawing(all_charts()["validation_loss"], rows, ["tail"]).note


def test_without_such_losses_nothing_is_said_or_marked(ask):
    rows = ask("training_loss").filter(pl.col("case_name") == "nowhere")
    drawn = drawing(all_charts()["training_loss"], rows, ["nowhere"])
    assert "finite" not in drawn.note
    assert "valid" not in str(specification(drawn.views["step"]))
