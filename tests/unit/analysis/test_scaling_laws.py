"""The views scaling_law and scaling_prediction, on sessions whose law is known."""

from __future__ import annotations

import shutil
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from scipy.optimize import curve_fit

from analysis.laws.wording import sentence
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


@measured(Case(name="ddp", step_ms=AMDAHL_MS))
def test_a_case_with_a_serial_part_has_its_fraction_and_its_limit(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["suite"], row["case_name"], row["scaling"], row["axis"]) == (
        "smoke",
        "ddp",
        "strong",
        "ranks",
    )
    assert (row["points"], row["smallest_workers"], row["largest_workers"]) == (4, 1, 8)
    assert (row["serial_law"], row["reason"]) == ("amdahl", None)
    assert row["serial_fraction"] == pytest.approx(0.04)
    assert row["speedup_limit"] == pytest.approx(25)
    assert (row["serial_r2"], row["r2"]) == (pytest.approx(1), pytest.approx(1))
    assert (row["usl_alpha"], row["usl_gamma"]) == (pytest.approx(0.04), pytest.approx(640))
    assert (row["usl_beta"], row["usl_at_bound"]) == (pytest.approx(0, abs=1e-8), True)
    assert (row["peak_workers"], row["peak_throughput"]) == (None, None)
    assert (row["peak_workers_lo"], row["peak_workers_hi"]) == (None, None)


@measured(Case(name="falls", step_ms={1: 100.0, 2: 100 / 1.2, 4: 100 / 0.8}))
def test_no_limit_is_told_below_what_was_measured(ask):
    (row,) = ask("FROM scaling_law")
    assert row["serial_fraction"] == pytest.approx(1)
    assert row["speedup_limit"] is None


NOISE = {1: 1.01, 2: 0.98, 4: 1.02, 8: 1.0, 16: 0.99}


@measured(
    Case(name="serial", step_ms={n: noise * 100 * (0.04 + 0.96 / n) for n, noise in NOISE.items()}),
    Case(name="none", step_ms={n: noise * 100 * (0.0005 + 0.9995 / n) for n, noise in NOISE.items()}),
    Case(name="bound", step_ms={n: 100 / n for n in NOISE}),
)
def test_the_limit_has_an_interval_and_is_told_where_that_is_narrow(ask):
    rows = {row["case_name"]: row for row in ask("FROM scaling_law")}
    serial = rows["serial"]
    assert serial["speedup_limit_lo"] < 25 < serial["speedup_limit_hi"] < 2 * serial["speedup_limit_lo"]
    (fit,) = ask("FROM law_fits WHERE law = 'amdahl' AND case_name = 'serial'")
    slope = np.array([1, -1 / fit["alpha"]])
    covariance = fit["log_gamma_alpha_covariance"]
    variances = [[fit["log_gamma_variance"], covariance], [covariance, fit["alpha_variance"]]]
    width = stats.t.ppf(0.975, 3) * np.sqrt(slope @ np.array(variances) @ slope)
    assert np.log(serial["speedup_limit_hi"] / serial["speedup_limit"]) == pytest.approx(width, rel=1e-3)
    assert f"more than {serial['speedup_limit']:.1f} [" in sentence(serial)
    for name in ("none", "bound"):
        assert "more than" not in sentence(rows[name])
    assert (rows["bound"]["speedup_limit_lo"], rows["bound"]["speedup_limit_hi"]) == (None, None)


@measured(Case(name="ddp", step_ms=usl_ms([1, 2, 4, 8, 16])))
def test_a_case_with_coherency_has_a_peak(ask):
    (row,) = ask("FROM scaling_law")
    assert row["usl_alpha"] == pytest.approx(0.05, rel=1e-5)
    assert row["usl_beta"] == pytest.approx(0.002, rel=1e-5)
    assert row["usl_gamma"] == pytest.approx(1000, rel=1e-6)
    peak = (0.95 / 0.002) ** 0.5
    assert row["peak_workers"] == pytest.approx(peak, rel=1e-5)
    assert row["peak_throughput"] == pytest.approx(
        1000 * peak / (1 + 0.05 * (peak - 1) + 0.002 * peak * (peak - 1)), rel=1e-6
    )
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
        lambda n, gamma, a: gamma * n / (1 + a * (n - 1)), [1, 4, 8], speedups, p0=[1, 0.04]
    )
    assert (law["points"], law["serial_fraction"]) == (3, pytest.approx(alpha, rel=1e-5))
    rows = ask_database(results, "FROM scaling_prediction WHERE kind = 'predicted' ORDER BY workers")
    assert [row["workers"] for row in rows] == [16, 32, 64, 128]


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
    assert [row["workers"] for row in points] == [1, 2, 8]
    (row,) = ask("FROM scaling_law")
    assert (row["points"], row["serial_fraction"]) == (3, pytest.approx(0.04))


@measured(Case(name="ddp", step_ms=AMDAHL_MS), Case(name="ddp", step_ms={8: 99.0}, ranks_per_node=4))
def test_of_placements_with_the_same_ranks_the_one_on_fewest_nodes_is_the_point(ask):
    assert [row["placement"] for row in ask("FROM scaling WHERE workers = 8 ORDER BY nodes")] == [
        "1x8",
        "2x4",
    ]
    (point,) = ask("FROM law_points WHERE workers = 8")
    assert point["mean_throughput"] == pytest.approx(64e3 / 16)


@pytest.mark.parametrize("truth", TRUTHS[:3], ids=lambda truth: truth.law.name)
def test_an_interval_holds_the_truth_as_often_as_it_says(truth):
    draws = 200
    found = coverage(truth, (1, 2, 4, 8, 16), 0.01, draws)
    assert found.given > 0.99
    assert min(found.near, found.far) >= stats.binom.ppf(0.001, draws, 0.95) / draws


@measured(Case(name="ddp", step_ms={n: NOISE[n] * ms for n, ms in usl_ms(NOISE).items()}, batch=640))
def test_the_interval_widens_with_the_distance_from_what_was_measured(ask):
    for law in ("amdahl", "usl"):
        rows = ask(f"FROM scaling_prediction WHERE law = '{law}' AND kind = 'predicted' ORDER BY workers")
        widths = [row["throughput_hi"] / row["throughput_lo"] for row in rows]
        assert widths == sorted(widths)
        assert [row["efficiency_hi"] / row["efficiency_lo"] for row in rows] == pytest.approx(widths)


@measured(Case(name="ddp", step_ms={1: 100.0, 2: 50.0, 4: 25.0, 8: 12.5}))
def test_where_a_coefficient_lies_on_its_bound_there_is_no_interval(ask):
    rows = ask("FROM scaling_prediction")
    assert [row["efficiency"] for row in rows] == pytest.approx([1.0] * 14)
    assert {row["throughput_lo"] for row in rows} == {None}


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
