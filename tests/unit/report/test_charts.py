"""Every chart: a question, a query of its own, axes with titles, no data of its own."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from analysis.report import named_queries
from analysis.report.charts import all_charts
from analysis.report.drawing import theme
from analysis.report.drawing.bars import BARS
from analysis.report.drawing.chart import base, drawing, few_sizes, layered, panels, specification
from analysis.report.drawing.curves import extremes, workers_axis
from analysis.report.drawing.legend import legend, without_legends
from tests.unit.report.conftest import GPUS, LAWS, MACHINE, SCALING, contents_of

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
def read(results, fitted, measured, shared):
    return {
        **contents_of(results, SCALING, GPUS),
        LAWS: fitted,
        MACHINE: measured,
    }


def anywhere(views, name):
    """A chart's specifications of every session that has rows for it."""
    return [spec for (chart, _), specs in views.items() if chart == name for spec in specs]


def columns_of(read, name):
    """Columns of the chart's query."""
    return {column for found in read.values() for column in found.charts[name].columns}


def views_of(name, rows, cases):
    return [specification(view) for view in drawing(CHARTS[name], rows, cases).views.values()]


@pytest.fixture(scope="module")
def views(read):
    """(chart, session) -> the specifications of all its views."""
    return {
        (name, session): views_of(name, read[session].charts[name], read[session].cases)
        for session in read
        for name in CHARTS
        if not read[session].charts[name].is_empty()
    }


def many(rows, count):
    """As many copies of the first case, each a little faster than the one before."""
    first = rows.filter(pl.col("case_name") == rows.get_column("case_name")[0])
    copies = [first.with_columns(case_name=pl.lit(f"case_{n:03d}")) for n in range(count)]
    return pl.concat(copies), [f"case_{n:03d}" for n in range(count)]


def test_every_chart_has_a_place_of_its_own_on_the_page():
    orders = [chart.order for chart in CHARTS.values()]
    assert orders == sorted(set(orders))


def test_sensors_that_a_machine_has_not_make_no_chart(read):
    sensors = ["power", "temperature", "clocks"]
    assert [read[SCALING].charts[name].height for name in sensors] == [0, 0, 0]
    assert all(read[GPUS].charts[name].height > 0 for name in sensors)


def test_temperatures_and_clock_rates_fill_their_axis_and_power_begins_at_zero(views):
    begins_at_zero = {
        name: {encodings(unit)["y"]["scale"]["zero"] for unit in units_of(spec) if "y" in encodings(unit)}
        for name in ("power", "temperature", "clocks")
        for spec in views[name, GPUS]
    }
    assert begins_at_zero == {"power": {True}, "temperature": {False}, "clocks": {False}}


def test_every_query_says_what_a_row_is():
    folder = Path(named_queries.__file__).parent / "queries"
    for path in folder.glob("*.sql"):
        assert path.read_text("utf-8").startswith("-- One row"), path.name


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_asks_a_question_and_has_titled_axes_and_no_data(views, name):
    assert CHARTS[name].question.endswith("?")
    for spec in anywhere(views, name):
        assert spec["data" if "data" in spec else "layer"]
        assert "values" not in spec.get("data", {})
        assert all(data in ([{}], [{"": 0}]) for data in spec.get("datasets", {}).values())
        titles = {}
        for unit in units_of(spec):
            for channel in ("x", "y"):
                found = encodings(unit).get(channel, {})
                if found.get("type") == "quantitative":
                    titles.setdefault(channel, set()).add(found.get("title"))
        assert titles
        assert all(len(found) == 1 and None not in found for found in titles.values()), titles


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_reads_only_columns_that_its_query_gives(read, views, name):
    for spec in anywhere(views, name):
        fields = {
            channel["field"]
            for unit in units_of(spec)
            for found in encodings(unit).values()
            for channel in (found if isinstance(found, list) else [found])
            if "field" in channel
        }
        calculated = {
            step["as"] for unit in units_of(spec) for step in unit.get("transform", []) if "as" in step
        }
        assert fields - calculated - columns_of(read, name) == set()
        assert fields


def test_a_colour_has_one_meaning(views):
    """Colours of cases are never another thing's, nor those of sizes; a part of time has a colour of its own."""
    meanings = {}
    for specs in views.values():
        for unit in (unit for spec in specs for unit in units_of(spec)):
            colour = encodings(unit).get("color", {})
            scale = colour.get("scale", {})
            for value, hue in zip(scale.get("domain", []), scale.get("range", []), strict=False):
                meanings.setdefault(hue, set()).add((colour["field"], value))
    fields = {hue: {field for field, _ in found} for hue, found in meanings.items()}
    families = {"c": {"case_name"}, "s": {"placement"}}
    for hue, found in fields.items():
        family = re.fullmatch(r"var\(--([csn])\d\)", hue)
        if family and family[1] == "n":
            assert found & {"case_name", "placement"} == set(), hue
        elif family:
            assert found == families[family[1]], hue
        else:
            assert len({value.removeprefix("waiting for ") for _, value in meanings[hue]}) == 1, hue
    assert len(meanings) > 15


