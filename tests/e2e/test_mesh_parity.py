"""Tensor parallelism and its products with data parallelism train the same as one rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from processes import OneProcess

from analysis.database import connections
from analysis.loading.load import load

STEPS = 4
MESHES: dict[str, tuple[Any, list[int]]] = {
    "tp": ("tp", [1, 2]),
    "tp_sequence": ({"tp": {"sequence_parallel": True}}, [4]),
    "tp_fsdp": ({"mesh": {"tp": 2}}, [4]),
    "tp_ddp": ({"mesh": {"tp": 2, "dp_shard": 1, "dp_replicate": None}}, [4]),
    "tp_hybrid": ({"mesh": {"tp": 2, "dp_replicate": 2, "dp_shard": 2, "sequence_parallel": True}}, [8]),
}
"""Strategy and world sizes of each case."""


def case(name: str, strategy: Any, world: list[int], **keys: Any) -> dict[str, Any]:
    return {"name": name, "strategy": strategy, "scaling": "strong", "global_batch": 16, "world": world,
            "baseline": "single", **keys}  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    folder = tmp_path_factory.mktemp("meshes")
    single = {"name": "single", "strategy": "single", "scaling": "none", "batch_per_rank": 16, "world": [1]}
    tied = {"workload": {"tie_embeddings": True}}
    clipped = {"train": {"clip_norm": 0.5}}
    suite = {
        "title": "Meshes",
        "why": "No mesh may change the loss.",
        "workload": {"name": "transformer_lm", "d_model": 32, "layers": 4, "heads": 4, "sequence_length": 16,
                     "vocab_size": 256, "tie_embeddings": False, "validation_examples": 12},
        "data": {"source": "text"},
        # unlike that of AdamW, this update shows a gradient of the wrong size
        "train": {"accumulate": 4, "optimizer": "sgd", "learning_rate": 0.1},
        "device": "cpu",
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 300},
        "cases": [
            single,
            single | {"name": "single_tied"} | tied,
            *(case(name, strategy, world) for name, (strategy, world) in MESHES.items()),
            case("tp_tied", "tp", [2], **tied) | {"baseline": "single_tied"},
            single | {"name": "single_clipped"} | clipped,
            case("tp_clipped", "tp", [2], **clipped) | {"baseline": "single_clipped"},
            case("mesh_clipped", {"mesh": {"tp": 2}}, [4], **clipped) | {"baseline": "single_clipped"},
        ],
    }  # fmt: skip
    path = folder / "meshes.yaml"
    path.write_text(json.dumps(suite))
    done = one_process.run(
        "suite", str(path), "--results", str(folder), "--session", "s", "--ranks-per-node", "8", "--no-load"
    )
    assert done.returncode == 0, done.stderr
    return folder / "s"


def losses(session: Path, name: str, world: int) -> np.ndarray[Any, Any]:
    """[steps] float64: mean over the ranks."""
    table = pq.read_table(session / f"{name}.1x{world}.r0" / "steps.node0.parquet").to_pydict()
    by_step: list[list[float]] = [[] for _ in range(STEPS)]
    for step, loss in zip(table["step"], table["loss"], strict=True):
        by_step[step].append(loss)
    return np.array([np.mean(one) for one in by_step])


@pytest.mark.parametrize(
    ("name", "world"), [(name, world) for name, (_, worlds) in MESHES.items() for world in worlds]
)
def test_a_mesh_trains_the_same_as_one_rank(results: Path, name: str, world: int) -> None:
    single = losses(results, "single", 1)
    np.testing.assert_allclose(losses(results, name, world), single, rtol=2e-6)
    assert np.ptp(single) > 1e-2  # the losses do change


@pytest.mark.parametrize(("name", "world"), [("tp_clipped", 2), ("mesh_clipped", 4)])
def test_the_norm_that_is_clipped_is_that_of_the_whole_gradient(results: Path, name: str, world: int) -> None:
    clipped = losses(results, "single_clipped", 1)
    np.testing.assert_allclose(losses(results, name, world), clipped, rtol=2e-6)
    assert abs(clipped - losses(results, "single", 1)).max() > 1e-2, "it was clipped"


def test_a_weight_that_two_layers_share_stays_one_under_tp(results: Path) -> None:
    np.testing.assert_allclose(losses(results, "tp_tied", 2), losses(results, "single_tied", 1), rtol=2e-6)
    shared, own = (json.loads((results / f"{name}.1x1.r0" / "run.json").read_text())["outcome"]["parameters"]
                   for name in ("single_tied", "single"))  # fmt: skip
    assert own - shared == 256 * 32, "the embedding counts once"


def test_the_database_has_the_same_losses_validations_and_verdicts(results: Path) -> None:
    load(results.parent)
    with connections.reader(results.parent) as connection:
        rows = connection.execute(
            "SELECT case_name, world_size, final_loss, nonfinite_losses, val_loss "
            "FROM run_summary JOIN evals USING (session_id, run_id, attempt) "
            "WHERE NOT regexp_matches(case_name, 'tied|clipped')"
        ).fetchall()
        verdicts = connection.execute("SELECT DISTINCT verdict FROM loss_parity").fetchall()
    reference = next(row for row in rows if row[0] == "single")
    for row in rows:
        np.testing.assert_allclose(row[2:], reference[2:], rtol=2e-6)
    assert len(rows) == 1 + sum(len(worlds) for _, worlds in MESHES.values())
    assert verdicts == [("same",)]
