"""A loader of the user instead of the workload's batches: sharding, counts, and errors that become a run's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from processes import OneProcess

NET = """
import torch
from torch import nn
class Net:
    def model(self):
        return nn.Linear(4, 1)
    def loss(self, model, batch):
        return (model(batch["points"]) - batch["points"].sum(1, keepdim=True)).square().mean()
class Counted(Net):
    def examples_in(self, batch):
        return len(batch["points"])
    def tokens_in(self, batch):
        return 10 * len(batch["points"])
"""
LOADERS = """
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

class Points(IterableDataset):
    def __init__(self, begin=0, step=1, count=96):
        self.begin, self.step, self.count = begin, step, count
    def __iter__(self):
        for number in range(self.begin, self.count, self.step):
            generator = torch.Generator().manual_seed(number)
            yield {"points": torch.randn(4, generator=generator)}

def in_turn(shard):
    return shard.round_robin(DataLoader(Points(), shard.batch_size, num_workers=shard.workers))

def sharded(shard, skip=0):
    return DataLoader(Points(shard.index + skip, shard.count), shard.batch_size, drop_last=True)

def alike(shard):
    return DataLoader(Points(), shard.batch_size)

def sizes(shard):
    batches = [torch.ones(1 + (number + shard.index) % 3, 4) for number in range(6)]
    return [{"points": points} for points in batches]

def fails_later(shard):
    for number, batch in enumerate(in_turn(shard).batches):
        if number == 3 and shard.count == 2:
            raise OSError("the shards are gone")
        yield batch
"""
SUITE = """
title: Mine
workload: {name: ./net.py:Net}
device: cpu
train: {learning_rate: 0.01, optimizer: sgd}
measure: {warmup: 1, steps: 9, repeats: 1, timeout_s: 60}
cases:
  - {name: in_turn, strategy: ddp, scaling: strong, global_batch: 12, world: [1, 2], data: ./loaders.py:in_turn}
  - name: workers
    strategy: ddp
    scaling: strong
    global_batch: 12
    world: 2
    train: {accumulate: 3}
    data: {source: ./loaders.py:in_turn, workers: 1}
  - name: sharded
    strategy: ddp
    scaling: strong
    global_batch: 12
    world: [1, 2]
    data: {source: ./loaders.py:sharded, source_options: {skip: 1}}
  - {name: alike, strategy: ddp, scaling: strong, global_batch: 12, world: 2, data: ./loaders.py:alike}
  - name: counted
    workload: {name: ./net.py:Counted}
    strategy: ddp
    scaling: weak
    batch_per_rank: 8
    world: 2
    data: ./loaders.py:sizes
  - {name: fails, strategy: ddp, scaling: strong, global_batch: 12, world: 2, data: ./loaders.py:fails_later}
  - {name: shipped, strategy: single, scaling: none, batch_per_rank: 4, world: 1, workload: {name: spiral_mlp},
     data: ./loaders.py:spiral}
"""
SPIRAL = """
def spiral(shard):
    return [{"points": torch.zeros(shard.batch_size, 2), "arms": torch.zeros(shard.batch_size, dtype=torch.int64)}]
