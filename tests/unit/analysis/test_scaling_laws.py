"""The tables law_points, law_fits and scaling_law and the view scaling_prediction, on sessions whose law is known."""

from __future__ import annotations

import shutil
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

from analysis.laws.fit_rows import Point, segments
from analysis.laws.wording import sentence, weights
from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask as ask_database
from tests.unit.analysis.conftest import measured

# 64 examples a step; 4 % of 100 ms are serial: 100 (0.04 + 0.96 / n).
AMDAHL_MS = {1: 100.0, 2: 52.0, 4: 28.0, 8: 16.0}


def pairs_ms(sizes):
    """Milliseconds of a step in which each further worker adds 2 % of the time of one."""
    return {n: 100 * (0.02 + 0.98 / n + 0.02 * (n - 1)) for n in sizes}


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
    assert (row["best_form"], row["reason"], row["runs"]) == ("saturating", None, 12)
    assert row["serial_fraction"] == pytest.approx(0.04)
    assert row["serial_fraction_lo"] < 0.04 < row["serial_fraction_hi"]
    found = [row[f"{form}_weight"] for form in ("saturating", "log", "pairs")]
    assert (sum(found), found[0]) == (pytest.approx(1), max(found))
    assert (row["growth"], row["peak_workers"]) == (None, None)
    assert abs(row["left_out_error"]) < 0.01
    assert weights(row) == "saturating 58 %, log 21 %, pairs 21 %"
    assert sentence(row).startswith("By its best form (saturating, 58 %): 4.0 % [")
    assert sentence(row).endswith("] of a step on 1 rank is serial.")


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
    assert [row["serial_fraction"] for row in rows.values()] == pytest.approx([0, 0], abs=1e-9)
    predicted = ask("FROM scaling_prediction ORDER BY workers")
    assert [row["workers"] for row in predicted] == [2**power for power in range(12)]
    assert {row["segment"] for row in predicted if row["kind"] == "predicted"} == {"across nodes"}
    assert predicted[-1]["efficiency"] == pytest.approx(0.8, rel=0.01)


@measured(Case(name="ddp", step_ms=pairs_ms([1, 2, 4, 8, 16, 32]), ranks_per_node=32, batch=640))
def test_a_form_with_nine_tenths_of_the_weight_has_its_peak(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["best_form"], row["pairs_weight"] > 0.9) == ("pairs", True)
    assert row["growth"] == pytest.approx(0.02, rel=1e-4)
    assert row["peak_workers"] == pytest.approx(7, rel=1e-3)
    assert row["peak_workers_lo"] < 7 < row["peak_workers_hi"]
    assert "Each further rank adds 2.0 % [" in sentence(row)
    assert "Fastest at about 7 ranks [" in sentence(row)


# 8 workers are the smallest size: a peak counts workers, growth what each further eight add.
@measured(
    Case(
        name="ddp",
        step_ms={8 * n: ms for n, ms in pairs_ms([1, 2, 4, 8, 16, 32]).items()},
        batch=640,
        ranks_per_node=256,
    )
)
def test_coefficients_are_relative_to_the_smallest_size_and_a_peak_is_in_workers(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["serial_fraction"], row["growth"]) == (
        pytest.approx(0.02, abs=1e-4),
        pytest.approx(0.02, rel=1e-3),
    )
    assert row["peak_workers"] == pytest.approx(8 * 7, rel=1e-3)
    assert "Each further 8 ranks add 2.0 % [" in sentence(row)


@measured(Case(name="ddp", step_ms=pairs_ms([1, 2, 4]), batch=640))
def test_a_form_that_three_sizes_cannot_tell_from_the_others_has_no_peak(ask):
    (row,) = ask("FROM scaling_law")
    assert max(row["log_weight"], row["pairs_weight"]) < 0.9
    assert (row["peak_workers"], row["peak_workers_lo"]) == (None, None)
    assert "astest" not in sentence(row)


