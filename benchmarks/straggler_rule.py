"""How often the rule of the view `stragglers` blames a rank though none is slow, and how often it finds one that is.

python benchmarks/straggler_rule.py --draws 4000

A rank's time before it first waits differs from repeat to repeat by a normal deviation, in fractions of the step. The
slow rank takes a tenth of the step longer. Prints a Markdown table.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import t

MARGIN = 0.02
SLOWER = 0.1
DEVIATIONS = (0.005, 0.01, 0.02, 0.05)
SHAPES = ((2, 3), (8, 2), (8, 3), (64, 3), (64, 5))
"""Ranks and repeats."""


def blamed(times: np.ndarray) -> np.ndarray:
    """bool [draws, ranks] from [draws, repeats, ranks], as results.duckdb-schema/stragglers.sql has it."""
    repeats, ranks = times.shape[1:]
    median = np.sort(times, axis=2)[:, :, (ranks - 1) // 2, None]
    excess = times - median
    variance = excess.var(axis=1, ddof=1) / repeats
    mean = excess.mean(axis=1)
    by_chance = np.sqrt(2 * np.log(ranks / 0.025)) * np.sqrt(variance.mean(axis=1, keepdims=True))
    return (mean - t.ppf(0.975, repeats - 1) * np.sqrt(variance) > MARGIN) & (mean > by_chance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    random = np.random.default_rng(0)
    print(
        "| ranks | repeats |" + "".join(f" {100 * d:g} % |" for d in DEVIATIONS) + "\n" + "| --- " * 6 + "|"
    )
    for ranks, repeats in SHAPES:
        cells = []
        for deviation in DEVIATIONS:
            times = deviation * random.standard_normal((draws, repeats, ranks))
            wrongly = blamed(times).any(axis=1).mean()
            times[:, :, 0] += SLOWER
            cells.append(f" {100 * wrongly:.1f} %, found {100 * blamed(times)[:, 0].mean():.0f} % |")
        print(f"| {ranks} | {repeats} |" + "".join(cells))


if __name__ == "__main__":
    main()
