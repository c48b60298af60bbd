"""Strong scaling changes the time, never the mathematics: DDP and FSDP have the losses of one rank without them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from processes import OneProcess

from analysis.database import connections
from analysis.loading.load import load

WORKLOADS = {
    "spiral": {"workload": {"name": "spiral_mlp"}},
    "mnist": {"workload": {"name": "mnist_cnn"}, "data": {"source": "digits"}},
    "ddpm": {
        "workload": {
            "name": "ddpm_unet",
            "base_channels": 32,
            "channel_multipliers": [1, 2],
            "image_size": 16,
        }
    },
    "vit": {
        "workload": {
            "name": "vit_b_16",
            "image_size": 16,
            "patch_size": 4,
            "classes": 4,
            "layers": 2,
            "heads": 2,
            "hidden_dim": 32,
            "mlp_dim": 64,
            "validation_examples": 8,
        }
    },
    "text": {
        "workload": {
            "name": "text_classifier",
            "d_model": 32,
            "heads": 2,
            "layers": 2,
            "feed_forward": 64,
            "sequence_length": 16,
            "vocab_size": 500,
            "dropout": 0.1,
            "validation_examples": 64,
        }
    },
    "lm": {
        "workload": {
            "name": "transformer_lm",
            "d_model": 32,
            "layers": 2,
            "heads": 2,
            "sequence_length": 16,
            "dropout": 0.1,
        },
        "data": {"source": "text"},
    },
}
WORLDS = {**{workload: [2] for workload in WORKLOADS}, "spiral": [1, 2, 4]}
"""One rank with a strategy does what two do, without messages, and four share a batch as two do: one workload shows
it."""
STEPS = 8


def case(workload: str, strategy: str, accumulate: int = 1) -> dict[str, object]:
    worlds = [1] if strategy == "single" else WORLDS[workload]
    return {
        "name": f"{workload}_{strategy}_{accumulate}",
        "strategy": strategy,
        "scaling": "strong" if strategy != "single" else "none",
        **({"global_batch": 16} if strategy != "single" else {"batch_per_rank": 16}),
        "world": worlds,
        "train": {"accumulate": accumulate, "learning_rate": 1e-3},
        **WORKLOADS[workload],
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> Path:
    folder = tmp_path_factory.mktemp("parity")
    cases = [case(workload, strategy) for workload in WORKLOADS for strategy in ("single", "ddp", "fsdp")]
    cases += [case("mnist", strategy, accumulate=4) for strategy in ("ddp", "fsdp")]
    suite = {
        "title": "Parity",
        "why": "Strong scaling must not change the loss.",
        "workload": {"name": "spiral_mlp"},
        "device": "cpu",
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 120},
        "cases": cases,
    }
    path = folder / "parity.yaml"
    path.write_text(json.dumps(suite))
    done = one_process.run(
        "suite", str(path), "--results", str(folder), "--session", "s", "--ranks-per-node", "4", "--no-load"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("results: "), "--no-load leaves the database alone"
    assert not (folder / "results.duckdb").exists()
    return folder / "s"


def losses(session: Path, name: str, world: int) -> np.ndarray:
    """[steps] float64: mean over ranks of each rank's mean."""
    table = pq.read_table(session / f"{name}.1x{world}.r0" / "steps.node0.parquet").to_pydict()
    by_step = np.zeros(STEPS)
    np.add.at(by_step, table["step"], np.array(table["loss"]) / world)
    return by_step


@pytest.mark.parametrize(
    ("workload", "world"), [(workload, world) for workload in sorted(WORKLOADS) for world in WORLDS[workload]]
)
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_losses_do_not_depend_on_strategy_or_world_size(
    results: Path, workload: str, strategy: str, world: int
) -> None:
    single = losses(results, f"{workload}_single_1", 1)
    np.testing.assert_allclose(losses(results, f"{workload}_{strategy}_1", world), single, rtol=2e-4)
    assert np.ptp(single) > 1e-3  # the losses do change


@pytest.mark.parametrize("world", WORLDS["mnist"])
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_accumulated_micro_batches_equal_the_big_batch(results: Path, strategy: str, world: int) -> None:
    single = losses(results, "mnist_single_1", 1)
    np.testing.assert_allclose(losses(results, f"mnist_{strategy}_4", world), single, rtol=2e-4)


def test_the_view_loss_parity_says_the_same(results: Path) -> None:
    load(results.parent)
    with connections.reader(results.parent) as connection:
        rows = connection.execute(
            "SELECT verdict, couples_examples, min(steps_compared), count(*) FROM loss_parity GROUP BY ALL"
        ).fetchall()
    # DDP and FSDP of the workload with several sizes, each compared with one rank
    assert rows == [("same", False, STEPS, 2 * len(WORLDS["spiral"][1:]))]
