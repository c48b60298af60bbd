"""Profiled steps on stand-in GPUs."""

from __future__ import annotations

import gzip
import json

from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD

SLOW_NS = 2_000_000_000
"""Time of a collective: much longer than a busy machine delays a step."""
TWO = "  - {name: two, strategy: ddp, scaling: none, batch_per_rank: 4, world: [2], measure: {steps: 2, profiled: 2}}"
CASE = (
    "  - {name: one, strategy: ddp, scaling: none, batch_per_rank: 4, world: [1], "
    "measure: {warmup: 1, steps: 1, profiled: 2}}"
)


def test_a_profiled_step_does_not_hold_the_work_of_the_step_before(gpus: Gpus) -> None:
    """The host is a step ahead of the device when it begins to profile."""
    gpus.settings["nccl_ns"] = SLOW_NS
    done = gpus.suite(HEAD + CASE, "--trace")
    assert done.returncode == 0, done.stdout + done.stderr
    (trace,) = gpus.results.glob("s/*/trace.rank0.json.gz")
    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    marks = sorted(
        (event["ts"], event["dur"])
        for event in events
        if event.get("name", "").startswith("bench.step") and event.get("cat") == "user_annotation"
    )
    (_, first_us), (_, second_us) = marks
    assert SLOW_NS / 1e3 < first_us < second_us + 0.5 * SLOW_NS / 1e3


def test_a_profile_without_kernels_is_not_a_step_without_communication(gpus: Gpus) -> None:
    """The stand-in has no CUPTI records, as a GPU that another program profiles."""
    done = gpus.suite(HEAD + TWO)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, profile_problem FROM runs")
    assert run["status"] == "ok"
    assert "no kernels" in run["profile_problem"]
    (finding,) = gpus.ask("FROM diagnosis WHERE finding = 'unusable_profile'")
    assert "recorded no kernels" in finding["evidence"]
    assert gpus.ask("FROM profile") == gpus.ask("FROM communication") == []
    (parts,) = gpus.ask("SELECT known_by, communication_ms FROM run_parts")
    assert parts == {"known_by": None, "communication_ms": None}
