from __future__ import annotations

import json
from pathlib import Path

from tests.factory import Case, make_session
from tests.unit.diagnosis.planted import straggler


def fires(results: Path) -> None:
    """The third rank takes 37 % longer before it first waits, and has 40 % more tokens."""
    _session(results, [1000.0, 1000.0, 1400.0, 1000.0])


def quiet(results: Path) -> None:
    """It takes as much longer, with 5 % more tokens: it is slow."""
    _session(results, [1000.0, 1000.0, 1050.0, 1000.0])


def _session(results: Path, tokens: list[float]) -> None:
    work = json.dumps({"unit": "tokens", "per_step": tokens})
    folder = make_session(results, [Case(name="ddp", step_ms={4: 100.0}, outcome={"work_of_ranks": work})])
    straggler.slow_down(folder, slow_rank=(2, 2, 2))
