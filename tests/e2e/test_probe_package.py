"""The package bench-probe, which a script that calls it needs where it runs alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = """
import sys
import bench_probe
with bench_probe.phase("data"):
    pass
bench_probe.step(loss=1.0, examples=3)
try:
    bench_probe.phase("date")
except ValueError as error:
    print(error)
print(bench_probe.__file__, sorted(name for name in sys.modules if name.startswith("torch")))
"""


def test_without_bench_run_its_calls_do_nothing(tmp_path: Path) -> None:
    build = f'set -euo pipefail; . ci/uv.sh; find_uv; "$uv" build --quiet --wheel --out-dir {tmp_path} bench/probe'
    subprocess.run(["bash", "-c", build], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("bench_probe-*.whl")
    done = subprocess.run(
        [sys.executable, "-c", ALONE], env={"PYTHONPATH": str(wheel)}, cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "phase 'date': there are data, forward, backward, optimizer",
        f"{wheel}/bench_probe/__init__.py []",
    ]