def test_a_case_has_the_same_colour_in_every_chart(views):
    scales = [
        str(encodings(unit)["color"]["scale"])
        for name in ("speedup", "throughput", "step_time_distribution", "training_loss")
        for spec in views[name, SCALING]
        for unit in units_of(spec)
        if encodings(unit).get("color", {}).get("field") == "case_name"
    ]
    assert set(scales) == {
        "{'domain': ['ddp', 'alone', 'fsdp'], 'range': ['var(--c1)', 'var(--c2)', 'var(--c3)']}"
    }


def test_no_colour_stands_for_two_values(read):
    for name in CHARTS:
        if CHARTS[name].section == "published":
            continue  # all published curves are grey
        session = LAWS if name == "prediction" else MACHINE if CHARTS[name].section == "machine" else GPUS
        rows, cases = many(read[session].charts[name], 30)
        if "panel_count" in rows.columns:  # the query keeps as many as there are colours
            rows = rows.filter(pl.col("case_name").is_in(cases[:8]))
        for unit in [unit for spec in views_of(name, rows, cases) for unit in units_of(spec)]:
            scale = encodings(unit).get("color", {}).get("scale", {})
            assert (
                len(scale.get("range", [])) == len(set(scale.get("range", []))) or "--s" in scale["range"][0]
            ), name


def test_beyond_sixteen_workers_both_axes_are_logarithmic_so_that_ideal_stays_straight(read):
    rows = read[GPUS].charts["speedup"]
    wide = rows.with_columns(workers=rows.get_column("workers") * 8)
    for frame, kind in ((rows, None), (wide, "log")):
        ideal = units_of(views_of("speedup", frame, ["fsdp"])[0])[0]
        assert [encodings(ideal)[channel]["scale"].get("type") for channel in ("x", "y")] == [kind, kind]


@pytest.mark.parametrize(
    ("sizes", "labelled"),
    [
        ([1, 2, 3, 6], [1, 2, 3, 6]),
        (list(range(1, 65)), [1, 2, 4, 8, 16, 32, 64]),
        (list(range(1, 61)), [1, 2, 4, 8, 16, 32, 60]),
        (list(range(3, 16)), [3, 4, 6, 8, 11, 15]),
    ],
)
def test_of_many_sizes_the_axis_names_the_largest_and_such_that_do_not_touch(sizes, labelled):
    rows = pl.DataFrame({"workers": sizes, "axis": "ranks"})
    assert workers_axis(rows).to_dict()["axis"]["values"] == labelled


def test_intervals_at_few_sizes_are_bars_beside_each_other_and_bands_at_more(read):
    rows = read[SCALING].charts["speedup"]
    (few,) = views_of("speedup", rows, read[SCALING].cases)
    larger = rows.with_columns(workers=rows.get_column("workers") * 100)
    (more,) = views_of("speedup", pl.concat([rows, larger]), read[SCALING].cases)
    kinds = [{unit["mark"]["type"] for unit in units_of(spec)} & {"rule", "area"} for spec in (few, more)]
    assert kinds == [{"rule"}, {"area"}]
    places = {
        step["calculate"]
        for unit in units_of(few)
        for step in unit.get("transform", [])
        if "calculate" in step
    }
    assert len(places) == 1
    assert 'indexof(["ddp", "fsdp"], datum.case_name)' in places.pop()


def test_of_many_cases_the_highest_and_the_lowest_have_a_colour(read):
    rows, cases = many(read[SCALING].charts["speedup"], 30)
    places = rows.get_column("case_name").str.slice(5).cast(pl.Float64)
    rows = rows.with_columns(speedup=pl.col("speedup") + places)
    named = extremes(rows, cases, "speedup")
    assert named == [f"case_{n:03d}" for n in (29, 28, 27, 2, 1, 0)]
    drawn = drawing(CHARTS["speedup"], rows, cases)
    assert drawn.note.startswith("30 cases: in colour the 3 highest and the 3 lowest")
    assert extremes(rows, cases[:8], "speedup") == []


