"""`efficiency_loss` names the cause that was planted into real ranks as the largest one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from processes import OneProcess

WORKLOAD = f"{Path(__file__).parent / 'slow_rank.py'}:Workload"


def _case(name: str, slow: str, world: int, **more: Any) -> dict[str, Any]:
    workload = {"name": WORKLOAD, "slow": slow}
    of_all = {"strategy": "ddp", "scaling": "strong", "global_batch": 8, "baseline": "alone"}
    return {"name": name, "world": [world], "workload": workload, **of_all, **more}


def test_a_rank_that_is_slow_in_real_runs_is_found_by_where_it_is_slow(
    tmp_path: Path, one_process: OneProcess
) -> None:
    profiled = {"measure": {"profiled": 2}}
    cases = [
        _case("alone", "batch", 1, baseline=None, **profiled),
        _case("late", "batch", 2),
        _case("slow", "forward", 2),
        _case("slow_profiled", "forward", 2, **profiled),
        _case("hook", "backward", 2),
        _case("hook_profiled", "backward", 2, **profiled),
    ]
    # In DDP's second step forward waits for the other ranks, because DDP rebuilds its buckets.
    measure = {"warmup": 2, "steps": 4, "repeats": 1, "timeout_s": 60}
    suite = {
        "title": "Slow",
        "why": "Which rank?",
        "workload": {"name": WORKLOAD, "slow": "batch"},
        "device": "cpu",
    }
    (tmp_path / "slow.yaml").write_text(json.dumps({**suite, "measure": measure, "cases": cases}))
    results = str(tmp_path / "r")
    done = one_process.run(
        "suite", str(tmp_path / "slow.yaml"), "--results", results, "--ranks-per-node", "2"
    )
    assert done.returncode == 0, done.stderr
    largest = (
        "SELECT case_name, arg_max(term, share) AS term, any_value(known_by) AS known_by, "
        "abs(sum(share) - 1 + any_value(efficiency)) < 1e-9 AS they_add_up FROM efficiency_loss GROUP BY case_name"
    )
    found = json.loads(one_process.run("sql", largest, "--results", results, "--format", "json").stdout)
    assert {row["case_name"]: (row["term"], row["known_by"]) for row in found} == {
        "late": ("data", "estimated"),
        "slow": ("imbalance", "estimated"),
        "slow_profiled": ("imbalance", "profiled"),
        # Without profiled steps a rank that is slow in backward looks like communication.
        "hook": ("communication", "estimated"),
        "hook_profiled": ("imbalance", "profiled"),
    }
    assert all(row["they_add_up"] for row in found)
    said = "SELECT finding, certainty, options FROM diagnosis WHERE case_name = '{}'"
    of_estimate, of_profile = (
        json.loads(one_process.run("sql", said.format(case), "--results", results, "--format", "json").stdout)
        for case in ("hook", "hook_profiled")
    )
    causes = [row for row in of_estimate if row["finding"] in ("small_model", "small_batch")]
    assert causes
    assert {(row["certainty"], row["options"]) for row in causes} == {("likely", "--set measure.profiled=4")}
    assert "late_rank" in {row["finding"] for row in of_profile}
    assert "small_model" not in {row["finding"] for row in of_profile}
