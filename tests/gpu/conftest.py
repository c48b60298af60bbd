"""Runs bench on the stand-in driver (tests/gpu/driver)."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analysis.database import schema
from tests.e2e.processes import BENCH
from tests.gpu.driver.build import build
from tests.unit.analysis.conftest import Ask, Rows, in_memory, read_into

__all__ = ["in_memory"]

READINGS = {
    "power": 300_500, "power_limit": 700_000, "energy": 123_456_789, "temperature": 55, "clock": 1_980,
    "clock_reasons": 0, "busy": 97, "memory_used": 0, "mig_mode": 0,
}  # fmt: skip
"""Readings of an idle GPU, in the units of NVML."""
TIMEOUT_S = 180


@dataclass
class Gpus:
    """A machine with stand-in GPUs, and the results folder of one test."""

    folder: Path
    driver: dict[str, str]
    database: duckdb.DuckDBPyConnection
    """A database in memory, without rows."""
    count: int = 2
    settings: dict[str, object] = field(default_factory=dict)
    """By name without STANDIN_, as in `kernel_ns`."""
    readings: dict[str, object] = field(default_factory=dict)
    """Lines of the file STANDIN_NVML that differ from READINGS."""
    variables: dict[str, str] = field(default_factory=dict)
    """Further environment variables."""
    launcher: tuple[str, ...] = ()
    """Words before bench."""

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def environment(self) -> dict[str, str]:
        lines = {f"gpu{gpu}.{name}": value for gpu in range(self.count) for name, value in READINGS.items()}
        lines = {"count": self.count} | lines | self.readings
        nvml = self.folder / "nvml"
        nvml.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        settings = {"devices": self.count, "nvml": nvml, "log": self.folder / "calls"} | self.settings
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        inherited.pop("CUDA_VISIBLE_DEVICES", None)
        return (
            inherited
            | self.driver
            | {f"STANDIN_{name.upper()}": str(value) for name, value in settings.items()}
            | self.variables
        )

    def bench(self, *words: str) -> subprocess.CompletedProcess[str]:
        """bench with these words; `--results` is added after the first."""
        line = [*self.launcher, *BENCH, words[0], "--results", str(self.results), *words[1:]]
        return subprocess.run(
            line, cwd=self.folder, env=self.environment(), text=True, capture_output=True, check=False,
            timeout=TIMEOUT_S,
        )  # fmt: skip

    def suite(self, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        """`bench suite` of a file with this text, as session `s`, without a load: most runs take less time."""
        (self.folder / "suite.yaml").write_text(text)
        return self.bench("suite", "suite.yaml", "--session", "s", "--no-load", *words)

    def ask(self, query: str) -> Rows:
        """Rows of a query about the results folder's files."""
        return self._rows(query)

    @functools.cached_property
    def _rows(self) -> Ask:
        return read_into(self.database, self.results, rules=schema.shipped_rules())

    def calls(self) -> list[dict[str, Any]]:
        """The first CUDA call of each process that made one."""
        log = self.folder / "calls"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def gpus(tmp_path: Path, driver: dict[str, str], in_memory: duckdb.DuckDBPyConnection) -> Iterator[Gpus]:
    in_memory.begin()
    yield Gpus(tmp_path, driver, in_memory)
    in_memory.rollback()
