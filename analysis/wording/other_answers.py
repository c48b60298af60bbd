"""The answers of a session to other questions than speedup, a sentence each: the way to a target, the fastest mesh,
other networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording import target, what_if


def other_answers(
    to_target: Sequence[Row],
    findings: Iterable[Row],
    other_networks: Sequence[Row],
    name: Callable[[str], str],
    text: Callable[[str], str],
) -> Iterator[str]:
    """Rows of `time_to_target`, `diagnosis` and `what_if` of one session. `name` quotes a case's name for the
    output's format, and `text` untrusted text."""
    if to_target and (said := target.sentence(to_target, name)):
        yield said
    for row in findings:
        if row["finding"] == "fastest_mesh":
            yield f"Fastest mesh: {name(row['case_name'])} {row['placement']}, {text(row['evidence'])}."
    yield from what_if.lines(other_networks, name)
