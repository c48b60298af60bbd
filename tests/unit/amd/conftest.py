"""A machine with a torch for ROCm and with GPUs of AMD, as the stand-in of amdsmi describes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench.machine import amd_gpus, gpu_vendor

STANDIN = Path(__file__).parent / "standin"
VERSION_FILE = """\
from typing import Optional

__version__ = '2.15.0+rocm7.2'
debug = False
cuda: Optional[str] = None
hip: Optional[str] = '7.2.26015-fc0010cf6a'
rocm: Optional[str] = '7.2'
"""
"""torch/version.py of a wheel for ROCm."""


def mi250x(hip_id: int, **values: object) -> dict[str, Any]:
    """One of the two devices of an MI250X."""
    return {
        "hip_id": hip_id, "bdf": f"0000:C{hip_id}:00.0",
        "name": "AMD Instinct MI250X", "serial": f"0x00000000ABCD000{hip_id}", "total_mib": 65_520,
        "used_mib": 120, "power_cap_uw": 560_000_000, "busy": 97, "current_w": "N/A", "average_w": 431,
        "energy_count": 2_000_000, "temperature_c": 61, "clock_mhz": 1700, **values,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def _rocm_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    gpu_vendor.is_amd.cache_clear()
    file = tmp_path / "version.py"
    file.write_text(VERSION_FILE)
    monkeypatch.setattr(gpu_vendor, "_version_file", lambda: file)
    monkeypatch.setattr(amd_gpus, "KERNEL_NODES", tmp_path / "nodes")
    monkeypatch.setattr(amd_gpus, "PCI_DEVICES", tmp_path / "pci")
    monkeypatch.setattr(amd_gpus, "KERNEL_DRIVER", tmp_path / "amdgpu" / "version")
    for name in list(os.environ):
        if name.startswith("SLURM_") or name.endswith("_VISIBLE_DEVICES"):
            monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    yield
    gpu_vendor.is_amd.cache_clear()


@pytest.fixture
def amdsmi(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in, with two devices that amdsmi and HIP number differently."""
    monkeypatch.syspath_prepend(str(STANDIN))
    import amdsmi

    monkeypatch.setattr(amdsmi, "gpus", [mi250x(1), mi250x(0)])
    return amdsmi  # type: ignore[no-any-return]
