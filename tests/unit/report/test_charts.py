"""Every chart: a question, a query of its own, axes with titles, no data of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import database
from analysis.report import contents, frames
from analysis.report.chart import Chart, specification
from analysis.report.charts import all_charts
from tests.unit.report.conftest import GPUS, SCALING

CHARTS = all_charts()


def units_of(spec):
    """The specification's unit views: those that have a mark."""
    if "mark" in spec:
        return [spec]
    inner = [spec["spec"]] if "spec" in spec else spec.get("layer", [])
    return [unit for view in inner for unit in units_of(view)]


def encodings(unit):
    return unit.get("encoding", {})


@pytest.fixture(scope="module")
def read(results):
    with database.reader(results) as connection:
        return {session: contents.read(connection, session) for session in (SCALING, GPUS)}


def test_there_are_ten_charts_in_the_stated_order():
    assert list(CHARTS) == [
        "speedup",
        "efficiency",
        "throughput",
        "step_time_distribution",
        "phases",
        "wall_time",
        "step_time_by_rank",
        "loss",
        "memory",
        "utilisation",
    ]
    assert len({chart.order for chart in CHARTS.values()}) == len(CHARTS)


def test_every_query_says_what_a_row_is():
    folder = Path(frames.__file__).parent / "queries"
    for path in folder.glob("*.sql"):
        assert path.read_text("utf-8").startswith("-- One row"), path.name


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("session", [SCALING, GPUS])
def test_a_chart_asks_a_question_and_has_titled_axes_and_no_data(read, name, session):
    chart: Chart = CHARTS[name]
    rows = read[session].charts[name]
    spec = specification(chart, rows, read[session].cases)
    assert chart.question.endswith("?")
    assert spec["data" if "data" in spec else "layer"], name
    assert rows.height > 0
    assert not any("values" in dataset for dataset in [spec.get("data", {})])
    assert all(data in ([{}], [{"": 0}]) for data in spec.get("datasets", {}).values())
    titles = {}
    for unit in units_of(spec):
        for channel in ("x", "y"):
            found = encodings(unit).get(channel, {})
            if found.get("type") == "quantitative":
                titles.setdefault(channel, set()).add(found.get("title"))
    assert titles, name
    assert all(len(found) == 1 and None not in found for found in titles.values()), titles


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_reads_only_columns_that_its_query_gives(read, name):
    rows = read[SCALING].charts[name]
    spec = specification(CHARTS[name], rows, read[SCALING].cases)
    fields = {
        channel["field"]
        for unit in units_of(spec)
        for found in encodings(unit).values()
        for channel in (found if isinstance(found, list) else [found])
        if "field" in channel
    }
    assert fields - set(rows.columns) == set()
    assert fields


def test_a_case_has_the_same_colour_in_every_chart(read):
    scales = [
        str(encodings(unit)["color"]["scale"])
        for name in ("speedup", "throughput", "step_time_distribution")
        for unit in units_of(specification(CHARTS[name], read[SCALING].charts[name], read[SCALING].cases))
        if encodings(unit).get("color", {}).get("field") == "case_name"
    ]
    assert set(scales) == {
        "{'domain': ['ddp', 'alone', 'fsdp'], 'range': ['var(--c1)', 'var(--c2)', 'var(--c3)']}"
    }


def test_beyond_sixteen_workers_both_axes_are_logarithmic_so_that_ideal_stays_straight(read):
    rows = read[GPUS].charts["speedup"]
    wide = rows.with_columns(workers=rows.get_column("workers") * 8)
    for frame, kind in ((rows, None), (wide, "log")):
        ideal = units_of(specification(CHARTS["speedup"], frame, ["fsdp"]))[0]
        assert [encodings(ideal)[channel]["scale"].get("type") for channel in ("x", "y")] == [kind, kind]
