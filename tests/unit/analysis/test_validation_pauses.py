"""Validation is outside the span: its pauses change no figure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.factory import Case
from tests.factory_tables import PHASES, STEP_SCHEMA
from tests.unit.analysis.conftest import asks, measured, session_of

MS = 1_000_000
RUN = "ddp.1x2.r0"


def case(name: str = "ddp", **changes: object) -> Case:
    given: dict[str, object] = {"step_ms": {2: 5.0}, "repeats": 1, "warmup": 2, "steps": 10, "batch": 10}
    return Case(name=name, **(given | changes))  # type: ignore[arg-type]


def with_and_without(**changes):
    return session_of(
        case("with", validate_every=3, validation_ms=700.0, repeats=2, **changes),
        case("without", repeats=2, **changes),
    )


@pytest.mark.parametrize(
    "ask",
    [with_and_without(step_ms={1: 5.0}, jitter=0.1), with_and_without(step_ms={4: 5.0})],
    indirect=True,
    ids=["one rank", "four ranks"],
)
def test_a_session_with_pauses_has_the_figures_of_the_same_session_without(ask):
    figures = "throughput, step_ms, step_ms_mean, step_ms_std, step_ms_max, span_s, data_share, mean_loss"
    rows = [
        ask(f"SELECT repeat, {figures} FROM run_summary WHERE case_name = '{name}' ORDER BY repeat")
        for name in ("with", "without")
    ]
    assert len(rows[0]) == 2
    assert rows[0] == rows[1]


@measured(case(validate_every=4, validation_ms=100.0, losses=(2.0, 0.8), accuracy=0.9))
def test_the_validations_of_a_run_are_kept_in_order_and_the_best_counts(ask):
    rows = ask("SELECT step, epoch, val_loss, val_accuracy, elapsed_s FROM evals ORDER BY step")
    assert [row["step"] for row in rows] == [4, 8, 12]
    assert [row["epoch"] for row in rows] == [0.004, 0.008, 0.012]
    assert [row["elapsed_s"] for row in rows] == [0.02, 0.14, 0.26]
    assert [row["val_accuracy"] for row in rows] == pytest.approx([0.36, 0.63, 0.9])
    (best,) = ask("SELECT best_val_loss, best_val_accuracy FROM run_summary")
    assert best == {"best_val_loss": pytest.approx(0.85), "best_val_accuracy": 0.9}


EVERY = [1, 2, 3, 5, 11]


@pytest.mark.parametrize(
    "ask",
    [session_of(case(validate_every=every, validation_ms=20.0)) for every in EVERY],
    indirect=True,
    ids=[*map(str, EVERY)],
)
def test_step_times_telescope_to_the_span_wherever_the_pauses_lie(ask):
    steps = ask("SELECT step_ns FROM step_stats WHERE kind = 'measured' ORDER BY step")
    assert [row["step_ns"] for row in steps] == [5 * MS] * 10
    assert ask("SELECT DISTINCT span_ns FROM run_rank_stats") == [{"span_ns": 50 * MS}]


@measured(case(validate_every=2, validation_ms=20.0, steps=2))
def test_a_pause_between_warm_up_and_measured_steps_was_never_in_the_span(ask):
    assert ask("SELECT DISTINCT span_ns FROM run_rank_stats") == [{"span_ns": 10 * MS}]


# 2 warm-up and 5 measured steps were completed, the last validation came after the sixth
@measured(case(validate_every=3, validation_ms=20.0, statuses={(2, 0): "failed"}))
def test_a_run_that_dies_after_a_validation_keeps_it_and_its_span(ask):
    assert [row["step"] for row in ask("SELECT step FROM evals ORDER BY step")] == [3, 6]
    assert ask("SELECT DISTINCT span_ns FROM run_rank_stats") == [{"span_ns": 25 * MS}]


def _meeting(folder):
    """Rank 0 is slow before the validation at step 2, rank 1 after it; they meet there, and go on at 120 and 121 ms."""
    step_ms = np.array([[10, 12, 10, 10], [9, 10, 12, 11]])
    start_ms = np.array([[0, 10, 120, 130], [0, 9, 121, 133]])
    _rewrite(folder / RUN / "steps.node0.parquet", step_ms * MS, start_ms * MS)


@asks(session_of(case(warmup=0, steps=4, validate_every=2, validation_ms=9.0), changed=_meeting))
def test_waiting_for_the_last_rank_belongs_to_the_span_and_the_validation_does_not(ask):
    steps = [row["step_ns"] for row in ask("SELECT step_ns FROM step_stats ORDER BY step")]
    assert steps == [10 * MS, 12 * MS, 13 * MS, 11 * MS]
    spans = [row["span_ns"] for row in ask("SELECT span_ns FROM run_rank_stats ORDER BY rank")]
    assert spans == [(22 + 20) * MS, (22 + 23) * MS]


def _alone(folder):
    """Rank 0 validates before steps 2 and 4, for 90 and 45 ms. Rank 1 has begun the step, and waits in it."""
    step_ms = np.array([[10, 10, 10, 10, 10, 10], [10, 10, 100, 10, 55, 10]])
    start_ms = np.array([[0, 10, 110, 120, 175, 185], [0, 10, 20, 120, 130, 185]])
    _rewrite(folder / "command.1x2.r0" / "steps.node0.parquet", step_ms * MS, start_ms * MS)


@asks(
    session_of(
        case("command", strategy="command", steps=4, validate_every=2, validation_ms=9.0),
        changed=_alone,
    )
)
def test_a_validation_of_one_rank_of_a_script_is_in_no_figure_of_the_others(ask):
    steps = ask("SELECT step_ns FROM step_stats WHERE kind = 'measured' ORDER BY step")
    assert [row["step_ns"] for row in steps] == [10 * MS] * 4
    ranks = ask("SELECT rank, span_ns, step_ns_mean, forward_ns_mean FROM run_rank_stats ORDER BY rank")
    assert ranks == [
        {"rank": rank, "span_ns": 40 * MS, "step_ns_mean": 10 * MS, "forward_ns_mean": 10 * MS}
        for rank in (0, 1)
    ]


def _rewrite(path, step_ns, start_ns):
    """`step_ns` and `start_ns`: [ranks, steps]; all of a step is forward."""
    metadata, table = pq.read_schema(path).metadata, pq.read_table(path)
    columns = dict.fromkeys(PHASES, np.zeros_like(step_ns)) | {"forward_ns": step_ns}
    for name, values in (columns | {"step_ns": step_ns, "start_ns": start_ns}).items():
        column = pa.array(values.reshape(-1), STEP_SCHEMA.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    pq.write_table(table.replace_schema_metadata(metadata), path)
