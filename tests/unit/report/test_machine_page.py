"""The page and the summary of a session that trains nothing: the speed of its machine."""

from __future__ import annotations

import re

import polars as pl
import pytest

from analysis import summary
from analysis.compare import comparison
from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.report import write
from analysis.report.charts import all_charts
from analysis.report.drawing.chart import drawing, specification
from analysis.wording import machine as machines
from analysis.wording.headline import headline
from tests.factory import make_session
from tests.machine_rows import add_collectives, machine_case
from tests.unit.report.conftest import MACHINE
from tests.unit.report.test_charts import units_of


@pytest.fixture(scope="module")
def page(machine, tmp_path_factory):
    out = tmp_path_factory.mktemp("public")
    write(machine, [MACHINE], out)
    return (out / f"{MACHINE}.html").read_text(encoding="utf-8")


def plain(html):
    return re.sub(r"<[^>]*>", "", html).replace("\u00a0", " ")


def test_the_page_says_what_the_machine_can_do_and_nothing_of_scaling(page):
    drawn = re.findall(r'<figure class="[^"]*" id="(\w+)"', page)
    assert drawn[:3] == ["collective_bandwidth", "collective_time", "matmul_throughput"]
    assert not {"speedup", "efficiency", "throughput", "phases", "loss"} & set(drawn)
    assert 'id="summary"' not in page
    assert 'id="machine"' in page
    said = plain(page)
    for word in ("speedup", "No run of this session", "synthetic: generated"):
        assert word not in said.partition("Every number on this page")[0]


def test_its_verdict_names_the_largest_exchange_and_the_fastest_multiplication(page):
    verdict = plain(re.search(r"<h1>(.*?)</h1>", page)[1])
    assert verdict == (
        "all_reduce on 16 ranks over 2 nodes: 98.0 [93.3, 102.8] GB/s of bus bandwidth at 1 GiB, 20.4 [19.4, 21.4] µs "
        "for 1 KiB. A rank of NVIDIA H200 multiplies at 490 [467, 515] TFLOP/s in fp32, 8,192 × 8,192 × 8,192."
    )


def test_the_time_of_runs_without_steps_is_told(measured):
    parts = measured.charts["wall_time"].filter(pl.col("part") == "other")
    assert set(parts["case_name"]) >= {"links", "square"}


def test_one_rank_exchanges_nothing(measured):
    assert set(measured.charts["collective_bandwidth"]["placement"]) == {"1x2", "2x8"}
    assert [(row["op"], row["placement"]) for row in measured.rows("exchanges")] == [
        ("all_reduce", "1x2"), ("all_reduce", "2x8"), ("broadcast", "1x2"), ("broadcast", "2x8"),
    ]  # fmt: skip


def test_every_operation_is_a_view_of_the_same_colours(measured):
    drawn = drawing(
        all_charts()["collective_bandwidth"], measured.charts["collective_bandwidth"], measured.cases
    )
    assert list(drawn.views) == ["all_reduce", "broadcast"]
    scales = {
        str(view.to_dict(validate=False)["layer"][1]["encoding"]["color"]) for view in drawn.views.values()
    }
    assert len(scales) == 1


def test_the_unit_of_the_multiplications_is_that_of_the_fastest(measured):
    rows = measured.charts["matmul_throughput"]
    slower = rows.with_columns(flops_per_s=pl.col("flops_per_s") / 1e3, placement=pl.lit("1x9"))
    (view,) = drawing(
        all_charts()["matmul_throughput"], pl.concat([rows, slower]), measured.cases
    ).views.values()
    titles = {
        unit["encoding"]["y"]["title"]
        for unit in units_of(specification(view))
        if "title" in unit["encoding"].get("y", {})
    }
    assert titles == {"TFLOP/s of a rank"}


def test_bus_bandwidth_is_that_of_the_links_whatever_the_operation_and_the_ranks(measured):
    rows = [row for row in measured.rows("exchanges") if row["peak_message_bytes"] == 2**30]
    assert [row["peak_bus_gbps"] for row in rows] == [pytest.approx(98, rel=0.002)] * 4
    assert all(row["peak_bus_gbps_lo"] < row["peak_bus_gbps"] < row["peak_bus_gbps_hi"] for row in rows)


def test_the_terminal_says_the_same(machine, capsys):
    summary.show(machine, MACHINE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["operation", "case", "placement", "bus", "GB/s", "at", "latency", "µs", "of"]
    assert lines[3].split() == ["all_reduce", "links", "1x2", "97.9", "1", "GiB", "20.4", "1", "KiB"]
    assert any(line.split()[:3] == ["square", "1x1", "fp32"] for line in lines)
    assert lines[-1].startswith("all_reduce on 16 ranks over 2 nodes: 98.0 [93.3, 102.8] GB/s")


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (2**20, "1 MiB"), (2**33, "8 GiB")]
)
def test_bytes_are_said_in_powers_of_two(count, said):
    assert machines.bytes_text(count) == said


def test_where_nothing_was_exchanged_nothing_is_said_of_failure():
    assert headline([{"throughput": None, "elapsed_s": 2.0}]) == (
        "Nothing was trained, so there is no speedup to report."
    )


def test_there_is_no_throughput_to_compare(tmp_path):
    for name in ("A", "B"):
        make_session(tmp_path, [machine_case("links", [2])], session_id=name)
        add_collectives(tmp_path / name, lambda *_: 20_000)
    load(tmp_path)
    with (
        connections.reader(tmp_path) as connection,
        pytest.raises(AnalysisError, match="these runs train nothing"),
    ):
        comparison.compare(connection, "A", "B", margin=0.02, max_regression=0.05)


def test_where_nothing_was_measured_there_is_nothing_to_say():
    assert not machines.Machine()
    assert machines.sentence(machines.Machine()) == ""


def test_a_session_with_profiled_steps_alone_says_what_they_are():
    profiled = {"case_name": "a", "nodes": 1, "profiled_step_ms": 4.0, "exposed_share": 0.125, "overlap": 0.4}
    rows = [profiled | {"world_size": ranks} for ranks in (4, 2)]
    assert machines.sentence(machines.Machine(profiles=rows)) == (
        "a on 4 ranks: a profiled step takes 4 ms, 12.5 % of it exposed communication; computation hides 40 % of the "
        "communication."
    )
    alone = machines.Machine(profiles=[rows[0] | {"nodes": 2, "overlap": None}])
    assert machines.sentence(alone) == (
        "a on 4 ranks over 2 nodes: a profiled step takes 4 ms, 12.5 % of it exposed communication."
    )


def test_text_where_a_plain_word_belongs_is_quoted(machine):
    with connections.reader(machine) as connection:
        found = machines.read(connection, MACHINE)
    hostile = machines.Machine(
        exchanges=[row | {"op": "<a href='x'>"} for row in found.exchanges],
        multiplications=[row | {"precision": "![x](y)"} for row in found.multiplications],
    )
    quoted = machines.sentence(hostile, lambda text: f"«{text}»")
    assert "«<a href='x'>» on 16 ranks" in quoted
    assert "TFLOP/s in «![x](y)»" in quoted
    assert "TFLOP/s in fp32" in machines.sentence(found, lambda text: f"«{text}»")
