"""How long the ranks of a pipeline wait for other stages, compared with stages that all take equally long."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.factory import Case, make_session
from tests.pipeline_rows import add_pipeline_steps
from tests.unit.analysis.conftest import ask

MESH = {"tp": 2, "pp": 2, "schedule": "1f1b", "stages_per_rank": None}


def write_sessions(results: Path) -> None:
    cases = [
        Case(name="pp", strategy="pp", strategy_options={"schedule": "1f1b"}, step_ms={4: 20.0}, repeats=3,
             accumulate=8),
        Case(name="interleaved", strategy="pp", strategy_options={"schedule": "interleaved"}, step_ms={4: 20.0},
             repeats=1, accumulate=8),
        Case(name="zero", strategy="pp", strategy_options={"schedule": "zero_bubble"}, step_ms={4: 20.0},
             repeats=1, accumulate=8),
        Case(name="mesh", strategy="mesh", strategy_options=MESH, step_ms={8: 20.0}, repeats=1, accumulate=4),
        Case(name="ddp", step_ms={4: 20.0}, repeats=1),
    ]  # fmt: skip
    folder = make_session(results, cases, session_id="pipeline", suite="pipeline")
    for repeat, more in enumerate((0.0, 0.01, 0.02)):
        shares = tuple(share + more for share in (0.1, 0.2, 0.3, 0.4))
        add_pipeline_steps(folder / f"pp.1x4.r{repeat}", pipeline_ms=10.0, idle_share=shares)
    for name in ("interleaved", "zero"):
        add_pipeline_steps(folder / f"{name}.1x4.r0", pipeline_ms=10.0, idle_share=(0.1,) * 4)
    # ranks 0, 1, 4 and 5 have the first stage: dp x pp x tp
    add_pipeline_steps(
        folder / "mesh.1x8.r0", pipeline_ms=10.0, idle_share=(0.1, 0.1, 0.3, 0.3, 0.2, 0.2, 0.5, 0.5)
    )


@pytest.fixture(scope="module")
def rows(shared: Path) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Rows of the table by case and position."""
    found = ask(shared, "FROM pipeline_idle WHERE session_id = 'pipeline'")
    return {(row["case_name"], row["position"]): row for row in found}


def test_a_position_has_the_mean_over_repeats_with_students_interval(rows: Any) -> None:
    row = rows["pp", 1]
    assert (row["repeats"], row["pp"], row["micro_batches"]) == (3, 4, 8)
    half_width = 4.302652729911275 * 0.01 / 3**0.5
    assert row["idle_share"] == pytest.approx(0.21)
    assert row["idle_share_lo"] == pytest.approx(0.21 - half_width)
    assert row["idle_share_hi"] == pytest.approx(0.21 + half_width)
    assert row["pipeline_ms"] == pytest.approx(10.0)
    assert row["work_ms"] == pytest.approx(7.9)


def test_equal_stages_wait_as_the_formula_says(rows: Any) -> None:
    assert rows["pp", 0]["ideal_idle_share"] == pytest.approx(3 / 11)
    assert rows["interleaved", 0]["ideal_idle_share"] == pytest.approx(3 / 19)
    assert rows["mesh", 0]["ideal_idle_share"] == pytest.approx(1 / 5)
    assert rows["zero", 0]["ideal_idle_share"] is None


def test_ranks_with_the_same_stage_are_one_position(rows: Any) -> None:
    assert {position for case, position in rows if case == "mesh"} == {0, 1}
    assert rows["mesh", 0]["idle_share"] == pytest.approx(0.15)
    assert rows["mesh", 1]["idle_share"] == pytest.approx(0.4)
    assert rows["mesh", 0]["idle_share_lo"] is None, "one repeat"


def test_other_strategies_have_no_row(rows: Any) -> None:
    assert {case for case, _ in rows} == {"pp", "interleaved", "zero", "mesh"}
