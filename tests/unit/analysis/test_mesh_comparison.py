"""Which of several ways to divide the same training is fastest, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

NOISE = {"fsdp": (1.0, 1.01, 0.99, 1.0), "tp": (1.0, 0.99, 1.01, 1.01), "mesh": (1.01, 1.0, 1.0, 0.98)}
STEP_MS = {"fsdp": 20.0, "tp": 25.0, "mesh": 40.0}
LM = {"workload": "transformer_lm", "options": {"preset": "1m", "tie_embeddings": False}}


def times(name: str) -> list[float]:
    return [STEP_MS[name] * one for one in NOISE[name]]


def write_sessions(results: Path) -> None:
    make_session(
        results,
        [
            *(Case(name=name, strategy=name, step_ms={4: times(name)}, repeats=4, **LM) for name in ("fsdp", "tp")),
            Case(name="mesh", strategy="mesh", step_ms={4: times("mesh")}, repeats=4, accumulate=8, **LM),
            Case(name="other_batch", strategy="tp", step_ms={4: 1.0}, repeats=4, batch=32, **LM),
            Case(name="other_precision", strategy="tp", step_ms={4: 1.0}, repeats=4, precision="bf16", **LM),
            Case(name="one_rank", strategy="single", step_ms={1: 1.0}, scaling="none", repeats=4, **LM),
            Case(name="shared", strategy="tp", step_ms={4: 1.0}, repeats=4, oversubscribed=frozenset({4}), **LM),
        ],
        session_id="mesh", suite="mesh",
    )  # fmt: skip
    make_session(
        results,
        [Case(name=name, strategy=name, step_ms={4: 20.0}, repeats=2, **LM) for name in ("ddp", "fsdp")],
        session_id="nomesh",
        suite="nomesh",
    )


@pytest.fixture(scope="module")
def rows(shared: Path) -> dict[str, dict[str, Any]]:
    found = ask(shared, "FROM mesh_comparison WHERE session_id IN ('mesh', 'nomesh')")
    return {row["case_name"]: row for row in found}


def test_only_cases_that_train_the_same_on_the_same_ranks_are_compared(rows: Any) -> None:
    assert set(rows) == {"fsdp", "tp", "mesh"}, (
        "micro-batches may differ; no session without a mesh is compared"
    )
    assert {row["alternatives"] for row in rows.values()} == {3}
    assert {row["fastest_case"] for row in rows.values()} == {"fsdp"}


@pytest.mark.parametrize("name", ["tp", "mesh"])
def test_the_interval_is_students_within_rounds_at_bonferronis_level(rows: Any, name: str) -> None:
    differences = np.log(np.array(times(name)) / np.array(times("fsdp")))
    half_width = stats.t.ppf(1 - 0.05 / 2 / 2, df=3) * differences.std(ddof=1) / 2
    row = rows[name]
    assert row["time_ratio"] == pytest.approx(np.exp(differences.mean()))
    assert row["time_ratio_lo"] == pytest.approx(np.exp(differences.mean() - half_width))
    assert row["time_ratio_hi"] == pytest.approx(np.exp(differences.mean() + half_width))


def test_the_fastest_is_decided_if_it_is_faster_than_each_other(rows: Any) -> None:
    assert [rows[name]["is_fastest"] for name in ("fsdp", "tp", "mesh")] == [True, False, False]
    assert {row["is_decided"] for row in rows.values()} == {True}
    assert rows["fsdp"]["time_ratio"] == 1
    assert rows["fsdp"]["time_ratio_lo"] is None
