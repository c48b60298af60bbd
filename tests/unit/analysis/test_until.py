"""The session's decisions while it runs agree with the database afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.wording.caveats import caveats, still_too_wide, wider_than_asked
from bench.common.files import read_json
from bench.records.run_spec import RunSpec
from bench.records.t_interval import relative_half_width
from bench.session.repeat_until import throughput
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import measured

STEPS = [10.0, 10.4, 9.9]


def read(results):
    """Throughput by run, from the files."""
    found = {}
    for path in sorted(results.glob("*/*/run.json")):
        run = read_json(path)
        found[run["run_id"]] = throughput(path.parent, RunSpec.from_json(run["spec"]))
    return found


CASES = (
    Case(name="plain", step_ms={1: 5.0, 2: 3.0}, repeats=2),
    Case(name="weak", scaling="weak", step_ms={1: 5.0, 4: [6.0, 6.5, 7.0]}, jitter=0.2),
    Case(name="nodes", step_ms={4: 5.0}, ranks_per_node=2, jitter=0.1, repeats=2),
    Case(
        name="validated", step_ms={2: 5.0, 4: 4.0}, ranks_per_node=2, jitter=0.3, steps=40, validate_every=7,
        validation_ms=55.0, repeats=2,
    ),
    Case(name="warm", step_ms={2: 5.0}, jitter=0.3, warmup=7, steps=30, validate_every=1, validation_ms=3.0),
)  # fmt: skip


def test_throughput_from_the_files_is_that_of_run_summary(measure, results):
    rows = measure(*CASES)("SELECT run_id, throughput FROM run_summary")
    found = read(results)
    assert {name.partition(".")[0] for name in found} == {case.name for case in CASES}
    assert found == pytest.approx({row["run_id"]: row["throughput"] for row in rows}, rel=1e-12)


def test_while_a_ranks_rows_are_missing_there_is_no_throughput(tmp_path):
    folder = make_session(tmp_path, [Case(name="ddp", step_ms={4: 5.0}, ranks_per_node=2, repeats=1)])
    assert None not in read(tmp_path).values()
    (folder / "ddp.2x2.r0" / "steps.node1.parquet").unlink()
    assert set(read(tmp_path).values()) == {None}
    (folder / "ddp.2x2.r0" / "steps.node0.parquet").unlink()
    assert set(read(tmp_path).values()) == {None}


def test_the_width_at_which_a_session_stops_is_the_views(measure, results):
    untils = {"wide": 0.05, "narrow": 0.07}
    rows = measure(
        *(Case(name=name, step_ms={1: STEPS}, until=until, max_repeats=20) for name, until in untils.items())
    )("FROM scaling")
    throughput = read(results)
    assert len(rows) == 2
    for row in rows:
        name = row["case_name"]
        width = relative_half_width(
            [found for run_id, found in throughput.items() if run_id.startswith(name)]
        )
        assert width == pytest.approx(row["throughput_hi"] / row["throughput"] - 1, rel=1e-9)
        is_narrow = name == "narrow"
        assert (width <= untils[name]) == (row["repeats_needed_until"] == 0) == is_narrow


@measured(Case(name="ddp", step_ms={1: STEPS}, until=0.02, max_repeats=20))
def test_how_many_more_repeats_would_make_throughput_narrow_enough(ask):
    (row,) = ask("FROM scaling")
    more, seen = np.arange(1, 1001), np.var(np.log(STEPS), ddof=1)
    pooled = (2 * seen + more * seen * 2 / stats.chi2.ppf(0.2, 2)) / (
        2 + more
    )  # with four of five true variances
    widths = stats.t.ppf(0.975, 2 + more) * np.sqrt(pooled / (3 + more))
    assert row["repeats_needed_until"] == pytest.approx(more[widths <= np.log(1.02)][0], rel=0.09)


@measured(
    Case(name="once", step_ms={1: 5.0}, repeats=1, until=0.01, max_repeats=2),
    Case(name="silent", step_ms={1: STEPS}),
)
def test_without_until_or_an_interval_there_is_no_number_of_repeats_until(ask):
    assert [row["repeats_needed_until"] for row in ask("FROM scaling")] == [None, None]


@measured(
    Case(name="ddp", step_ms={1: STEPS, 2: 5.0}, until=0.02, max_repeats=3),
    Case(name="wild", scaling="none", step_ms={1: [10.0, 20.0, 40.0]}, until=0.01, max_repeats=3),
    Case(name="silent", step_ms={1: STEPS}),
    Case(
        name="broken",
        step_ms={1: STEPS},
        until=0.01,
        max_repeats=3,
        statuses={(1, 0): "oom", (1, 1): "oom"},
    ),
)
def test_what_is_still_too_wide_is_named_with_its_width_and_how_many_more_would_do(ask):
    points = ask("FROM scaling ORDER BY case_name, workers")
    more = points[1]["repeats_needed_until"]
    assert list(still_too_wide(points)) == [
        f"ddp 1x1: throughput within ±6.68 % after 3 repeats, but the suite requests ±2 %: about {more} more needed",
        "wild 1x1: throughput within ±459 % after 3 repeats, but the suite requests ±1 %: more than 1,000 more needed",
    ]
    assert wider_than_asked(points) == (
        "measure.until requests throughput to within ±1 % or ±2 %: 2 of 4 rows stayed wider, the widest "
        "within ±459 %."
    )
    assert wider_than_asked([row for row in points if row["case_name"] == "silent"]) == ""


SESSION = {
    "imported": None,
    "fsdp_on_cpu": False,
    "collectives_on_cpu": False,
    "oversubscribed": False,
    "recompiled": None,
    "synthetic": False,
}


@measured(Case(name="wild", scaling="none", step_ms={1: [10.0, 20.0, 40.0]}, until=0.01, max_repeats=3))
def test_reports_and_exports_say_what_stayed_wider_than_asked(ask):
    points = ask("FROM scaling")
    said = list(caveats(SESSION, points))
    assert "Intervals are 95 %" in said[0]
    assert said[1].startswith("measure.until requests throughput to within ±1 %")


@measured(Case(name="alone", scaling="none", step_ms={1: STEPS}))
def test_a_table_that_shows_no_interval_says_nothing_about_them(ask):
    points = ask("FROM scaling")
    assert list(caveats(SESSION, points, shows_throughput_intervals=False)) == []


def test_bandwidths_of_cpus_say_that_they_are_those_of_gloo():
    assert not any("gloo" in line for line in caveats(SESSION, []))
    (said,) = (line for line in caveats(SESSION | {"collectives_on_cpu": True}, []) if "gloo" in line)
    assert said.endswith("say nothing about NCCL on GPUs.")
