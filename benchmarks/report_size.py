"""Measure the size of a session's report, and how long `bench report` takes as a whole process.

python benchmarks/report_size.py RESULTS        (benchmarks/synthetic_session.py makes large ones)
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter_ns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="a results folder that was loaded")
    results = parser.parse_args().results
    with tempfile.TemporaryDirectory() as out:
        begin = perf_counter_ns()
        subprocess.run(
            [sys.executable, "-m", "bench", "report", "--results", results, "--out", out],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        seconds = (perf_counter_ns() - begin) / 1e9
        for page in sorted(Path(out).glob("*.html")):
            print(
                f"{page.name}: {page.stat().st_size / 2**20:.2f} MiB, {page.read_text().count('<figure')} figures"
            )
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"bench report: {seconds:.1f} s, {spent.ru_utime + spent.ru_stime:.1f} s of processor time")


if __name__ == "__main__":
    main()
