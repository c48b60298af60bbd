from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from bench.command.rank import PROBE_FOLDER
from bench.measure import recorder
from tests.unit.probe.recorded import (
    BEGIN,
    IDENTITY,
    MEASURED_STEPS,
    PROFILED_STEPS,
    WARMUP_STEPS,
    Recorded,
    Run,
)


@pytest.fixture(scope="module")
def forker() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(PROBE_FOLDER), "OMP_NUM_THREADS": "1"}
    environment.pop("BENCH_PROBE", None)
    command = [sys.executable, str(Path(__file__).with_name("forker.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def run(forker: subprocess.Popen[str], tmp_path: Path) -> Run:
    """Runs a script under the probe."""

    def run_script(text: str, **job: Any) -> Recorded:
        script, log = tmp_path / "script.py", tmp_path / "log"
        script.write_text(BEGIN + dedent(text))
        probe = {
            "scratch": str(tmp_path), "rank": 0, "identity": IDENTITY, "warmup": WARMUP_STEPS, "steps": MEASURED_STEPS,
            "profiled": PROFILED_STEPS, "step_optimizer": None, "examples_per_step": None, **job,
        }  # fmt: skip
        assert forker.stdin is not None
        assert forker.stdout is not None
        forker.stdin.write(json.dumps({"script": str(script), "log": str(log), "probe": probe}) + "\n")
        forker.stdin.flush()
        code = int(forker.stdout.readline())
        outcome, rows = tmp_path / "outcome.rank0.json", tmp_path / "steps.rank0.raw"
        return Recorded(
            code=code,
            rows=recorder.read(rows) if rows.exists() and rows.stat().st_size else None,
            said=json.loads(outcome.read_text()) if outcome.exists() else {},
            log=log.read_text(),
            scratch=tmp_path,
        )

    return run_script