"""


def written(folder: Path, loaders: str = LOADERS + SPIRAL) -> str:
    for name, text in (("net.py", NET), ("loaders.py", loaders), ("mine.yaml", SUITE)):
        (folder / name).write_text(text)
    return str(folder / "mine.yaml")


@pytest.fixture(scope="module")
def session(
    tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess
) -> tuple[OneProcess, Path, str]:
    """The process that ran the session, its results and stderr."""
    folder = tmp_path_factory.mktemp("loader")
    results = folder / "r"
    done = one_process.run("suite", written(folder), "--results", str(results), "--ranks-per-node", "2")
    assert done.returncode == 1, done.stderr
    return one_process, results, done.stderr


def rows(session: tuple[OneProcess, Path, str], query: str) -> list[dict[str, Any]]:
    one_process, results, _ = session
    found: list[dict[str, Any]] = json.loads(
        one_process.run("sql", query, "--results", str(results), "--format", "json").stdout
    )
    return found


def losses(session: tuple[OneProcess, Path, str], case: str, ranks: int) -> list[float]:
    return [
        row["loss"]
        for row in rows(
            session,
            "SELECT step, avg(loss) AS loss FROM steps JOIN runs USING (session_id, run_id, attempt) "
            f"WHERE case_name = '{case}' AND world_size = {ranks} GROUP BY step ORDER BY step",
        )
    ]


def test_batches_in_turn_train_the_same_at_every_size_also_in_a_loader_process_and_accumulated(
    session: tuple[OneProcess, Path, str],
) -> None:
    one = losses(session, "in_turn", 1)
    assert len(one) == 10  # 96 points are 8 steps: the stream began again
    assert losses(session, "in_turn", 2) == pytest.approx(one, rel=1e-4)
    assert losses(session, "workers", 2) == pytest.approx(one, rel=1e-4)
    assert rows(session, "SELECT verdict FROM loss_parity WHERE case_name = 'in_turn'") == [
        {"verdict": "same"}
    ]


def test_losses_that_differ_under_a_loader_have_no_verdict(
    session: tuple[OneProcess, Path, str],
) -> None:
    (parity,) = rows(session, "SELECT verdict, reason FROM loss_parity WHERE case_name = 'sharded'")
    assert parity["verdict"] is None
    assert parity["reason"].startswith("the loader may give other examples")
    found = rows(
        session, "SELECT DISTINCT case_name, sharding, dataset_size, data_source FROM runs ORDER BY ALL"
    )
    assert [(row["case_name"], row["sharding"], row["data_source"]) for row in found] == [
        ("alike", "loader", "loaders.py:alike"),
        ("counted", "loader", "loaders.py:sizes"),
        ("fails", None, "loaders.py:fails_later"),
        ("in_turn", "round_robin", "loaders.py:in_turn"),
        ("sharded", "loader", "loaders.py:sharded"),
        ("shipped", "loader", "loaders.py:spiral"),
        ("workers", "round_robin", "loaders.py:in_turn"),
    ]
    assert {row["dataset_size"] for row in found} == {None}


def test_ranks_that_all_load_the_same_part_are_a_finding(session: tuple[OneProcess, Path, str]) -> None:
    found = rows(session, "SELECT case_name, advice FROM diagnosis WHERE finding = 'same_batches'")
    assert [row["case_name"] for row in found] == ["alike"]
    assert "shard.index" in found[0]["advice"]


def test_throughput_counts_what_the_workload_counts(session: tuple[OneProcess, Path, str]) -> None:
    (run,) = rows(
        session,
        "SELECT examples_per_step, tokens_per_example, flops_per_step, throughput * span_s AS examples, "
        "tokens_per_s / throughput AS ratio FROM run_summary JOIN runs "
        "USING (session_id, run_id, attempt, examples_per_step) WHERE runs.case_name = 'counted'",
    )
    # rank 0 has 1 2 3 1 2 3 ..., rank 1 has 2 3 1 2 3 1 ...; the first step of 10 is warm-up
    expected = sum(1 + step % 3 + 1 + (step + 1) % 3 for step in range(1, 10))
    assert run["examples_per_step"] == pytest.approx(expected / 9)
    assert run["examples"] == pytest.approx(expected)
    assert (run["tokens_per_example"], run["ratio"]) == (10, pytest.approx(10))
    assert run["flops_per_step"] is None


def test_an_error_of_the_loader_is_the_runs_with_its_line(session: tuple[OneProcess, Path, str]) -> None:
    (run,) = rows(session, "SELECT status, error, steps_completed FROM runs WHERE case_name = 'fails'")
    assert (run["status"], run["steps_completed"]) == ("failed", 3)
    line = next(number for number, text in enumerate(LOADERS.splitlines(), 1) if "are gone" in text)
    assert run["error"] == f"OSError: the shards are gone (in loaders.py, line {line})"


def test_its_file_is_in_the_fingerprint(session: tuple[OneProcess, Path, str]) -> None:
    for row in rows(session, "SELECT fingerprint FROM runs"):
        fingerprint = row["fingerprint"]
        assert "content of loaders.py" in (
            json.loads(fingerprint) if isinstance(fingerprint, str) else fingerprint
        )


def test_a_loader_that_cannot_work_ends_the_call_with_2_before_anything_is_written(
    tmp_path: Path, one_process: OneProcess
) -> None:
    suite = written(
        tmp_path, LOADERS.replace('yield {"points": ', "yield (").replace("generator)}", "generator),)")
    )
    done = one_process.run("suite", suite, "--results", str(tmp_path / "r"), "--case", "in_turn")
    assert done.returncode == 2
    assert "case in_turn: batch 0 of loaders.py:in_turn() is a list: give a dict of tensors" in done.stderr
    assert not (tmp_path / "r").exists()


ENDING = """
import os
import torch
from torch.utils.data import DataLoader, IterableDataset

class Ending(IterableDataset):
    def __init__(self, shard, code):
        self.shard, self.code = shard, code
    def __iter__(self):
        for number in range(1000):
            if number == 40 and self.shard.count == 2 and self.shard.index == 1:
                os._exit(self.code)
            yield {"points": torch.ones(4)}

def ending(shard, code):
    return DataLoader(Ending(shard, code), shard.batch_size, num_workers=1)
"""


def test_a_loader_process_that_ends_is_the_runs_error_not_what_the_other_rank_says(
    tmp_path: Path, one_process: OneProcess
) -> None:
    (tmp_path / "ending.py").write_text(ENDING)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "mine.yaml").write_text(
        "title: Mine\nworkload: {name: ./net.py:Net}\ndevice: cpu\n"
        "measure: {warmup: 1, steps: 100, repeats: 1, timeout_s: 120}\n"
        "cases:\n"
        + "".join(
            f"  - {{name: ends{code}, strategy: ddp, scaling: strong, global_batch: 12, world: 2,"
            f" data: {{source: ./ending.py:ending, source_options: {{code: {code}}}}}}}\n"
            for code in (0, 3)
        )
    )
    done = one_process.run(
        "suite", str(tmp_path / "mine.yaml"), "--results", str(tmp_path / "r"), "--ranks-per-node", "2",
        "--no-load",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    for code in (0, 3):
        (path,) = tmp_path.glob(f"r/*/ends{code}.1x2.r0/run.json")
        run = json.loads(path.read_text())["outcome"]
        assert (run["status"], run["failed_rank"]) == ("failed", 1)
        assert f"a loader process ended with exit code {code} before" in run["error"], run["error"]
