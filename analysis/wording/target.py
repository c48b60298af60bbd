"""Time to a target in words: how long it takes, how much faster that is than the baseline, and runs that missed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import TOO_WIDE, telling_estimate
from analysis.wording.plain_text import number as number_text

Name = Callable[[str], str]
"""Quotes an untrusted name for a format."""
_FEWEST = 6
"""Runs of a size from which on its median has an interval."""


def speedup(row: Row) -> tuple[str, str]:
    """The number, and its interval or `too noisy`; empty if unknown."""
    if row["speedup"] is None:
        return "", ""
    return telling_estimate(row["speedup"], row["speedup_lo"], row["speedup_hi"], apart_from=1)


def target(rows: Iterable[Row]) -> str:
    """`a loss of 0.3`; `the target` if there are several."""
    losses = {row["until_loss"] for row in rows}
    return f"a loss of {number_text(losses.pop(), 4)}" if len(losses) == 1 else "the target"


def _size_of(row: Row, name: Name) -> str:
    """`batch_256 on 1 rank`."""
    unit = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    return f"{name(row['case_name'])} on {row['workers']:,} {unit}"


def sentence(rows: Iterable[Row], name: Name = str) -> str:
    """How long the largest size takes to the target, and how much faster that is than its baseline; a size that is
    compared goes before one that is not. Empty if no size reaches the target in most of its runs."""
    timed = [row for row in rows if row["seconds"] is not None]
    if not timed:
        return ""
    row = max(timed, key=lambda row: (row["speedup"] is not None, row["workers"], row["global_batch"] or 0))
    said = f"{_size_of(row, name)} takes {number_text(row['seconds'], 3)} s to {target([row])}"
    if row["speedup"] is None:
        return f"{said}."
    number, interval = speedup(row)
    times = " ".join(filter(None, (number, f"({TOO_WIDE})" if interval == TOO_WIDE else interval)))
    return f"{said}: {times} times as fast as {name(row['baseline_case'])} on {row['baseline_workers']:,}."


def of_throughput(said: str, rows: Iterable[Row]) -> str:
    """A sentence that says what is faster; marked as one on throughput if the session compares times to a target,
    because more throughput may need longer to it."""
    return f"Throughput: {said}" if said and any(row["speedup"] is not None for row in rows) else said


def notes(rows: Sequence[Row], name: Name = str) -> Iterator[str]:
    """A sentence for each size of which runs missed the target, and one on too few runs for an interval."""
    for row in rows:
        if row["missed"]:
            runs = row["reached"] + row["missed"]
            meaning = (
                "they count as longer than the others"
                if 2 * row["missed"] < runs
                else "too many for a median time"
            )
            yield f"{_size_of(row, name)}: {row['missed']} of {runs} runs missed {target([row])}; {meaning}"
    if any(row["seconds"] is not None and row["reached"] + row["missed"] < _FEWEST for row in rows):
        yield f"times to {target(rows)} have intervals from {_FEWEST} repeats on"
