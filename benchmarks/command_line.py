"""What `bench --help` and `bench list` cost, whole processes, beside a Python that does nothing.

The three alternate; medians over the rounds.

    python benchmarks/command_line.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter_ns

BENCH = str(Path(sys.executable).parent / "bench")
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "bench --help": [BENCH, "--help"],
    "bench list": [BENCH, "list"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(parser.parse_args().rounds + 1):
        for name, command in COMMANDS.items():
            begin = perf_counter_ns()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            if number:  # the first round warms the file cache
                times[name].append((perf_counter_ns() - begin) / 1e6)
    floor = statistics.median(times["python -c pass"])
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(
            f"{name:<15} median {middle:6.1f} ms  ({min(taken):.1f} .. {max(taken):.1f})  {middle / floor:.1f} x python"
        )


if __name__ == "__main__":
    main()
