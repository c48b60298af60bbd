"""Profiles that real GPUs wrote, and what their publishers' own programs say about them: do we say the same?

    git clone https://github.com/facebookresearch/HolisticTraceAnalysis          (MIT)
    git clone https://github.com/ByteDance-Seed/StragglerAnalysis                (Apache-2.0)
    python benchmarks/published_profiles.py --hta HolisticTraceAnalysis/tests/data --stragglers StragglerAnalysis/data

Prints a line for each trace of GPUs, and one for each job. hta_answers.json has the answers of HolisticTraceAnalysis
(hta_answers.py); the jobs come with those of StragglerAnalysis (mw-NAME.json). Exit code 1 if a figure differs by more
than the limit: 1 % of HTA's, 2 % of StragglerAnalysis'.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.common.errors import InputError
from bench.importing.formats import kineto, operations

ANSWERS = Path(__file__).with_name("hta_answers.json")
HTA_LIMIT, STRAGGLERS_LIMIT = 0.01, 0.02
_UNLIKE = {
    "mtia": "another kind of accelerator, whose events have other categories",
    "triton_example": "HTA counts an operator of the host, because it names a stream",
}
"""Begin of a name -> why the figures are not compared."""
_TIMES = ("compute", "communication", "exposed_communication")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hta", type=Path, help="tests/data of HolisticTraceAnalysis")
    parser.add_argument("--stragglers", type=Path, help="data of StragglerAnalysis")
    wanted = parser.parse_args()
    worst = []
    if wanted.hta:
        print(f"{'µs; ours, HTA: ' + ', '.join(_TIMES):<100} largest difference")
        worst += [(HTA_LIMIT, difference) for difference in of_hta(wanted.hta)]
    if wanted.stragglers:
        print(
            "\njob: step, without stragglers, without the slowest workers (s; ours, theirs)  largest difference"
        )
        worst += [(STRAGGLERS_LIMIT, difference) for difference in of_stragglers(wanted.stragglers)]
    sys.exit(any(difference > limit for limit, difference in worst))


def of_hta(folder: Path) -> Iterator[float]:
    """The largest relative difference of each trace that is there."""
    for name, answer in json.loads(ANSWERS.read_text(encoding="utf-8"))["traces"].items():
        if reason := next((_UNLIKE[begin] for begin in _UNLIKE if name.startswith(begin)), None):
            print(f"{name[-48:]:<48} not compared: {reason}")
            continue
        if not (folder / name).exists():
            print(f"{name[-48:]:<48} is not there")
            continue
        try:
            ours = times_us(kineto.read(folder / name))
        except InputError as error:
            print(f"{name}: {error}")
            continue
        theirs = [float(answer[f"{time}_us"]) for time in _TIMES]
        yield _line(name, ours, theirs, ".0f")


def times_us(trace: kineto.RankTrace) -> list[float]:
    """Computation, communication and exposed communication of all steps but the last, as HTA counts them."""
    steps = trace.steps[:-1] or trace.steps
    return [sum(getattr(step.profile, f"{time}_ns") for step in steps) / 1e3 for time in _TIMES]


def of_stragglers(folder: Path) -> Iterator[float]:
    """The largest relative difference of each job."""
    for path in sorted(folder.glob("trace-*.parquet")):
        answer = json.loads((folder / f"mw-{path.stem.removeprefix('trace-')}.json").read_text())
        found = operations.what_if(path.name, operations.read(path))
        ours = [_seconds(found.replayed_ns), _seconds(found.even_ns), _seconds(found.without_slowest_ns)]
        yield _line(path.stem, ours, [answer["tori"], answer["tideal"], answer["trem"]], ".3f")


def _seconds(times_ns: np.ndarray[Any, Any]) -> float:
    return float(times_ns.mean()) / 1e9


def _line(name: str, ours: list[float], theirs: list[float], form: str) -> float:
    differences = [
        abs(one / other - 1) if other else float(one > 0) for one, other in zip(ours, theirs, strict=True)
    ]
    pairs = ", ".join(f"{one:{form}} {other:{form}}" for one, other in zip(ours, theirs, strict=True))
    print(f"{name[-48:]:<48} {pairs:<56} {max(differences):.2%}")
    return max(differences)


if __name__ == "__main__":
    main()