def test_coloured_cases_of_one_size_leave_the_axis_as_it_is_for_all(read):
    rows, cases = many(read[SCALING].charts["throughput"], 20)
    places = rows.get_column("case_name").str.slice(5).cast(pl.Float64)
    rows = rows.with_columns(throughput=1 + places)
    coloured = extremes(rows, cases, "throughput")
    smallest = rows.get_column("workers").min()
    rows = rows.filter(~pl.col("case_name").is_in(coloured) | (pl.col("workers") == smallest))
    (spec,) = views_of("throughput", rows, cases)
    axes = [encodings(unit)["x"]["axis"]["values"] for unit in units_of(spec)]
    assert len(axes) > 2
    assert all(values == sorted(set(rows.get_column("workers"))) for values in axes)


@pytest.mark.parametrize("name", ["step_time_distribution", "phases", "communication", "wall_time"])
def test_of_many_bars_those_that_matter_are_drawn_and_the_note_counts_them(read, name):
    rows, cases = many(read[SCALING].charts[name], 30)
    rows = rows.with_columns(label=pl.col("case_name") + pl.col("label"))
    drawn = drawing(CHARTS[name], rows, cases)
    (spec,) = [specification(view) for view in drawn.views.values()]
    assert f"the {BARS} of 90" in drawn.note
    filters = [step["filter"]["oneOf"] for unit in units_of(spec) for step in unit["transform"]]
    assert {len(labels) for labels in filters} == {BARS}


def test_phases_of_a_script_without_a_loader_keep_their_colours(read):
    """A script without a DataLoader has no data phase."""
    rows, cases = read[SCALING].charts["phases"], read[SCALING].cases
    (spec,) = views_of("phases", rows.filter(pl.col("phase") != "data"), cases)
    scale = encodings(units_of(spec)[0])["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == dict(
        zip(["forward", "backward", "optimizer"], theme.PHASES[1:], strict=True)
    )
    assert "optimizer" in legend(spec)


def test_learning_is_drawn_by_step_by_epoch_and_by_wall_time_as_far_as_they_are_known(read):
    rows, cases = read[SCALING].charts["training_loss"], read[SCALING].cases
    assert list(drawing(CHARTS["training_loss"], rows, cases).views) == ["step", "epoch", "wall time"]
    unknown = rows.with_columns(epoch=pl.lit(None, dtype=pl.Float64))
    assert list(drawing(CHARTS["training_loss"], unknown, cases).views) == ["step", "wall time"]


def test_views_of_a_chart_have_one_height_so_that_the_page_does_not_move(views):
    heights = [{spec["height"] for spec in found} for found in views.values() if len(found) > 1]
    assert len(heights) >= 4
    assert all(len(found) == 1 for found in heights)


def test_a_legend_names_what_is_in_the_chart_once_and_as_text(read):
    rows = read[SCALING].charts["speedup"].with_columns(case_name=pl.col("case_name").replace("ddp", "<b>&x"))
    (spec,) = views_of("speedup", rows, ["<b>&x", "alone", "fsdp"])
    shown = legend(spec)
    assert shown.count("<li") == 2
    assert "&lt;b&gt;&amp;x" in shown
    assert "<b>" not in shown
    assert 'fill="var(--c3)"' in shown
    assert "style=" not in shown


def test_the_page_has_no_second_legend(views):
    for found in views.values():
        for unit in units_of(without_legends(found)[0]):
            coloured = [
                encodings(unit)[name] for name in ("color", "shape", "strokeDash") if name in encodings(unit)
            ]
            assert all(channel["legend"] is None for channel in coloured if "field" in channel)


def test_of_many_sizes_lines_are_drawn_for_those_that_can_be_told_apart_and_for_every_case():
    names = [f"1x{n}" for n in range(1, 65)]
    rows = pl.DataFrame({"case_name": "ddp", "placement": names, "workers": range(1, 65)})
    lone = pl.DataFrame({"case_name": ["lone"], "placement": ["1x3"], "workers": [3]})
    few = few_sizes(pl.concat([rows, lone]))
    assert few.rows.rows()[0] == ("ddp", "1x1", 1)
    assert set(few.rows["placement"]) == {"1x1", "1x3", "1x14", "1x26", "1x39", "1x51", "1x64"}
    assert "lone" in few.rows["case_name"]
    assert few.note.startswith("Drawn: 7 of 64 placements")
    assert few.start.to_dict(validate=False)["transform"]
    assert few_sizes(lone).note == ""


def test_what_is_made_of_a_layer_leaves_the_layer_as_it_was():
    part = layered(base().mark_line().encode(x="n:Q"), base().mark_point().properties(name="p"), height=9)
    before = specification(part)
    panels(layered(part, base().mark_rule(), height=7), "case", pl.DataFrame({"case": ["a"]}), 5)
    assert specification(part) == before
