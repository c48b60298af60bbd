"""A container that was started without the machine's GPUs is reported at once, with the right way to start it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import cli
from bench.common.errors import InputError
from bench.machine import hidden_gpus
from bench.machine.hidden_gpus import gpus_left_out


@pytest.fixture(autouse=True)
def _apptainer_on_a_machine_with_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    driver = tmp_path / "version"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06\n")
    monkeypatch.setattr(hidden_gpus, "KERNEL_DRIVER", driver)
    monkeypatch.setenv("APPTAINER_CONTAINER", "/images/bench.sif")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_it_is_told_with_the_remedy_of_its_kind() -> None:
    assert gpus_left_out(0) == (
        "this machine has NVIDIA devices, but this apptainer container sees no CUDA driver: start it with --nv"
    )


def test_it_is_not_told_where_gpus_are_seen_or_hidden_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpus_left_out(2) is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpus_left_out(0) is None


def test_it_is_not_told_on_a_machine_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_gpus, "KERNEL_DRIVER", Path("/nowhere"))
    assert gpus_left_out(0) is None


def test_a_suite_that_would_use_them_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    call = ["suite", "ddpm_scaling", "--quick", "--results", str(tmp_path / "r")]
    done = CliRunner().invoke(cli.group, call)
    assert isinstance(done.exception, InputError)
    assert str(done.exception).endswith("start it with --nv; --device cpu measures without")
    assert not (tmp_path / "r").exists()
