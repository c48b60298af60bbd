"""Sessions of the workload of faulty.py: their suites, and how to start them and make them wait."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.measure import recorder
from tests.e2e.processes import Marked

FAULTY = Path(__file__).parent / "faulty.py"


def patience(fault: str, timeout_s: int = 4) -> dict[str, Any]:
    """A short timeout for a case whose run would never end. Other cases have time on a busy machine."""
    return {"measure": {"timeout_s": timeout_s}} if fault in ("freeze", "endless", "in_the_loader") else {}


def suite_file(folder: Path, cases: list[dict[str, Any]], **measure: object) -> Path:
    suite = {
        "title": "Faults",
        "why": "To see what becomes of a run that goes wrong.",
        "workload": {"name": f"{FAULTY}:Workload"},
        "measure": {"warmup": 1, "steps": 12, "repeats": 1, "timeout_s": 120} | measure,
        "device": "cpu",
        "cases": cases,
    }
    path = folder / "faults.yaml"
    path.write_text(json.dumps(suite))  # JSON is YAML
    return path


def ddp(name: str, world: int | str = 2, **workload: object) -> dict[str, Any]:
    case: dict[str, Any] = {
        "name": name,
        "strategy": "ddp",
        "scaling": "weak",
        "batch_per_rank": 4,
        "world": [world],
    }
    return case | {"workload": workload} if workload else case


def outcome(results: Path, session: str, run_id: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((results / session / run_id / "run.json").read_text())["outcome"]
    return loaded


def start_held(folder: Path, marked: Marked, *more: str) -> subprocess.Popen[str]:
    """A session `s` of two runs. The first waits at its sixth step until the file `hold` is gone; returns when it
    waits."""
    (folder / "hold").touch()
    cases = [ddp("slow", hold=str(folder / "hold")), ddp("later")]
    suite = suite_file(folder, cases, timeout_s=300)
    process = marked.start(
        "suite", str(suite), "--results", str(folder / "r"), "--session", "s", "--ranks-per-node", "2",
        "--order", "fixed", *more,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        raws = list(folder.glob("bench-*/slow.1x2.r0.0/steps.rank?.raw"))
        if len(raws) == 2 and all(_rows(raw) >= 5 for raw in raws):
            return process
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError("no step in 120 s")


def _rows(raw: Path) -> int:
    last = recorder.peek(raw)
    return 0 if last is None else last.rows
