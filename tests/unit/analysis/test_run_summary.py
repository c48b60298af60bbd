"""Summary of one run's rows: step times, losses, memory, phases, coverage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.database import schema
from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.factory_tables import PHASES, STEP_SCHEMA
from tests.unit.analysis.conftest import ask, measured

RUN = "ddp.1x2.r0"
CASE = Case(name="ddp", step_ms={2: 5.0}, repeats=1, warmup=2, steps=5, batch=10)


def _rewrite_steps(folder, columns, ranks=2):
    """Replace a run's step rows; `columns` maps a name to [ranks, steps] values."""
    path = folder / RUN / "steps.node0.parquet"
    metadata = pq.read_schema(path).metadata
    table = pq.read_table(path)
    for name, values in columns.items():
        column = pa.array(np.asarray(values).reshape(-1), STEP_SCHEMA.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    pq.write_table(table.replace_schema_metadata(metadata), path)


def _with_step_times(folder, step_ns):
    """[ranks, steps] ns; every rank goes straight on."""
    ends = np.cumsum(step_ns, axis=1)
    data, rest = step_ns // 10, step_ns - step_ns // 10
    zero = np.zeros_like(step_ns)
    _rewrite_steps(
        folder,
        {
            "step_ns": step_ns,
            "start_ns": ends - step_ns,
            **dict(zip(PHASES, [data, rest, zero, zero], strict=True)),
        },
    )


UNEVEN = np.array([[9, 9, 10, 12, 10, 10, 11], [9, 9, 11, 10, 13, 10, 10]]) * 1_000_000
"""[2 ranks, 7 steps]; the first two are warm-up."""


uneven = measured(CASE, changed=lambda folder: _with_step_times(folder, UNEVEN))


@pytest.fixture
def row(ask):
    """The one run's."""
    (row,) = ask("FROM run_summary")
    return row


@uneven
def test_step_time_is_the_difference_of_latest_ends_and_telescopes_to_the_span(ask):
    rows = ask("FROM step_stats ORDER BY step")
    # Ends of measured steps, rank 0: 28 40 50 60 71, rank 1: 29 39 52 62 72 ms; they begin at 18.
    assert [row["step_ns"] for row in rows if row["kind"] == "measured"] == [11e6, 11e6, 12e6, 10e6, 10e6]
    assert [row["slowest_rank"] for row in rows][3:5] == [0, 1]
    (stats,) = ask("FROM run_stats")
    assert stats["span_ns"] == 54_000_000
    assert sum(row["step_ns"] for row in rows if row["kind"] == "measured") == stats["span_ns"]


@uneven
def test_throughput_of_a_run_is_examples_by_the_longest_ranks_own_span(row):
    assert row["throughput"] == pytest.approx(10 * 5 / 0.054)
    assert row["time_per_epoch_s"] == pytest.approx(10_000 * 0.054 / 50)
    assert row["tokens_per_s"] is None


@uneven
def test_step_quantiles_are_values_that_were_measured(row):
    times = np.array([11, 11, 12, 10, 10])
    assert (row["step_ms"], row["step_ms_min"], row["step_ms_max"]) == (11.0, 10.0, 12.0)
    assert row["step_ms_mean"] == pytest.approx(times.mean())
    assert row["step_ms_std"] == pytest.approx(times.std(ddof=1))
    assert row["cv"] == pytest.approx(times.std(ddof=1) / times.mean())
    assert (row["measured_steps"], row["steps_completed"]) == (5, 7)


@pytest.mark.parametrize(
    ("steps", "p95", "p99"),
    [(19, None, None), (20, 19, None), (99, 95, None), (100, 95, 99), (150, 143, 149)],
)
def test_a_percentile_is_null_where_it_would_be_the_longest_step(in_memory, steps, p95, p99):
    """The k-th of the steps takes k ns."""
    in_memory.begin()
    key = "'s' AS session_id, 'r' AS run_id, 0 AS attempt"
    in_memory.execute(
        f"INSERT INTO step_stats BY NAME SELECT {key}, k AS step, 'measured' AS kind, k + 1 AS step_ns, "
        "0 AS nonfinite_losses FROM range($1) AS _(k)",
        [steps],
    )
    in_memory.execute(
        f"INSERT INTO run_rank_stats BY NAME SELECT {key}, 0 AS rank, $1 AS measured_steps", [steps]
    )
    found = in_memory.sql(schema.text("run_stats")).select("step_ns_p95, step_ns_p99").fetchall()
    in_memory.rollback()
    assert found == [(p95, p99)]


PAUSED = np.array([[0, 5, 1000, 1005, 1010, 1015, 1020]] * 2) * 1_000_000


@measured(CASE, changed=lambda folder: _rewrite_steps(folder, {"start_ns": PAUSED}))
def test_a_pause_before_the_measured_steps_belongs_to_no_step(row):
    assert (row["step_ms_max"], row["span_s"]) == (5.0, 0.025)


PROFILED = [["warmup"] * 2 + ["measured"] * 4 + ["profiled"]] * 2


@measured(CASE, changed=lambda folder: _rewrite_steps(folder, {"kind": PROFILED}))
def test_profiled_steps_lie_outside_the_span(row):
    assert (row["measured_steps"], row["span_s"]) == (4, 0.02)


LOSSES = np.array([[4, 3, 2, 2, 2, 2, 1], [2, 3, 2, 4, 2, 2, 0]], dtype=float)


@measured(CASE, changed=lambda folder: _rewrite_steps(folder, {"loss": LOSSES}))
def test_loss_is_the_mean_over_ranks_of_their_own_means(row):
    assert (row["first_loss"], row["final_loss"]) == (3.0, 0.5)
    assert row["mean_loss"] == pytest.approx((2 + 3 + 2 + 2 + 0.5) / 5)


NOT_FINITE = np.ones((2, 7))
NOT_FINITE[1, 4], NOT_FINITE[0, 6] = np.nan, np.inf


@measured(CASE, changed=lambda folder: _rewrite_steps(folder, {"loss": NOT_FINITE}))
def test_a_loss_that_is_not_a_number_is_counted_and_leaves_means_unknown(row):
    assert (row["nonfinite_losses"], row["mean_loss"], row["final_loss"]) == (2, None, None)
    assert row["first_loss"] == 1.0


@measured(Case(name="ddp", step_ms={2: 5.0}, repeats=1, tokens_per_example=128, losses=(2.0, 0.5)))
def test_tokens_and_evaluation_stand_beside_examples(row):
    assert row["throughput"] == pytest.approx(64 / 0.005)
    assert row["tokens_per_s"] == pytest.approx(128 * 64 / 0.005)
    assert (row["best_val_loss"], row["best_val_accuracy"]) == (pytest.approx(0.55), 0.9)


@measured(Case(name="ddp", step_ms={2: 5.0}, repeats=1, accuracy=float("nan"), losses=(2.0, 0.5)))
def test_a_validation_that_is_not_a_number_is_never_the_best(row):
    assert (row["best_val_loss"], row["best_val_accuracy"]) == (pytest.approx(0.55), None)


@measured(Case(name="ddp", step_ms={2: 5.0}, repeats=1, memory_bytes=3_000))
def test_memory_of_a_cpu_run_is_its_resident_set_where_it_was_read(row):
    assert (row["peak_memory_allocated_bytes"], row["mean_memory_allocated_bytes"]) == (3_000, 3_000.0)
    assert (row["peak_memory_reserved_bytes"], row["mean_memory_reserved_bytes"]) == (None, None)


@measured(Case(name="ddp", step_ms={2: 5.0}, repeats=1, statuses={(2, 0): "failed"}))
def test_a_failed_run_has_step_times_and_no_throughput(row):
    assert (row["status"], row["error"], row["failed_rank"]) == ("failed", "RuntimeError: broken", 1)
    assert (row["measured_steps"], row["step_ms"], row["throughput"]) == (5, 5.0, None)


@measured(Case(name="ddp", step_ms={2: 20.0}, shares=(0.05, 0.25, 0.6, 0.1)))
def test_phases_add_up_to_the_step_and_their_shares_to_one(ask):
    rows = ask("FROM phases ORDER BY phase_order")
    assert [(row["phase"], row["phase_ms"]) for row in rows] == [
        ("data", 1.0),
        ("forward", 5.0),
        ("backward", 12.0),
        ("optimizer", 2.0),
    ]
    assert [row["share"] for row in rows] == pytest.approx([0.05, 0.25, 0.6, 0.1])
    assert ask("FROM run_summary")[0]["data_share"] == pytest.approx(0.05)


@measured(
    Case(
        name="ddp",
        step_ms={2: 5.0},
        device_type="cuda",
        memory_bytes=8_000,
        statuses={(2, repeat): "oom" for repeat in range(3)},
    )
)
def test_memory_shows_how_far_a_run_came_that_ran_out_of_it(ask):
    (row,) = ask("FROM memory")
    assert (row["runs"], row["oom_runs"], row["peak_memory_allocated_bytes"]) == (3, 3, 8_000)
    assert row["peak_memory_reserved_bytes"] == 10_000
    assert (row["peak_device_memory_used_bytes"], row["peak_node_rss_bytes"]) == (8_000, 8_000)


def test_coverage_counts_what_became_of_every_planned_run(results):
    statuses = {(1, 1): "oom", (2, 0): "failed", (2, 1): "timeout", (2, 2): "skipped", (4, 0): "interrupted"}
    folder = make_session(results, [Case(name="ddp", step_ms={1: 4.0, 2: 2.0, 4: 1.0}, statuses=statuses)])
    (folder / "ddp.1x4.r2" / "run.json").unlink()
    report = load(results)
    assert [problem.path for problem in report.problems] == [f"{folder.name}/ddp.1x4.r2"]
    one, two, four = ask(results, "FROM coverage ORDER BY workers")
    assert (one["planned"], one["ok"], one["oom"], one["reasons"]) == (3, 2, 1, "CUDA out of memory")
    assert (two["ok"], two["failed"], two["timeout"], two["skipped"]) == (0, 1, 1, 1)
    assert two["reasons"] == "RuntimeError: broken; more ranks than slots; no step for 600 s"
    assert (four["ok"], four["interrupted"], four["missing"], four["attempts"]) == (1, 1, 1, 2)


@measured(
    Case(name="ddp", step_ms={2: 5.0}, repeats=1, statuses={(2, 0): "skipped"}),
    changed=lambda folder: (folder / RUN / "run.json").unlink(),
)
def test_a_run_that_this_machine_cannot_host_is_skipped_and_not_missing(ask):
    (row,) = ask("FROM coverage")
    assert (row["skipped"], row["missing"], row["reasons"]) == (1, 0, "2 ranks on 1 slot")
