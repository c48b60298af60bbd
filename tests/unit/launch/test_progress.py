"""The first line of a session: what it is called, how much there is to do, how much was done before."""

from __future__ import annotations

import io

import pytest

from bench.launch.progress import display


@pytest.mark.parametrize(
    ("runs", "done", "said"),
    [
        (18, 0, "session s: 18 runs\n"),
        (18, 2, "session s: 18 runs, 2 done before\n"),
        (18, 18, "session s: 18 runs, all done before\n"),
        (1, 0, "session s: 1 run\n"),
    ],
)
def test_a_resumed_session_says_how_many_runs_were_done_before(runs: int, done: int, said: str) -> None:
    log = io.StringIO()
    display(log, done).session_begins("s", runs)
    assert log.getvalue() == said
