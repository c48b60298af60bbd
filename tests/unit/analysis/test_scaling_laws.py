"""The tables law_points, law_fits and scaling_law and the view scaling_prediction, on sessions whose law is known."""

from __future__ import annotations

import shutil
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from scipy.optimize import curve_fit

from analysis.laws.fit_rows import Point, segments
from analysis.laws.wording import comparison, sentence
from analysis.loading.load import load
from benchmarks.law_coverage import TRUTHS, coverage
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask as ask_database
from tests.unit.analysis.conftest import measured

# 64 examples a step; 4 % of 100 ms are serial: 100 (0.04 + 0.96 / n).
AMDAHL_MS = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0}


def usl_ms(sizes, alpha=0.05, beta=0.002, gamma=1000.0):
    """Milliseconds of a step of 64 examples."""
    return {n: 64e3 * (1 + alpha * (n - 1) + beta * n * (n - 1)) / (gamma * n) for n in sizes}


@measured(Case(name="ddp", step_ms=AMDAHL_MS), suite="smoke")
def test_a_case_with_a_serial_part_has_its_fraction_and_its_limit(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["suite"], row["case_name"], row["scaling_mode"], row["axis"]) == (
        "smoke",
        "ddp",
        "strong",
        "ranks",
    )
    assert (row["points"], row["smallest_workers"], row["largest_workers"]) == (4, 1, 8)
    assert (row["serial_law"], row["reason"]) == ("amdahl", None)
    assert row["serial_fraction"] == pytest.approx(0.04)
    assert row["speedup_limit"] == pytest.approx(25)
    assert row["r2"] == pytest.approx(1)
    assert (row["usl_alpha"], row["usl_gamma"]) == (pytest.approx(0.04), pytest.approx(640))
    assert (row["usl_beta"], row["usl_at_bound"]) == (pytest.approx(0, abs=1e-8), True)
    assert (row["peak_workers"], row["peak_workers_hi"]) == (None, None)
    assert (row["preferred_law"], row["runs"]) == ("amdahl", 12)
    assert (row["serial_lack_of_fit_p"], row["serial_rejected"]) == (pytest.approx(1), False)


@measured(Case(name="falls", step_ms={1: 100.0, 2: 100 / 1.2, 4: 100 / 0.8}))
def test_no_limit_is_told_below_what_was_measured(ask):
    (row,) = ask("FROM scaling_law")
    assert row["serial_fraction"] == pytest.approx(1)
    assert row["speedup_limit"] is None


NOISE = {1: 1.01, 2: 0.99, 4: 1.012, 8: 1.0, 16: 0.995}
REPEATS = (0.98, 1.0, 1.02)


def noisy(step_ms, noise=NOISE):
    """Step times of three repeats, with noise of sizes that is not more than that of repeats."""
    return {n: [noise[n] * repeat * ms for repeat in REPEATS] for n, ms in step_ms.items()}


@measured(
    Case(
        name="serial",
        step_ms=noisy({n: 100 * (0.04 + 0.96 / n) for n in NOISE}),
        ranks_per_node=16,
        rounds=False,
    ),
    Case(
        name="none",
        step_ms=noisy({n: 100 * (0.0005 + 0.9995 / n) for n in NOISE}),
        ranks_per_node=16,
        rounds=False,
    ),
)
def test_the_limit_has_an_interval_and_is_told_where_that_is_narrow(ask):
    rows = {row["case_name"]: row for row in ask("FROM scaling_law")}
    serial = rows["serial"]
    assert serial["speedup_limit_lo"] < 25 < serial["speedup_limit_hi"] < 2 * serial["speedup_limit_lo"]
    (fit,) = ask("FROM law_fits WHERE law = 'amdahl' AND case_name = 'serial'")
    (baseline,) = ask("SELECT throughput FROM scaling WHERE is_baseline AND case_name = 'serial'")
    assert serial["speedup_limit"] == pytest.approx(fit["gamma"] / fit["alpha"] / baseline["throughput"])
    assert f"more than {serial['speedup_limit']:.1f} [" in sentence(serial)
    assert "more than" not in sentence(rows["none"])
    assert rows["none"]["speedup_limit_hi"] is None
    assert rows["none"]["serial_fraction_lo"] == 0 < rows["none"]["serial_fraction_hi"]


