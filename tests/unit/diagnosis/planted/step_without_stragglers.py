from __future__ import annotations

from pathlib import Path

from bench.importing.import_session import ImportRequest, import_session
from tests.kineto_traces import two_steps, write_all


def fires(results: Path) -> None:
    """Rank 1 computes 110 µs longer before the ranks meet; half of it would be gained in steps of 1,000 µs."""
    _import(results, late=110)


def quiet(results: Path) -> None:
    """It computes 90 µs longer."""
    _import(results, late=90)


def _import(results: Path, *, late: float) -> None:
    files = write_all(results.parent / "traces", [two_steps(rank=0), two_steps(rank=1, late=late)])
    import_session(ImportRequest(files=tuple(files), suite="smoke", results=str(results)))
