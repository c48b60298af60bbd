"""The table `fingerprint`: the environment of each run, and differences between runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.factory import Case, make_session
from tests.unit.analysis.conftest import Ask

DDP = Case(name="ddp", step_ms={1: 20.0, 2: 10.0}, repeats=3)
Rows = list[dict[str, Any]]


@pytest.fixture
def asked(results: Path, read_back: Callable[[], Ask]) -> Callable[..., Rows]:
    """`asked(columns, run_id={key: value}, ...)`: rows of the keys that were changed, the changes made to run.json."""

    def ask_for(columns: str, **changes: dict[str, str]) -> Rows:
        folder = make_session(results, [DDP], session_id="a")
        for name, change in changes.items():
            path = folder / name.replace("__", ".") / "run.json"
            run = json.loads(path.read_text("utf-8"))
            run["fingerprint"] |= change
            path.write_text(json.dumps(run), "utf-8")
        keys = sorted({key for change in changes.values() for key in change}) or ["torch"]
        listed = ", ".join(f"'{key}'" for key in keys)
        return read_back()(f"SELECT {columns} FROM fingerprint WHERE key IN ({listed}) ORDER BY ALL")

    return ask_for


def test_every_placement_says_how_many_of_its_runs_have_a_value(asked: Callable[..., Rows]) -> None:
    columns = (
        "session_id, case_name, workers, placement, device_type, key, class, value, runs, first_run, differs"
    )
    assert asked(columns) == [
        {
            "session_id": "a", "case_name": "ddp", "workers": n, "placement": f"1x{n}", "device_type": "cpu",
            "key": "torch", "class": "must_equal", "value": "2.15.0", "runs": 3, "first_run": f"ddp.1x{n}.r0",
            "differs": False,
        }
        for n in (1, 2)
    ]  # fmt: skip


def test_a_value_that_other_runs_do_not_have_differs_everywhere(asked: Callable[..., Rows]) -> None:
    rows = asked("placement, value, runs, first_run, differs", ddp__1x2__r1={"torch": "2.16.0"})
    assert [tuple(row.values()) for row in rows] == [
        ("1x1", "2.15.0", 3, "ddp.1x1.r0", True),
        ("1x2", "2.15.0", 2, "ddp.1x2.r0", True),
        ("1x2", "2.16.0", 1, "ddp.1x2.r1", True),
    ]


def test_nodes_and_transports_differ_only_between_runs_of_one_placement(asked: Callable[..., Rows]) -> None:
    on_two = {f"ddp__1x2__r{repeat}": {"nodes": "n1, n2", "transport": "NCCL via NET"} for repeat in range(3)}
    on_two["ddp__1x2__r2"] = {"nodes": "n1, n2", "transport": "NCCL via P2P"}
    rows = asked("key, class, placement, value, runs, differs", **on_two)
    assert [tuple(row.values()) for row in rows] == [
        ("nodes", "worth_knowing", "1x1", "node-a", 3, False),
        ("nodes", "worth_knowing", "1x2", "n1, n2", 3, False),
        ("transport", "must_equal", "1x2", "NCCL via NET", 2, True),
        ("transport", "must_equal", "1x2", "NCCL via P2P", 1, True),
    ]


def test_what_is_not_known_of_a_run_is_no_row_and_no_difference(asked: Callable[..., Rows]) -> None:
    rows = asked("placement, value, runs, differs", ddp__1x1__r0={"nccl": "2.27.3"})
    assert [tuple(row.values()) for row in rows] == [("1x1", "2.27.3", 1, False)]


def test_a_run_that_was_never_begun_was_made_with_nothing(
    results: Path, read_back: Callable[[], Ask]
) -> None:
    case = Case(name="ddp", step_ms={1: 20.0}, repeats=2, statuses={(1, 1): "skipped"}, attempts={(1, 0): 1})
    make_session(results, [case])
    rows = read_back()("SELECT runs, first_run FROM fingerprint WHERE key = 'python'")
    assert rows == [{"runs": 1, "first_run": "ddp.1x1.r0"}]


def test_cases_with_threads_of_their_own_do_not_differ(results: Path, read_back: Callable[[], Ask]) -> None:
    make_session(results, [DDP, Case(name="two", step_ms={1: 10.0}, threads=2)])
    rows = read_back()(
        "SELECT DISTINCT case_name, value, differs FROM fingerprint WHERE key = 'threads' ORDER BY 1"
    )
    assert [tuple(row.values()) for row in rows] == [("ddp", "1", False), ("two", "2", False)]


def test_a_fact_joins_what_is_known_of_its_placement(results: Path, read_back: Callable[[], Ask]) -> None:
    make_session(results, [DDP, Case(name="two", step_ms={1: 10.0}, threads=2)])
    rows = read_back()(
        "SELECT case_name, workers, value, repeats FROM scaling "
        "JOIN fingerprint USING (session_id, case_name, nodes, ranks_per_node, threads, workers, placement) "
        "WHERE key = 'threads' ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("ddp", 1, "1", 3),
        ("ddp", 2, "1", 3),
        ("two", 1, "2", 3),
    ]