STEPPED = {n: 100 / n * (1.25 if n > 4 else 1) for n in (1, 2, 4, 8, 16)}
EXACT = dict.fromkeys(NOISE, 1.0)


@measured(Case(name="ddp", step_ms=noisy(STEPPED, EXACT), batch=640, ranks_per_node=16))
def test_a_law_that_the_repeats_reject_predicts_nothing_and_has_no_interval(ask):
    (row,) = ask("FROM scaling_law")
    assert max(row["serial_lack_of_fit_p"], row["usl_lack_of_fit_p"]) < 0.05
    assert (row["serial_rejected"], row["usl_rejected"], row["preferred_law"]) == (True, True, None)
    ends = ("serial_fraction_lo", "usl_alpha_hi", "usl_beta_lo", "peak_workers_lo", "speedup_limit")
    assert [row[end] for end in ends] == [None] * 5
    rows = ask("FROM scaling_prediction")
    assert {(one["kind"], one["throughput_lo"]) for one in rows} == {("measured", None)}
    assert len(rows) == 2 * 5
    assert comparison(row).startswith(
        "Neither Amdahl nor the USL holds at these sizes (lack of fit, p < 0.001"
    )


@measured(
    Case(
        name="ddp",
        step_ms=noisy({n: 100 * (0.04 + 0.96 / n) for n in NOISE}),
        batch=640,
        ranks_per_node=16,
        rounds=False,
    )
)
def test_every_prediction_shows_the_error_of_leaving_out_the_largest_size(ask):
    found = {
        row["law"]: row for row in ask("FROM scaling_prediction WHERE kind = 'predicted' AND workers = 32")
    }
    fits = {row["law"]: row for row in ask("FROM law_fits")}
    assert {law: row["left_out_error"] for law, row in found.items()} == {
        law: row["left_out_error"] for law, row in fits.items()
    }
    ms = {n: 100 * (0.04 + 0.96 / n) * NOISE[n] for n in NOISE}
    (g, a), _ = curve_fit(
        lambda n, g, a: g - np.log(a + (1 - a) / n),
        [1, 2, 4, 8],
        [-np.log(ms[n]) for n in (1, 2, 4, 8)],
        p0=[0, 0.1],
        bounds=([-np.inf, 0], [np.inf, 1]),
    )
    expected = np.exp(g - np.log(a + (1 - a) / 16)) * ms[16] - 1
    assert found["amdahl"]["left_out_error"] == pytest.approx(expected, rel=1e-3)


def point(workers, nodes):
    return Point("s", "c", "strong", "ranks", workers, nodes, None, 1.0)


@pytest.mark.parametrize(
    ("one_node", "across", "expected"),
    [
        ([1, 2, 4, 8], [], {"all": 4}),
        ([], [8, 16], {"all": 2}),
        ([1, 4, 8], [16, 32], {"all": 5}),
        ([1, 2, 4, 8], [16, 32], {"all": 6, "one node": 4}),
        ([4, 8], [16, 32, 64, 128], {"across nodes": 4}),
        ([1, 2, 4, 8], [16, 32, 64, 128], {"one node": 4, "across nodes": 4}),
    ],
)
def test_enough_sizes_of_one_node_and_across_nodes_have_laws_of_their_own(one_node, across, expected):
    points = [point(n, 1) for n in one_node] + [point(n, 2) for n in across]
    assert {name: len(part) for name, part in segments(points).items()} == expected


ACROSS = {n: 100 / n * (1.25 if n > 8 else 1) for n in (1, 2, 4, 8, 16, 32, 64, 128)}


@measured(Case(name="ddp", step_ms={n: [ms, 1.01 * ms] for n, ms in ACROSS.items()}, repeats=2, batch=6400))
def test_a_step_of_efficiency_at_the_border_of_a_node_is_no_law(ask):
    rows = {row["segment"]: row for row in ask("FROM scaling_law ORDER BY largest_workers")}
    assert list(rows) == ["one node", "across nodes"]
    assert [row["points"] for row in rows.values()] == [4, 4]
    assert [row["serial_fraction"] for row in rows.values()] == [0, 0]
    predicted = ask("FROM scaling_prediction WHERE law = 'amdahl' ORDER BY workers")
    assert [row["workers"] for row in predicted] == [2**power for power in range(12)]
    assert {row["segment"] for row in predicted if row["kind"] == "predicted"} == {"across nodes"}
    assert predicted[-1]["efficiency"] == pytest.approx(0.8)