@measured(Case(name="ddp", step_ms=AMDAHL_MS, batch=640))
def test_predictions_are_the_law_at_the_sizes_measured_and_at_four_doublings(ask):
    rows = ask("FROM scaling_prediction ORDER BY workers")
    assert [(row["workers"], row["kind"]) for row in rows] == [
        *((n, "measured") for n in (1, 2, 4, 8)),
        *((n, "predicted") for n in (16, 32, 64, 128)),
    ]
    assert {row["law"] for row in rows} == {"fitted"}
    for row in rows:
        speedup = 1 / (0.04 + 0.96 / row["workers"])
        assert row["speedup_lo"] < speedup < row["speedup_hi"]
        assert row["throughput"] == pytest.approx(6400 * row["speedup"])
        assert row["efficiency"] == pytest.approx(row["speedup"] / row["workers"])
    assert [row["measured_speedup"] for row in rows[:4]] == pytest.approx([1, 100 / 52, 100 / 28, 6.25])
    assert [row["relative_error"] for row in rows[:4]] == pytest.approx([0] * 4, abs=1e-6)
    assert {(row["measured_throughput"], row["relative_error"]) for row in rows[4:]} == {(None, None)}
    widths = [row["throughput_hi"] / row["throughput_lo"] for row in rows[3:]]
    assert widths == sorted(widths)
    (law,) = ask("FROM law_fits")
    assert {row["left_out_error"] for row in rows} == {law["left_out_error"]}


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
    assert (law["points"], law["best_form"]) == (3, "saturating")
    assert law["serial_fraction"] == pytest.approx(0.04, abs=0.01)
    rows = ask_database(results, "FROM scaling_prediction WHERE kind = 'predicted' ORDER BY workers")
    assert [row["workers"] for row in rows] == [16, 32, 64, 128]
    # The device is unknown, but the same as the baseline's.
    assert all(row["speedup_lo"] < row["speedup"] < row["speedup_hi"] for row in rows)


# 4 + 192 / n ms: at 2 workers 4 of 100 ms are serial, at one 4 of 196.
@measured(Case(name="ddp", step_ms={n: 4 + 192 / n for n in (2, 4, 8, 16)}))
def test_the_serial_fraction_is_that_of_the_smallest_size_like_karp_flatts(ask):
    (row,) = ask("FROM scaling_law")
    assert row["serial_fraction"] == pytest.approx(0.04)
    (karp_flatt,) = ask("SELECT DISTINCT round(karp_flatt, 9) AS e FROM scaling WHERE NOT is_baseline")
    assert karp_flatt["e"] == 0.04
    assert "of a step on 2 ranks is serial" in sentence(row)


# Each doubling adds 10 % to a step of 64 examples per rank.
@measured(
    Case(name="ddp", scaling="weak", step_ms={2**k: 100 * (1 + 0.1 * k) for k in range(6)}, ranks_per_node=32)
)
def test_weak_scaling_tells_what_each_doubling_adds(ask):
    (row,) = ask("FROM scaling_law")
    assert (row["best_form"], row["serial_fraction"], row["peak_workers"]) == ("log", None, None)
    assert row["growth"] == pytest.approx(0.1)
    assert sentence(row).startswith("Each doubling of ranks adds 10 % [")
    (last,) = ask("FROM scaling_prediction WHERE workers = 512")
    assert last["speedup_lo"] < 512 / 1.9 < last["speedup_hi"]


@measured(
    Case(name="single", strategy="single", scaling="none", step_ms={1: 50.0}),
    Case(name="ddp", step_ms=AMDAHL_MS, baseline="single"),
)
def test_a_baseline_of_another_case_is_what_the_predicted_speedup_is_relative_to(ask):
    rows = ask("FROM scaling_prediction WHERE workers IN (8, 16) ORDER BY workers")
    assert [row["speedup"] for row in rows] == pytest.approx([50 / 16, 50 / 10], rel=0.05)
    assert rows[0]["measured_speedup"] == pytest.approx(50 / 16)
    assert {row["case_name"] for row in ask("FROM law_fits")} == {"ddp"}


@measured(
    Case(name="two", step_ms={1: 100.0, 2: 52.0}),
    Case(name="three", step_ms={1: 100.0, 2: 52.0, 4: 28.0}),
)
def test_too_few_sizes_have_no_fit_and_a_reason(ask):
    two, three = ask("FROM scaling_law ORDER BY points")
    assert two["reason"] == "2 of the 3 sizes that a law needs"
    assert sentence(two) == "No law: measured at 2 of the 3 sizes that a law needs."
    assert (two["best_form"], two["saturating_weight"], weights(two)) == (None, None, "")
    assert (three["serial_fraction"], three["reason"]) == (pytest.approx(0.04), None)
    assert {row["case_name"] for row in ask("FROM scaling_prediction")} == {"three"}


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
    assert len(rows) == 8 if scaling == "weak" else len(rows) > 4
    for row in rows:
        assert np.isfinite(row["throughput_hi"])
        assert 0 < row["throughput_lo"] <= row["throughput"] <= row["throughput_hi"]


@pytest.mark.usefixtures("without_rules")
def test_a_session_that_is_loaded_again_is_fitted_again_and_the_others_keep_their_figures(results):
    folder = make_session(results, [Case(name="ddp", step_ms=AMDAHL_MS, repeats=1)], session_id="a")
    make_session(results, [Case(name="ddp", step_ms=AMDAHL_MS, repeats=1)], session_id="b")
    load(results)
    before = ask_database(results, "FROM law_fits WHERE session_id = 'b'")
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
    assert ask_database(results, "FROM law_fits WHERE session_id = 'b'") == before
