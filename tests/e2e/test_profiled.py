"""Profiled steps of real ranks: they send as much as the formulas say, and do not affect other figures."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processes import OneProcess

FAULTY = f"{Path(__file__).parent / 'faulty.py'}:Workload"
PROFILED = {"warmup": 1, "steps": 4, "repeats": 1, "profiled": 2, "timeout_s": 60}
KINDS = frozenset({"bare", "instrumented"})
TRAINED = 5
"""Steps 0 to 4. With selfcheck, 12 steps follow that are in no row of `steps`; then come one unrecorded step under
the profiler and two recorded ones."""
Query = Callable[[str], list[dict[str, Any]]]


def case(name: str, strategy: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "strategy": strategy, "scaling": "weak", "batch_per_rank": 16, "world": [2], **more
    }  # fmt: skip


def faulty(name: str, fault: str, **measure: Any) -> dict[str, Any]:
    workload = {"name": FAULTY, "fault": fault, "at_step": TRAINED + 2}
    return case(name, "ddp", workload=workload, measure=measure)


@pytest.fixture(scope="module")
def session(
    tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess
) -> tuple[Path, subprocess.CompletedProcess[str], Query]:
    """One session with traces: DDP, FSDP, and two runs that fail in their second profiled step."""
    folder = tmp_path_factory.mktemp("profiled")
    suite = {
        "title": "Profiled",
        "why": "What do ranks send?",
        "workload": {"name": "spiral_mlp"},
        "device": "cpu",
        "measure": PROFILED,
        "cases": [
            case("ddp", "ddp", measure={"selfcheck": 12}),
            case("fsdp", "fsdp", measure={"selfcheck": 12}),
            faulty("killed", "killed"),
            faulty("nan", "nan", nonfinite="fail"),
        ],
    }
    (folder / "suite.yaml").write_text(json.dumps(suite))  # JSON is YAML
    results = str(folder / "r")
    place = ("--results", results, "--session", "s", "--ranks-per-node", "2")
    done = one_process.run("suite", str(folder / "suite.yaml"), *place, "--trace")

    def query(text: str) -> list[dict[str, Any]]:
        found = one_process.run("sql", text, "--results", results, "--format", "json")
        rows: list[dict[str, Any]] = json.loads(found.stdout)
        return rows

    return folder / "r" / "s", done, query


def padded_parameters(ranks: int) -> int:
    """Parameters of spiral_mlp as FSDP shards it: each is padded in its first dimension to a multiple of the
    ranks."""
    from bench.workloads.spiral_mlp import Workload

    model = Workload(Workload.Options(), "synthetic", None, 0).model()
    shapes = [tuple(parameter.shape) for parameter in model.parameters()]
    return sum(ranks * math.ceil(shape[0] / ranks) * math.prod(shape[1:]) for shape in shapes)


def test_a_run_that_dies_in_its_profiled_steps_fails_and_keeps_every_step_before(session: Any) -> None:
    _, done, query = session
    assert done.returncode == 1
    runs = {row["case_name"]: row for row in query("FROM run_summary")}
    assert {name: row["status"] for name, row in runs.items()} == {
        "ddp": "ok", "fsdp": "ok", "killed": "failed", "nan": "ok"
    }  # fmt: skip
    assert {row["steps_completed"] for row in runs.values()} == {TRAINED}
    rows = query(
        "SELECT count(*) AS n FROM steps WHERE run_id LIKE 'killed%' AND kind IN ('warmup', 'measured')"
    )
    assert rows == [{"n": 2 * TRAINED}]


def test_a_loss_that_is_not_finite_in_a_profiled_step_is_none_of_the_trainings(session: Any) -> None:
    _, _, query = session
    (row,) = query("SELECT nonfinite_losses, mean_loss FROM run_summary WHERE case_name = 'nan'")
    assert row["nonfinite_losses"] == 0
    assert row["mean_loss"] is not None


def test_steps_after_the_measured_ones_are_rows_of_their_own_kinds(session: Any) -> None:
    _, done, query = session
    rows = query(
        "SELECT case_name, kind, count(*) AS n, min(step) AS first FROM steps JOIN runs USING (session_id, run_id) "
        "WHERE rank = 1 AND case_name IN ('ddp', 'fsdp') AND kind NOT IN ('warmup', 'measured') GROUP BY ALL"
    )
    assert {(row["case_name"], row["kind"], row["n"], row["first"]) for row in rows} == {
        ("ddp", "profiled", 2, 5), ("ddp", "no_sync", 2, 7), ("fsdp", "profiled", 2, 5)
    }  # fmt: skip
    assert "step 5/5, rank 0" in done.stderr


def test_steps_that_tell_what_measuring_costs_come_in_pairs_whose_order_all_ranks_share(session: Any) -> None:
    _, _, query = session
    rows = query(
        "SELECT case_name, rank, list(kind ORDER BY step) AS kinds, list(pair ORDER BY step) AS pairs, "
        "min(step) AS first, min(step_ns) AS least FROM selfcheck JOIN runs USING (session_id, run_id) "
        "GROUP BY ALL ORDER BY ALL"
    )
    assert [(row["case_name"], row["rank"], row["first"]) for row in rows] == [
        (name, rank, TRAINED) for name in ("ddp", "fsdp") for rank in (0, 1)
    ]
    for row in rows:
        assert row["pairs"] == [step // 2 for step in range(12)]
        assert row["least"] > 0
        assert {frozenset(row["kinds"][at : at + 2]) for at in range(0, 12, 2)} == {KINDS}
    orders = {tuple(row["kinds"]) for row in rows}
    assert len(orders) == 1  # one seed, one order
    assert next(iter(orders)) != tuple(["bare", "instrumented"] * 6)


def test_what_measuring_costs_has_an_interval_or_a_reason(session: Any) -> None:
    _, _, query = session
    rows = {row["case_name"]: row for row in query("FROM perturbation")}
    for name in ("ddp", "fsdp"):
        assert (rows[name]["pairs"], rows[name]["steps"], rows[name]["left_out"]) == (6, 12, None)
        assert rows[name]["difference_us_lo"] <= rows[name]["difference_us"] <= rows[name]["difference_us_hi"]
        assert rows[name]["bare_step_ms"] > 0
    assert (rows["nan"]["pairs"], rows["nan"]["left_out"]) == (0, "too short")
    assert "killed" not in rows


def test_ddp_reduces_four_bytes_per_parameter_and_fsdp_gathers_twice_and_scatters_once(session: Any) -> None:
    _, _, query = session
    (parameters,) = {row["parameters"] for row in query("FROM runs WHERE case_name IN ('ddp', 'fsdp')")}
    sent = {
        (row["case_name"], row["rank"], row["step"], row["op"]): row["message_bytes"]
        for row in query(
            "SELECT case_name, rank, step, op, profile_collectives.message_bytes "
            "FROM profile_collectives JOIN runs USING (session_id, run_id) WHERE case_name IN ('ddp', 'fsdp')"
        )
    }
    places = [(rank, step) for rank in (0, 1) for step in (TRAINED, TRAINED + 1)]
    padded = 4 * padded_parameters(2)
    assert sent == {
        **{("ddp", *place, "all_reduce"): 4 * parameters for place in places},
        **{("fsdp", *place, "all_gather"): 2 * padded for place in places},
        **{("fsdp", *place, "reduce_scatter"): padded for place in places},
    }


def test_communication_takes_time_of_which_some_or_all_is_exposed(session: Any) -> None:
    _, _, query = session
    rows = query(
        "FROM profile JOIN runs USING (session_id, run_id, attempt) WHERE case_name IN ('ddp', 'fsdp')"
    )
    assert len(rows) == 8
    for row in rows:
        assert 0 <= row["exposed_communication_ns"] <= row["communication_ns"] <= row["step_ns"]
        assert row["communication_ns"] > 0
        assert 0 < row["compute_ns"] <= row["step_ns"]
    views = {row["case_name"]: row for row in query("FROM communication")}
    assert (views["ddp"]["no_sync_saving_ms"] is None, views["fsdp"]["no_sync_saving_ms"]) == (False, None)


def test_traces_are_whole_and_lie_in_the_runs_folder(session: Any) -> None:
    folder, _, _ = session
    traces = sorted(path.relative_to(folder) for path in folder.glob("*/*trace*"))
    whole = [f"{run}.1x2.r0/trace.rank{rank}.json.gz" for run in ("ddp", "fsdp", "nan") for rank in (0, 1)]
    assert [str(path) for path in traces] == whole
    for trace in traces:
        events = json.loads(gzip.decompress((folder / trace).read_bytes()))["traceEvents"]
        assert {event["name"] for event in events} >= {"bench.step 5", "bench.step 6"}