@measured(Case(name="ddp", step_ms=usl_ms([1, 2, 4, 8, 16]), ranks_per_node=16))
def test_a_case_with_coherency_has_a_peak(ask):
    (row,) = ask("FROM scaling_law")
    assert row["usl_alpha"] == pytest.approx(0.05, rel=1e-5)
    assert row["usl_beta"] == pytest.approx(0.002, rel=1e-5)
    assert row["usl_gamma"] == pytest.approx(1000, rel=1e-6)
    peak = (0.95 / 0.002) ** 0.5
    assert row["peak_workers"] == pytest.approx(peak, rel=1e-5)
    assert row["peak_workers_lo"] <= row["peak_workers"] <= row["peak_workers_hi"]


@measured(Case(name="ddp", step_ms=AMDAHL_MS, batch=640))
def test_predictions_are_the_law_at_the_sizes_measured_and_at_four_doublings(ask):
    rows = ask("FROM scaling_prediction WHERE law = 'amdahl' ORDER BY workers")
    assert [(row["workers"], row["kind"]) for row in rows] == [
        *((n, "measured") for n in (1, 2, 4, 8)),
        *((n, "predicted") for n in (16, 32, 64, 128)),
    ]
    milliseconds = [100 * (0.04 + 0.96 / row["workers"]) for row in rows]
    assert [row["throughput"] for row in rows] == pytest.approx([640e3 / ms for ms in milliseconds])
    assert [row["speedup"] for row in rows] == pytest.approx([100 / ms for ms in milliseconds])
    assert [row["efficiency"] for row in rows] == pytest.approx(
        [100 / ms / row["workers"] for ms, row in zip(milliseconds, rows, strict=True)]
    )
    assert [row["measured_speedup"] for row in rows[:4]] == pytest.approx([1, 100 / 52, 100 / 28, 6.25])
    assert [row["relative_error"] for row in rows[:4]] == pytest.approx([0] * 4, abs=1e-9)
    assert {(row["measured_throughput"], row["relative_error"]) for row in rows[4:]} == {(None, None)}


@measured(
    Case(name="ranks", step_ms=AMDAHL_MS, batch=40),
    Case(name="threads", step_ms=AMDAHL_MS, batch=40, axis="threads", strategy="single"),
    Case(name="weak", step_ms=dict.fromkeys(AMDAHL_MS, 100.0), batch=40, scaling="weak"),
)
def test_no_prediction_has_more_ranks_than_the_global_batch_has_examples(ask):
    query = "SELECT case_name, max(workers) AS largest FROM scaling_prediction GROUP BY case_name"
    assert {row["case_name"]: row["largest"] for row in ask(query)} == {
        "ranks": 32,
        "threads": 128,
        "weak": 128,
    }


def test_an_imported_table_has_its_serial_fraction_and_predictions_without_a_global_batch(results):
    table = results.parent / "published.csv"
    lines = [
        "case,scaling,world_size,repeat,seconds,examples",
        "ddp,strong,1,0,362.45,1",
        "ddp,strong,4,0,95.23,1",
    ]
    table.write_text("\n".join([*lines, "ddp,strong,8,0,57.14,1\n"]))
    done = CliRunner().invoke(
        import_module("bench.cli.import").command,
        [str(table), "--suite", "tutorial", "--results", str(results)],
    )
    assert done.exit_code == 0, done.output
    (law,) = ask_database(results, "FROM scaling_law")
    speedups = [362.45 / seconds for seconds in (362.45, 95.23, 57.14)]
    (_, alpha), _ = curve_fit(
        lambda n, g, a: g + np.log(n / (1 + a * (n - 1))), [1, 4, 8], np.log(speedups), p0=[0, 0.04]
    )
    assert (law["points"], law["serial_fraction"]) == (3, pytest.approx(alpha, rel=1e-5))
    rows = ask_database(results, "FROM scaling_prediction WHERE kind = 'predicted' ORDER BY workers")
    assert [row["workers"] for row in rows] == [16, 32, 64, 128]
    # The device is unknown, but the same as the baseline's.
    assert all(row["speedup_lo"] < row["speedup"] < row["speedup_hi"] for row in rows)


