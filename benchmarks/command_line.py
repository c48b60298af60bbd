"""Measure how long commands take as whole processes, compared with a Python that does nothing, or with one that opens
the database with DuckDB and runs one query.

All alternate, on one small session that is measured first, or on your own sessions. Prints medians over the rounds.

    python benchmarks/command_line.py [--rounds 15] [--results FOLDER]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

BENCH = str(Path(sys.executable).parent / "bench")
COUNT = "SELECT count(*) FROM runs"
ASK = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2]).fetchall())"


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A command that is timed."""

    shown: str
    command: list[str]
    reference: str
    """Name of the command that this one is compared with: the ratio's denominator."""
    afresh: bool = False
    """Delete the database first."""


def waits(results: Path, out: Path) -> list[Wait]:
    database, place = str(results / "results.duckdb"), ["--results", str(results)]
    python, plain = "python -c pass", "DuckDB alone"
    return [
        Wait(shown=python, command=[sys.executable, "-c", "pass"], reference=python),
        Wait(shown="bench --help", command=[BENCH, "--help"], reference=python),
        Wait(shown="bench list", command=[BENCH, "list"], reference=python),
        Wait(
            shown="bench load, of one session", command=[BENCH, "load", *place], reference=plain, afresh=True
        ),
        Wait(shown=plain, command=[sys.executable, "-c", ASK, database, COUNT], reference=plain),
        Wait(shown="bench load, nothing new", command=[BENCH, "load", *place], reference=plain),
        Wait(shown="bench sql", command=[BENCH, "sql", COUNT, *place], reference=plain),
        Wait(shown="bench summary", command=[BENCH, "summary", *place], reference=plain),
        Wait(shown="bench report", command=[BENCH, "report", *place, "--out", str(out)], reference=plain),
    ]


def timed(wait: Wait, results: Path) -> float:
    """Wall-clock seconds of the command."""
    if wait.afresh:
        (results / "results.duckdb").unlink(missing_ok=True)
    began = perf_counter()
    subprocess.run(wait.command, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--results", type=Path, help="a folder with sessions [default: one is measured]")
    asked = parser.parse_args()
    rounds = asked.rounds
    with tempfile.TemporaryDirectory() as folder:
        results = asked.results or Path(folder) / "results"
        if asked.results is None:
            measured = [BENCH, "suite", "smoke", "--quick", "--repeats", "1", "--results", str(results)]
            subprocess.run(measured, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        every = waits(results, Path(folder) / "public")
        taken = [[timed(wait, results) for wait in every] for _ in range(rounds + 1)]
    columns = zip(every, zip(*taken[1:], strict=True), strict=True)  # the first round warms the caches
    medians = {wait.shown: statistics.median(times) for wait, times in columns}
    print("| command | median | ratio |\n| --- | --- | --- |")
    for wait in every:
        ratio = medians[wait.shown] / medians[wait.reference]
        print(f"| {wait.shown} | {1000 * medians[wait.shown]:.0f} ms | {ratio:.1f} x {wait.reference} |")


if __name__ == "__main__":
    main()
