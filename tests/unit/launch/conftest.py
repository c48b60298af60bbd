"""A process that no launcher has started."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SLURM_", "CUDA_VISIBLE", "BENCH_"))]:
        monkeypatch.delenv(name)
