"""Measure the cost of a session as it grows. Separate processes make its files, and load, query and render it.

python -m benchmarks.size FOLDER [--shape rows|ranks|runs]... [--most 1e8]

Makes sessions of 10^5 ... 10^8 step rows, of up to 4,096 ranks and of up to 10,000 runs, and prints a Markdown line for
each: wall-clock and processor time of `bench load` and its largest resident set, then the times of `bench summary`, of
all views one after the other, and of `bench report`. 10^8 rows take 2.7 GB as files and as much as a database; each
session is removed before the next is made.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from analysis.database import connections, schema
from tests.factory import Case, make_session

SESSION = "20261121T014925Z-size-0001"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A session: every case at 1, 2, 4 ... `ranks` ranks."""

    cases: int
    ranks: int
    steps: int
    repeats: int = 3

    def rows(self) -> int:
        return self.cases * self.repeats * (2 * self.ranks - 1) * self.steps

    def runs(self) -> int:
        return self.cases * self.repeats * self.ranks.bit_length()


SHAPES = {
    "rows": [
        Shape(cases=1, ranks=128, steps=131),
        Shape(cases=5, ranks=128, steps=262),
        Shape(cases=10, ranks=128, steps=1308),
        Shape(cases=50, ranks=128, steps=2615),
    ],
    "ranks": [Shape(cases=1, ranks=ranks, steps=10_000_000 // (6 * ranks)) for ranks in (64, 512, 4096)],
    "runs": [Shape(cases=cases, ranks=8, steps=100) for cases in (9, 84, 834)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="empty folder in which sessions are made and removed")
    parser.add_argument("--shape", choices=sorted(SHAPES), action="append")
    parser.add_argument("--most", type=float, default=1e8, help="step rows of the largest session")
    asked = parser.parse_args()
    print(
        "| step rows | runs | most ranks | files | load | rows/s | load's processors | largest resident set | database "
        "| summary | all views | slowest view | report | page |"
    )
    print("|" + " --- |" * 14)
    for shape in [shape for name in asked.shape or SHAPES for shape in SHAPES[name]]:
        if shape.rows() <= 1.02 * asked.most:
            results = asked.folder / "results"
            _make(shape, results)
            print(_line(shape, results), flush=True)
            shutil.rmtree(results)


def _make(shape: Shape, results: Path) -> None:
    sizes = {2**power: 100 / 1.9**power for power in range(shape.ranks.bit_length())}
    cases = [
        Case(
            name=f"case_{number:04d}",
            step_ms=sizes,
            repeats=shape.repeats,
            warmup=1,
            steps=shape.steps - 1,
            jitter=0.02,
            batch=shape.ranks,
        )
        for number in range(shape.cases)
    ]
    make_session(results, cases, session_id=SESSION, suite="size")


def _line(shape: Shape, results: Path) -> str:
    files = sum(path.stat().st_size for path in results.rglob("*") if path.is_file())
    load = _timed("load", str(results))
    summary = _timed("summary", SESSION, "--results", str(results))
    views = _views(results)
    slowest = max(views, key=lambda name: views[name])
    page = results.parent / "public"
    report = _timed("report", SESSION, "--results", str(results), "--out", str(page))
    shown = (
        f"{shape.rows():,}", f"{shape.runs():,}", f"{shape.ranks:,}", _mb(files), f"{load.wall_s:.1f} s",
        f"{shape.rows() / load.wall_s / 1e6:.2f} M", f"{load.processor_s:.1f} s", f"{load.resident_mb:,.0f} MB",
        _mb(connections.database_path(results).stat().st_size), f"{summary.wall_s:.1f} s",
        f"{sum(views.values()):.1f} s",
        f"`{slowest}` {views[slowest]:.2f} s", f"{report.wall_s:.1f} s",
        _mb(max(path.stat().st_size for path in page.glob("*.html"))),
    )  # fmt: skip
    shutil.rmtree(page)
    return f"| {' | '.join(shown)} |"


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of a process."""

    wall_s: float
    processor_s: float
    resident_mb: float


def _timed(*words: str) -> Cost:
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "bench", *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench {' '.join(words)} ended with {process.returncode}")
    processor_s = used.ru_utime + used.ru_stime
    return Cost(wall_s=wall_s, processor_s=processor_s, resident_mb=used.ru_maxrss * 1024 / 1e6)


def _views(results: Path) -> dict[str, float]:
    """Seconds to read all rows of each view of the session, without the views that have a row per step."""
    found = {}
    with connections.reader(results) as connection:
        for name in [*schema.derived(), *schema.views()]:
            if name not in ("step_stats", "training_steps"):
                began = time.perf_counter()
                connection.sql(f"FROM {name}").to_arrow_table()
                found[name] = time.perf_counter() - began
    return found


if __name__ == "__main__":
    main()