# 4 + 192 / n ms: at 2 workers 4 of 100 ms are serial, at one 4 of 196.
@measured(Case(name="ddp", step_ms={n: 4 + 192 / n for n in (2, 4, 8, 16)}))
def test_amdahls_fraction_is_that_of_the_smallest_size_and_the_universal_laws_that_of_one_worker(ask):
    (row,) = ask("FROM scaling_law")
    assert row["serial_fraction"] == pytest.approx(0.04)
    assert row["speedup_limit"] == pytest.approx(2 / 0.04)
    assert row["usl_alpha"] == pytest.approx(4 / 196)
    assert row["usl_gamma"] == pytest.approx(64e3 / 196)
    predicted = ask("FROM scaling_prediction WHERE kind = 'predicted' AND workers = 32")
    assert [one["throughput"] for one in predicted] == pytest.approx([64e3 / 10] * 2)
    assert [one["speedup"] for one in predicted] == pytest.approx([2 * 100 / 10] * 2)
    (karp_flatt,) = ask("SELECT DISTINCT round(karp_flatt, 9) AS e FROM scaling WHERE NOT is_baseline")
    assert karp_flatt["e"] == 0.04


# Scaled speedup n - 0.1 (n - 1) in steps of 64 examples per rank.
@measured(Case(name="ddp", scaling="weak", step_ms={n: 100 * n / (n - 0.1 * (n - 1)) for n in (1, 2, 4, 8)}))
def test_weak_scaling_has_gustafsons_fraction(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["serial_law"], row["speedup_limit"]) == ("gustafson", None)
    assert row["serial_fraction"] == pytest.approx(0.1)
    (last,) = ask("FROM scaling_prediction WHERE law = 'gustafson' AND workers = 128")
    assert last["speedup"] == pytest.approx(128 - 12.7)
    measured = ask("SELECT gustafson FROM scaling WHERE gustafson IS NOT NULL")
    assert [one["gustafson"] for one in measured] == pytest.approx([0.1] * 3)


@measured(
    Case(name="single", strategy="single", scaling="none", step_ms={1: 50.0}),
    Case(name="ddp", step_ms=AMDAHL_MS, baseline="single"),
)
def test_a_baseline_of_another_case_is_what_the_predicted_speedup_is_relative_to(ask):
    rows = ask("FROM scaling_prediction WHERE law = 'amdahl' AND workers IN (8, 16) ORDER BY workers")
    assert [row["speedup"] for row in rows] == pytest.approx([50 / 16, 50 / 10])
    assert rows[0]["measured_speedup"] == pytest.approx(50 / 16)
    (law,) = ask("FROM scaling_law")
    assert law["speedup_limit"] == pytest.approx(50 / 4)
    assert {row["case_name"] for row in ask("FROM law_fits")} == {"ddp"}


@measured(
    Case(name="two", step_ms={1: 100.0, 2: 52.0}),
    Case(name="three", step_ms={1: 100.0, 2: 52.0, 4: 28.0}),
)
def test_too_few_sizes_have_no_fit_and_a_reason(ask):
    two, three = ask("FROM scaling_law ORDER BY points")
    assert two["reason"] == (
        "amdahl: measured at 2 of the 3 sizes that it needs; usl: measured at 2 of the 4 sizes that it needs"
    )
    assert (two["serial_fraction"], two["usl_alpha"]) == (None, None)
    assert three["serial_fraction"] == pytest.approx(0.04)
    assert three["reason"] == "usl: measured at 3 of the 4 sizes that it needs"
    assert {row["law"] for row in ask("FROM scaling_prediction")} == {"amdahl"}


@measured(
    Case(
        name="ddp",
        step_ms={**AMDAHL_MS, 16: 500.0},
        statuses={(4, repeat): "failed" for repeat in range(3)},
        oversubscribed=frozenset({16}),
    )
)
def test_oversubscribed_sizes_and_those_without_an_ok_run_are_no_points(ask):
    points = ask("FROM law_points ORDER BY workers")
    assert [row["workers"] for row in points] == [1] * 3 + [2] * 3 + [8] * 3
    assert [row["throughput_of_one"] for row in points] == pytest.approx([640] * 9)
    (row,) = ask("FROM scaling_law")
    assert (row["points"], row["serial_fraction"]) == (3, pytest.approx(0.04))


