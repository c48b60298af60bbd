"""Print a Markdown table of every shipped suite: its time with --quick on this machine, and the status of its runs.

python benchmarks/suites.py [SUITE]...
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic

BENCH = str(Path(sys.executable).parent / "bench")
SUITES = Path(__file__).parents[1] / "suites"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="[default: all]")
    chosen = parser.parse_args().suites or sorted(path.stem for path in SUITES.glob("*.yaml"))
    print("| suite | command | wall time | status |", "| --- | --- | --- | --- |", sep="\n")
    total_s = 0.0
    with tempfile.TemporaryDirectory() as results:
        for suite in chosen:
            total_s += _row(suite, Path(results))
    print(f"| all | | {total_s:.0f} s | |")


def _row(suite: str, results: Path) -> float:
    command = ["suite", suite, "--quick"]
    began = monotonic()
    done = subprocess.run(
        [BENCH, *command, "--results", str(results), "--session", suite],
        capture_output=True,
        text=True,
        check=False,
    )
    taken_s = monotonic() - began
    runs = [
        json.loads(path.read_text())["outcome"]["status"] for path in (results / suite).glob("*/run.json")
    ]
    counted = ", ".join(f"{count} {status}" for status, count in sorted(Counter(runs).items()))
    status = counted if done.returncode == 0 else f"{counted}; exit code {done.returncode}"
    print(f"| `{suite}` | `bench {' '.join(command)}` | {taken_s:.0f} s | {status} |", flush=True)
    return taken_s


if __name__ == "__main__":
    main()
