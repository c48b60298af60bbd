from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

STEPS = 12


def fires(results: Path) -> None:
    """Three cases: fp16 leaves its range, a learning rate is too high, and data are bad from the first step on."""
    cases = [
        Case(name="fp16", step_ms={1: 10.0}, precision="fp16"),
        Case(name="updates", step_ms={1: 10.0}, train={"learning_rate": 3.0}),
        Case(name="data", step_ms={1: 10.0}),
    ]
    folder = make_session(results, cases)
    for case, first in zip(cases, (3, 6, 0), strict=True):
        loss = np.where(np.arange(STEPS) < first, 2.3, inf)
        rewrite_steps(folder, f"{case.name}.1x1.r1", {"loss": loss})


def quiet(results: Path) -> None:
    """Losses are as large as they can be, but finite."""
    make_session(results, [Case(name="updates", step_ms={1: 10.0}, losses=(2.3, 1e300))])