@measured(Case(name="ddp", step_ms=AMDAHL_MS), Case(name="ddp", step_ms={8: 99.0}, ranks_per_node=4))
def test_of_placements_with_the_same_ranks_the_one_on_fewest_nodes_is_the_point(ask):
    assert [row["placement"] for row in ask("FROM scaling WHERE workers = 8 ORDER BY nodes")] == [
        "1x8",
        "2x4",
    ]
    points = ask("FROM law_points WHERE workers = 8")
    assert [(row["nodes"], row["throughput"]) for row in points] == [(1, pytest.approx(64e3 / 16))] * 3


@pytest.mark.parametrize("truth", TRUTHS[:3], ids=lambda truth: truth.law.name)
def test_an_interval_holds_the_truth_as_often_as_it_says(truth):
    draws = 150
    found = coverage(truth, (1, 2, 4, 8), 0.03, draws)
    given = round((1 - found.withheld) * draws)
    assert found.withheld <= stats.binom.ppf(0.999, draws, 0.05) / draws
    assert min(found.near, found.far, found.farthest) >= stats.binom.ppf(0.001, given, 0.95) / given
    assert found.width < 2
    if truth.law.is_within_universal:
        assert found.other_preferred <= stats.binom.ppf(0.999, draws, 0.05) / draws


@measured(Case(name="ddp", step_ms=noisy(usl_ms(NOISE)), batch=640, rounds=False))
def test_the_interval_widens_with_the_distance_from_what_was_measured(ask):
    rows = ask("FROM scaling_prediction WHERE law = 'usl' AND kind = 'predicted' ORDER BY workers")
    assert len(rows) == 4
    widths = [row["throughput_hi"] / row["throughput_lo"] for row in rows]
    assert widths == sorted(widths)
    assert [row["efficiency_hi"] / row["efficiency_lo"] for row in rows] == pytest.approx(widths)


@measured(Case(name="ddp", step_ms=noisy({1: 100.0, 2: 50.0, 4: 25.0, 8: 12.5}, EXACT), rounds=False))
def test_where_a_coefficient_is_on_its_bound_the_interval_is_on_one_side(ask):
    rows = ask("FROM scaling_prediction WHERE kind = 'predicted'")
    assert [row["efficiency"] for row in rows] == pytest.approx([1.0] * 6, rel=1e-3)
    for row in rows:
        assert 0.2 < row["efficiency_lo"] < 0.99
        assert 1.0 < row["efficiency_hi"] < 1.05


ODD_MS = [(10, 10, 10, 10), (10, 30, 90, 500), (10, 5, 2, 0.5), (10, 500, 500, 10)]


@pytest.mark.parametrize("scaling", ["strong", "weak"])
@pytest.mark.parametrize("odd", range(len(ODD_MS)))
@measured(
    *(
        Case(
            name=f"{scaling}{odd}",
            scaling=scaling,
            step_ms=dict(zip((1, 2, 4, 8), step_ms, strict=True)),
            repeats=1,
        )
        for scaling in ("strong", "weak")
        for odd, step_ms in enumerate(ODD_MS)
    )
)
def test_whatever_was_measured_the_load_succeeds_and_every_prediction_is_a_number(ask, scaling, odd):
    rows = ask(f"FROM scaling_prediction WHERE case_name = '{scaling}{odd}'")
    assert {row["law"] for row in rows} == {"amdahl" if scaling == "strong" else "gustafson", "usl"}
    assert all(np.isfinite(row["throughput"]) and row["throughput"] > 0 for row in rows)
    (law,) = ask(f"FROM scaling_law WHERE case_name = '{scaling}{odd}'")
    assert law["peak_workers"] is None or law["peak_workers"] >= 1


@pytest.mark.usefixtures("without_rules")
def test_a_session_that_is_loaded_again_is_fitted_again(results):
    folder = make_session(results, [Case(name="ddp", step_ms=AMDAHL_MS, repeats=1)], session_id="a")
    make_session(results, [Case(name="ddp", step_ms=AMDAHL_MS, repeats=1)], session_id="b")
    load(results)
    shutil.rmtree(folder)
    make_session(
        results, [Case(name="ddp", step_ms={n: 100.0 / n for n in (1, 2, 4)}, repeats=1)], session_id="a"
    )
    load(results)
    rows = ask_database(results, "SELECT session_id, serial_fraction FROM scaling_law ORDER BY session_id")
    assert [(row["session_id"], row["serial_fraction"]) for row in rows] == [
        ("a", pytest.approx(0, abs=1e-9)),
        ("b", pytest.approx(0.04)),
    ]
