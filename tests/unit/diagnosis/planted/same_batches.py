from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session


def fires(results: Path) -> None:
    """Two ranks had the same first batch."""
    make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, outcome={"same_batch": True})])


def quiet(results: Path) -> None:
    """Theirs differed; the batch of one rank alone is compared with none."""
    make_session(results, [Case(name="ddp", step_ms={1: 20.0, 2: 11.0}, outcome={"same_batch": False})])
    make_session(
        results, [Case(name="alone", step_ms={1: 20.0}, outcome={"same_batch": None})], session_id="alone"
    )
