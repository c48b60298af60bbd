"""Options of strategies change time, memory and traffic, but not the mathematics, apart from intended rounding and
dropped parts: each option's losses are compared with the bare model's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from processes import OneProcess

from analysis.database import connections
from analysis.loading.load import load

STEPS = 8
EXACT = 2e-4
"""Tolerance for sums in another order, as in test_parity."""
HALVED = 2e-2
"""Tolerance for gradients that travelled in 16 bits."""
CASES: dict[str, tuple[dict[str, object], int, float]] = {
    "ddp_static": ({"name": "ddp", "static_graph": True, "bucket_cap_mb": 1}, 2, EXACT),
    "ddp_finds_unused": (
        {"name": "ddp", "find_unused_parameters": True, "broadcast_buffers": False},
        2,
        EXACT,
    ),
    "ddp_fp16": ({"name": "ddp", "gradient_compression": "fp16"}, 2, HALVED),
    "ddp_bf16": ({"name": "ddp", "gradient_compression": "bf16"}, 2, HALVED),
    "fsdp_hybrid": ({"name": "fsdp", "shard_size": 2}, 4, EXACT),
    "fsdp_one_group": ({"name": "fsdp", "shard_size": 2, "reshard": "grad_op"}, 2, EXACT),
    "fsdp_bf16_reduction": ({"name": "fsdp", "reduce_dtype": "bf16"}, 2, HALVED),
    "fsdp1": ({"name": "fsdp1"}, 2, EXACT),
    "fsdp1_flat": (
        {"name": "fsdp1", "use_orig_params": False, "sharding_strategy": "shard_grad_op"},
        2,
        EXACT,
    ),
    "fsdp1_hybrid": ({"name": "fsdp1", "shard_size": 2}, 4, EXACT),
}
"""Strategy, ranks, largest relative difference of a loss."""


def case(name: str, strategy: object, worlds: list[int]) -> dict[str, object]:
    return {"name": name, "strategy": strategy, "scaling": "strong", "global_batch": 16, "world": worlds}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    folder = tmp_path_factory.mktemp("options")
    powersgd = {
        "name": "ddp",
        "gradient_compression": "powersgd",
        "powersgd_rank": 2,
        "powersgd_start_step": 2,
    }
    suite = {
        "title": "Options",
        "workload": {"name": "mnist_cnn"},
        "data": {"source": "digits"},
        "device": "cpu",
        # clipping, accumulation and validation each use the strategy in a different way
        "train": {"learning_rate": 1e-3, "clip_norm": 1.0, "accumulate": 2},
        "measure": {
            "warmup": 3,
            "steps": STEPS - 3,
            "repeats": 1,
            "validate_every": 4,
            "timeout_s": 120,
        },
        "cases": [
            {**case("bare", "single", [1]), "scaling": "none"},
            *[case(name, strategy, [world]) for name, (strategy, world, _) in CASES.items()],
            case("powersgd", powersgd, [1, 2]),
            case("powersgd_buckets", {**powersgd, "bucket_cap_mb": 1}, [1, 2]),
        ],
    }
    path = folder / "options.yaml"
    path.write_text(json.dumps(suite))
    done = one_process.run(
        "suite", str(path), "--results", str(folder), "--session", "s", "--ranks-per-node", "4", "--no-load"
    )
    assert done.returncode == 0, done.stderr
    return folder / "s"


def losses(session: Path, name: str, world: int) -> np.ndarray:
    """[steps] float64: mean over ranks of each rank's mean."""
    table = pq.read_table(session / f"{name}.1x{world}.r0" / "steps.node0.parquet").to_pydict()
    by_step = np.zeros(STEPS)
    np.add.at(by_step, table["step"], np.array(table["loss"]) / world)
    return by_step


@pytest.mark.parametrize("name", CASES)
def test_an_option_trains_as_the_bare_model(session: Path, name: str) -> None:
    _, world, tolerance = CASES[name]
    np.testing.assert_allclose(losses(session, name, world), losses(session, "bare", 1), rtol=tolerance)


def test_what_travels_in_16_bits_is_rounded(session: Path) -> None:
    bare = losses(session, "bare", 1)
    for name in ("ddp_fp16", "ddp_bf16", "fsdp_bf16_reduction"):
        assert np.abs(losses(session, name, 2) / bare - 1).max() > 1e-6, name


@pytest.mark.parametrize("name", ["powersgd", "powersgd_buckets"])
def test_powersgd_throws_gradients_away_once_it_has_begun_and_as_much_at_every_world_size(
    session: Path, name: str
) -> None:
    bare, compressed = losses(session, "bare", 1), losses(session, name, 2)
    np.testing.assert_allclose(
        compressed[:3], bare[:3], rtol=EXACT
    )  # two steps are whole; the third loss is theirs
    assert np.abs(compressed / bare - 1).max() > 10 * EXACT
    load(session.parent)
    with connections.reader(session.parent) as connection:
        rows = connection.execute(
            "SELECT verdict, reason FROM loss_parity WHERE case_name = ?", [name]
        ).fetchall()
    assert rows == [("same", None)]
