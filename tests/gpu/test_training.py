"""Training on stand-in GPUs: the faults of a device and of its driver."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Gpus

HEAD = """
title: Stand-in GPUs
workload: {name: transformer_lm, layers: 2, d_model: 64, heads: 2, sequence_length: 32, vocab_size: 128,
           validation_examples: 0}
device: cuda
train: {precision: bf16, learning_rate: 1e-3}
measure: {warmup: 2, steps: 10, repeats: 1, timeout_s: 120}
cases:
"""
FULL_MIB = 26
"""Memory of a GPU that the workload of HEAD fills by more than nine tenths."""
ONE = "  - {name: one, strategy: single, scaling: none, batch_per_rank: 4, world: [1]}\n"


def test_a_full_memory_is_out_of_memory(gpus: Gpus) -> None:
    gpus.settings["memory_bytes"] = 64 << 20
    done = gpus.suite(HEAD + ONE.replace("batch_per_rank: 4", "batch_per_rank: 4096"))
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, error FROM runs")
    assert run["status"] == "oom", run["error"]
    assert "out of memory" in run["error"]


@pytest.mark.parametrize(
    ("memory_mib", "status"), [(FULL_MIB, "oom"), (4096, "failed")], ids=["full", "free"]
)
def test_cublas_without_memory_is_out_of_memory_only_on_a_full_gpu(
    gpus: Gpus, memory_mib: int, status: str
) -> None:
    gpus.settings |= {"memory_bytes": memory_mib << 20, "cublas_full_at": 100}
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, error FROM runs")
    assert (run["status"], "CUBLAS_STATUS_ALLOC_FAILED" in run["error"]) == (status, True), run["error"]


def test_a_kernel_that_never_ends_is_a_timeout(gpus: Gpus) -> None:
    gpus.settings["hang_at"] = 600
    done = gpus.suite(HEAD.replace("timeout_s: 120", "timeout_s: 15") + ONE)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, steps_completed FROM runs")
    assert run["status"] == "timeout"
    assert run["steps_completed"] < 12


def test_an_illegal_access_is_a_failure_with_its_words(gpus: Gpus) -> None:
    gpus.settings["fault_at"] = 600
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = gpus.ask("SELECT status, error, failed_rank FROM runs")
    assert (run["status"], run["failed_rank"]) == ("failed", 0)
    assert "illegal memory access" in run["error"]


def test_a_machine_without_a_driver_runs_nothing_on_gpus(gpus: Gpus) -> None:
    """Neither libcuda nor NVML can be loaded."""
    gpus.settings["init_error"] = 100
    gpus.readings["init"] = "!12"
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "needs a GPU, this machine has none" in done.stderr


def test_the_doctor_says_that_the_fabric_manager_is_down(gpus: Gpus) -> None:
    gpus.settings["init_error"] = 802
    done = gpus.bench("doctor")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "nvidia-fabricmanager" in done.stdout


@pytest.mark.parametrize(("error", "words"), [(35, "driver"), (802, "not yet initialized")])
def test_gpus_that_cannot_start_are_refused_before_any_run(gpus: Gpus, error: int, words: str) -> None:
    gpus.settings["init_error"] = error
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert words in done.stderr
