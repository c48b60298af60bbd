"""Collectives that take long appear in the phase whose work waits for them, and in no other."""

from __future__ import annotations

from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD

SLOW_NS = 300_000_000
"""Time of a collective; everything else takes a few milliseconds, at least in the quickest step."""
CASES = """
  - {name: ddp, strategy: ddp, scaling: none, batch_per_rank: 4, world: [2]}
  - {name: fsdp, strategy: fsdp, scaling: none, batch_per_rank: 4, world: [2]}
"""


def test_slow_collectives_are_in_the_phases_that_wait_for_them(gpus: Gpus) -> None:
    gpus.settings["nccl_ns"] = SLOW_NS
    done = gpus.suite(HEAD.replace("warmup: 2, steps: 10", "warmup: 1, steps: 3, selfcheck: 0") + CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    phases = ("data", "forward", "backward", "optimizer")
    least = ", ".join(f"min({phase}_ns) AS {phase}" for phase in phases)
    rows = gpus.ask(
        f"SELECT case_name, {least} FROM steps JOIN runs USING (session_id, run_id, attempt) "
        "WHERE kind = 'measured' GROUP BY case_name",
    )
    slow = {row["case_name"]: {phase for phase in phases if row[phase] >= SLOW_NS} for row in rows}
    # ddp reduces gradients in backward; fsdp gathers each unit for forward and again for backward
    assert slow == {"ddp": {"backward"}, "fsdp": {"forward", "backward"}}
