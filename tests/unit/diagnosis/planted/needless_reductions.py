from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from tests.factory import Case, make_session
from tests.profile_rows import Groups, add_profile
from tests.unit.diagnosis.planted.independent_copies import OPTIONS

GRADIENTS = 4 * 691_258
"""Their bytes; DDP puts them into two buckets."""
DDP = {
    "forward": "calls of DistributedDataParallel", "step": "step() of SGD", "optimizers": "SGD",
}  # fmt: skip


def fires(results: Path) -> None:
    """Four micro-batches, or two; SyncBatchNorm all-reduces a little more."""
    _session(results, "four", 4 * GRADIENTS, calls=8)
    _session(results, "two", 2 * GRADIENTS, calls=4)
    _session(results, "norm", 4 * GRADIENTS + 30_000, calls=20)


def quiet(results: Path) -> None:
    """One reduction, also with SyncBatchNorm; bytes of anything else; fp64; unknown bytes; reductions that are needed,
    or may be; and a step without one, as if models were averaged now and then."""
    _session(results, "one", GRADIENTS + 7_500, calls=5)
    _session(results, "other", 17 * GRADIENTS // 4, calls=8)
    _session(results, "fp64", 2 * GRADIENTS, calls=2)
    _session(results, "unknown", -1, calls=8)
    _session(results, "gathered", 4 * GRADIENTS, calls=8, op="all_gather")
    _session(results, "few_calls", 4 * GRADIENTS, calls=2)
    _session(results, "odd_batch", 3 * GRADIENTS, calls=6)
    _session(
        results, "tensor", 4 * GRADIENTS, calls=8, groups={"tensor": (1, 8, 4 * GRADIENTS, 1_000, 1_000)}
    )
    _session(results, "fsdp", 4 * GRADIENTS, calls=8, forward="calls of FullyShardedDataParallel")
    _session(results, "gan", 4 * GRADIENTS, calls=8, forward=f"{DDP['forward']}, DistributedDataParallel")
    _session(results, "two_optimizers", 4 * GRADIENTS, calls=8, optimizers="SGD, AdamW")
    _session(results, "own_step", 4 * GRADIENTS, calls=8, step="bench_probe.step")
    _session(results, "lbfgs", 4 * GRADIENTS, calls=8, step="step() of LBFGS", optimizers="LBFGS")
    averaging = _session(results, "averaging", 4 * GRADIENTS, calls=8)
    for path in averaging.glob("*/profile_collectives*.parquet"):
        pq.write_table(pq.read_table(path).slice(1), path)
    session = make_session(results, [Case(name="ddp", step_ms={2: 11.0}, accumulate=4)], session_id="ours")
    add_profile(session, lambda *_: (11, 4, 4, 7), {"all_reduce": (8, 4 * 4 * 2_804, 4_000_000)})


def _session(
    results: Path,
    name: str,
    sent: int,
    calls: int,
    op: str = "all_reduce",
    groups: Groups | None = None,
    **recorded_by: str,
) -> Path:
    """A command on one rank and two, with batches of 32 on each of two ranks."""
    outcome = {"parameters": GRADIENTS // 4, "recorded_by": json.dumps(DDP | recorded_by)}
    case = Case(
        name="command",
        strategy="command",
        workload="command",
        options=OPTIONS,
        step_ms={1: [20.0, 20.1, 20.2], 2: [15.0, 15.1, 15.2]},
        outcome=outcome,
    )
    session = make_session(results, [case], session_id=name)
    add_profile(session, lambda *_: (15, 4, 4, 11), {op: (calls, sent, 4_000_000)}, groups=groups)
    return session
