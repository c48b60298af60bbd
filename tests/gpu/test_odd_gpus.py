"""A GPU that is lost, or whose readings fail, ends no session."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import READINGS, Gpus
from tests.gpu.test_training import HEAD, ONE

LOST, MISMATCH = 15, 18
ON_CPU = HEAD.replace("device: cuda", "device: cpu").replace("precision: bf16", "precision: fp32")


@pytest.mark.parametrize("text", [HEAD, ON_CPU], ids=["cuda", "cpu"])
def test_a_gpu_that_does_not_answer_ends_no_session(gpus: Gpus, text: str) -> None:
    """GPU 1 is lost, and GPU 2 is silent."""
    gpus.count = 3
    silent = {f"gpu2.{reading}": f"!{LOST}" for reading in ("name", "uuid", *READINGS)}
    gpus.readings |= {"gpu1.handle": f"!{LOST}"} | silent
    done = gpus.suite(text + ONE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert gpus.ask("SELECT status FROM runs") == [{"status": "ok"}]


def test_the_doctor_names_the_gpu_that_is_lost(gpus: Gpus) -> None:
    gpus.readings["gpu1.handle"] = f"!{LOST}"
    done = gpus.bench("doctor")
    assert "GPU 1 does not answer as it should" in done.stdout
    assert "1 x NVIDIA A100-SXM4-80GB, 80 GiB" in done.stdout


def test_a_driver_that_does_not_fit_its_library_is_said(gpus: Gpus) -> None:
    gpus.readings["init"] = f"!{MISMATCH}"
    done = gpus.suite(HEAD.replace("device: cuda\n", "") + ONE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "error: NVML does not start (" in done.stderr
    assert "after an update of the driver the machine must restart" in done.stderr
    assert "--device cpu measures without" in done.stderr


def test_a_slice_and_its_gpu_are_not_named_together(gpus: Gpus) -> None:
    gpus.readings |= {"gpu0.mig_mode": 1, "gpu0.mig0.exists": 1}
    gpus.variables["CUDA_VISIBLE_DEVICES"] = "0,MIG-00000000-0000-0000-0000-000000000000"
    done = gpus.suite(HEAD + ONE)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "names a slice twice: name each once" in done.stderr
