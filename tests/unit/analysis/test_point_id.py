"""point_id joins everything that is known of a case's placement in a session."""

from __future__ import annotations

import pytest

from tests.factory import Case
from tests.unit.analysis.conftest import fetch, measured

PLACED = {"case_name", "nodes", "ranks_per_node", "threads", "session_id"}
WITHOUT = {
    "runs",  # run_summary has it
    "planned_runs",
    "findings",  # the view diagnosis has it
    "history_changes",  # history has it
    "session_medians",
}

CASES = (
    Case(name="ddp", step_ms={1: 20.0, 2: 11.0, 4: 6.0}, ranks_per_node=2, device_type="cuda"),
    Case(name="threads", step_ms={1: 20.0, 2: 12.0}, axis="threads", repeats=2),
)


def test_every_table_of_placements_has_it(in_memory):
    columns = fetch(in_memory, "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal")
    of_table: dict[str, set[str]] = {}
    for row in columns:
        of_table.setdefault(row["table_name"], set()).add(row["column_name"])
    assert {name for name, of in of_table.items() if of >= PLACED and "point_id" not in of} == WITHOUT
    # a join of two of them in a definition must not leave a second one
    assert not {
        name for of in of_table.values() for name in of if name.startswith("point_id") and name != "point_id"
    }


@measured(*CASES)
def test_it_names_session_case_and_placement(ask):
    ids = [row["point_id"].split("/", 1)[1] for row in ask("SELECT point_id FROM scaling ORDER BY ALL")]
    assert ids == ["ddp/1x1.t1", "ddp/1x2.t1", "ddp/2x2.t1", "threads/1x1.t1", "threads/1x1.t2"]


@measured(*CASES)
@pytest.mark.parametrize(
    "name", ["placements", "memory", "phases", "loss_parity", "history", "fingerprint", "coverage"]
)
def test_a_join_by_it_is_the_join_by_the_key(ask, name):
    counts = "SELECT count(*) AS rows FROM scaling"
    by_key = f"USING ({', '.join(sorted(PLACED))})"
    (rows,) = ask(f"{counts} JOIN {name} USING (point_id)")
    assert [rows] == ask(f"{counts} JOIN {name} {by_key}")
    assert rows["rows"] >= 5
