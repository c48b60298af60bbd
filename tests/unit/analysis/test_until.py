"""The session's decisions while it runs agree with the database afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis.wording.caveats import caveats, still_too_wide, wider_than_asked
from bench.common.files import read_json
from bench.records.run_spec import PlannedRun, RunSpec
from bench.records.t_interval import half_width_of_stopped
from bench.session.repeat_until import Rounds, throughput
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import measured

STEPS = [10.0, 10.4, 9.9]


def quantile(df):
    """The quantile where rounds are added until it is sure."""
    return stats.t.ppf(1 - 0.035 / 2, df)


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
    untils = {"wide": 0.05, "narrow": 0.09}
    rows = measure(
        *(Case(name=name, step_ms={1: STEPS}, until=until, max_repeats=20) for name, until in untils.items())
    )("FROM scaling")
    throughput = read(results)
    assert len(rows) == 2
    for row in rows:
        name = row["case_name"]
        logs = [np.log(found) for run_id, found in throughput.items() if run_id.startswith(name)]
        width = half_width_of_stopped(logs)
        assert width == pytest.approx(row["throughput_hi"] / row["throughput"] - 1, rel=1e-9)
        is_narrow = name == "narrow"
        assert (width <= untils[name]) == (row["repeats_needed"] == 0) == is_narrow


BASE = [10.0, 10.4, 9.9, 10.2, 10.1]
DOUBLE = [5.1, 5.1, 5.0, 5.2, 5.0]


@pytest.mark.parametrize(("until", "needs_more"), [(0.02, True), (0.04, False)])
def test_the_width_of_efficiency_at_which_a_session_stops_is_that_of_scaling(
    measure, results, until, needs_more
):
    case = Case(name="ddp", step_ms={1: BASE, 2: DOUBLE}, repeats=5, until_efficiency=until, max_repeats=20)
    one, two = measure(case)("FROM scaling ORDER BY workers")
    differences = np.log(DOUBLE) - np.log(BASE)
    width = quantile(4) * np.std(differences, ddof=1) / np.sqrt(5)
    assert np.log(two["efficiency_hi"] / two["efficiency"]) == pytest.approx(width)
    assert (two["repeats_needed"] > 0) == needs_more
    assert (two["until_efficiency"], two["stops_early"]) == (until, True)
    assert one["repeats_needed"] == 0
    paths = list(results.glob("*/*/run.json"))
    runs = [RunSpec.from_json(read_json(path)["spec"]) for path in paths]
    plan = tuple(PlannedRun(spec=spec) for spec in sorted(runs, key=lambda run: (run.repeat, run.workers)))
    assert bool(Rounds(paths[0].parent.parent, "fixed").further(plan)) == needs_more


@measured(
    Case(name="fixed", step_ms={1: BASE, 2: DOUBLE}, repeats=5),
    Case(name="stopped", step_ms={1: BASE, 2: DOUBLE}, repeats=5, until=0.5, max_repeats=20),
)
def test_all_intervals_of_a_case_that_may_stop_early_have_the_wider_quantile(ask):
    wider = quantile(4) / stats.t.ppf(0.975, 4)
    fixed, stopped = ask("FROM scaling WHERE workers = 2 ORDER BY case_name")
    assert (fixed["stops_early"], stopped["stops_early"]) == (False, True)
    for quantity in ("throughput", "speedup", "efficiency", "step_ms"):
        one, other = (np.log(row[f"{quantity}_hi"] / row[quantity]) for row in (fixed, stopped))
        assert other == pytest.approx(wider * one), quantity


@measured(
    Case(name="a", step_ms={1: BASE}, repeats=5, scaling="none"),
    Case(name="b", step_ms={1: BASE[::-1]}, repeats=5, scaling="none"),
    Case(name="c", step_ms={1: BASE[::-1]}, repeats=5, scaling="none", until=0.5, max_repeats=20),
)
def test_two_cases_are_compared_with_the_wider_quantile_if_one_may_stop_early(ask):
    session = ask("SELECT any_value(session_id) AS id FROM sessions")[0]["id"]
    widths = [
        np.log(row["ratio_hi"] / row["ratio"])
        for other in "bc"
        for row in ask(f"FROM compare_cases('{session}', 'a', '{other}')")
    ]
    assert widths[1] == pytest.approx(widths[0] * quantile(4) / stats.t.ppf(0.975, 4))


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
def test_what_is_still_too_wide_is_named_with_its_width(ask):
    points = ask("FROM scaling ORDER BY case_name, workers")
    assert list(still_too_wide(points)) == [
        "ddp 1x1: throughput within ±8.14 % after 3 repeats, but the suite requests ±2 %",
        "wild 1x1: throughput within ±702 % after 3 repeats, but the suite requests ±1 %",
    ]
    assert wider_than_asked(points) == (
        "measure.until requests throughput to within ±1 % or ±2 %: 2 of 4 rows stayed wider, the widest "
        "within ±702 %."
    )
    assert wider_than_asked([row for row in points if row["case_name"] == "silent"]) == ""


@measured(
    Case(name="ddp", step_ms={1: BASE, 2: DOUBLE}, repeats=5, until_efficiency=0.01, max_repeats=5),
    Case(
        name="pair",
        scaling="none",
        step_ms={1: BASE[::-1]},
        repeats=5,
        until_efficiency=0.02,
        max_repeats=5,
        baseline="ddp",
    ),
    Case(name="narrow", step_ms={1: BASE, 2: DOUBLE}, repeats=5, until_efficiency=0.04, max_repeats=5),
    Case(name="alone", step_ms={1: BASE}, repeats=5, until_efficiency=0.001, max_repeats=5),
)
def test_an_efficiency_that_is_still_too_wide_is_named_and_a_baseline_never_is(ask):
    """`pair` is not scaled, so it has a speedup over its baseline and no efficiency; it is as wide."""
    points = ask("FROM scaling ORDER BY case_name, workers")
    differences = np.log(BASE[::-1]) - np.log(BASE)
    width = 100 * np.expm1(quantile(4) * np.std(differences, ddof=1) / np.sqrt(5))
    assert list(still_too_wide(points)) == [
        "ddp 1x2: efficiency within ±2.53 % after 5 repeats, but the suite requests ±1 %",
        f"pair 1x1: speedup within ±{width:.3g} % after 5 repeats, but the suite requests ±2 %",
    ]
    assert wider_than_asked(points) == (
        "measure.until_efficiency requests efficiency to within ±1 % or ±2 %: 2 of 3 rows stayed wider, the widest "
        "within ±2.53 %."
    )


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
    assert said[2].startswith("measure.until requests throughput to within ±1 %")


@measured(Case(name="alone", scaling="none", step_ms={1: STEPS}))
def test_a_table_that_shows_no_interval_says_nothing_about_them(ask):
    points = ask("FROM scaling")
    assert list(caveats(SESSION, points, shows_throughput_intervals=False)) == []


def test_bandwidths_of_cpus_say_that_they_are_those_of_gloo():
    assert not any("gloo" in line for line in caveats(SESSION, []))
    (said,) = (line for line in caveats(SESSION | {"collectives_on_cpu": True}, []) if "gloo" in line)
    assert said.endswith("say nothing about NCCL on GPUs.")
