"""Suites, a command and a prediction on an older torch: the same losses and the same tables as with the locked one."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import duckdb
import pytest

from tests.versions.conftest import ROOT, Environment

TORCH = ("torch==2.11.0", "torchvision==0.26.0")
SCRIPT = """
import os
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("gloo")
torch.manual_seed(1)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 16)), torch.randint(0, 4, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COMMANDS = {
    "smoke": (
        "suite smoke --quick --repeats 1 --case ddp_weak --case fsdp_strong --world 2 --device cpu --ranks-per-node 2 "
        "--set measure.profiled=2"
    ),
    "tp": "suite mesh_sweep --quick --repeats 1 --device cpu --ranks-per-node 2 --case tp --set measure.profiled=2",
    "script": "run --repeats 1 --warmup 2 --steps 6 --world 2 --ranks-per-node 2 --set measure.profiled=2",
}
"""By session: ddp and fsdp with profiled steps, tensor parallelism, a user's script."""


def _bench(python: Path | str, *words: str | Path) -> str:
    # the checkout comes from the environment, not from the folder that it starts in
    variables = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        [python, "-m", "bench", *words], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _measured(python: Path | str, folder: Path) -> Path:
    (folder / "train.py").write_text(SCRIPT)
    for session, words in COMMANDS.items():
        command = ["--", str(python), str(folder / "train.py")] if session == "script" else []
        _bench(python, *words.split(), "--results", folder / "results", "--session", session, *command)
    return folder / "results/results.duckdb"


@pytest.fixture(scope="module")
def older(environment: Environment) -> Path:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["analysis"]]
    others = [each for each in needed if not each.startswith("torch")]
    return environment(*TORCH, *others)


@pytest.fixture(scope="module")
def databases(older: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same sessions on the older torch and on the locked one."""
    return (
        _measured(older, tmp_path_factory.mktemp("older")),
        _measured(sys.executable, tmp_path_factory.mktemp("locked")),
    )


def _rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_every_run_is_ok_on_the_older_torch(databases: tuple[Path, Path]) -> None:
    older, locked = (
        _rows(each, "SELECT session_id, run_id, status, error FROM runs ORDER BY ALL") for each in databases
    )
    assert older == locked
    assert {status for _, _, status, _ in older} == {"ok"}
    versions = _rows(databases[0], "SELECT DISTINCT left(value, 5) FROM environment WHERE key = 'torch'")
    assert versions == [("2.11.",)]


def test_the_losses_are_equal_to_rounding(databases: tuple[Path, Path]) -> None:
    query = (
        "SELECT session_id, run_id, rank, step, kind, loss FROM steps WHERE kind <> 'no_sync' ORDER BY ALL"
    )
    older, locked = (_rows(each, query) for each in databases)
    assert len(older) == len(locked) > 100
    assert [row[:5] for row in older] == [row[:5] for row in locked]
    assert [row[5] for row in older] == pytest.approx([row[5] for row in locked], rel=1e-3)


def test_profiled_steps_have_the_same_collectives_and_bytes(databases: tuple[Path, Path]) -> None:
    query = (
        "SELECT DISTINCT session_id, run_id, rank, op, calls, message_bytes FROM profile_collectives "
        "WHERE op <> 'control' ORDER BY ALL"
    )
    older, locked = (_rows(each, query) for each in databases)
    assert older == locked
    assert {"smoke", "tp", "script"} == {row[0] for row in older}


def test_the_same_tables_have_rows(databases: tuple[Path, Path]) -> None:
    def filled(database: Path) -> set[str]:
        tables = [str(name) for (name,) in _rows(database, "SELECT table_name FROM duckdb_tables()")]
        # how busy the machine was decides which findings there are, and which laws can be fitted
        steady = [name for name in tables if "finding" not in name and "law" not in name]
        return {name for name in steady if _rows(database, f"FROM {name} LIMIT 1")}

    older, locked = (filled(each) for each in databases)
    assert older == locked
    assert {"steps", "profile", "profile_collectives", "profile_groups", "selfcheck", "evals"} <= older


def test_a_prediction_names_the_same_messages(older: Path) -> None:
    words = "smoke --quick --case *_strong --world 4 --messages --bus-gbps 10 --device cpu"
    of_older, of_locked = (
        [line.split() for line in _bench(python, "predict", *words.split()).splitlines() if " world " in line]
        for python in (older, sys.executable)
    )
    assert of_older == of_locked
    assert {line[2] for line in of_older} == {"all_reduce", "all_gather", "reduce_scatter"}
