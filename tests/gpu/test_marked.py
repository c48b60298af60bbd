"""Tests marked `gpu` that need no arithmetic also pass on stand-in GPUs; the others need kernels, and a real GPU."""

from __future__ import annotations

import subprocess
import sys

from tests.gpu.conftest import Gpus

MARKED = (
    "tests/e2e/gpu/test_measured_steps.py::test_the_host_waits_for_nothing_in_a_measured_step",
    "tests/e2e/gpu/test_gpu_session.py::test_ranks_are_forked_from_a_process_that_never_touched_the_gpu",
)
CHOSEN = "transformer_lm or forked"  # convolutions need cuDNN


def test_tests_for_real_gpus_pass_here_if_they_need_no_kernels(gpus: Gpus) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *MARKED,
        "-k",
        CHOSEN,
    ]
    done = subprocess.run(command, env=gpus.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    assert "skipped" not in done.stdout
