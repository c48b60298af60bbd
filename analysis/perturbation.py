"""What measuring cost, in a sentence, from rows of the view `perturbation`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.fetched import Row
from analysis.rounding import estimate

_TOO_SHORT = (
    "What measuring costs was not measured: 2 % of so few steps are too few for an interval; --selfcheck takes "
    "enough."
)


def lines(rows: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """Of the size of which it is known best; where it was left out, why, unless it was switched off. `name` makes of a
    case's name what is shown."""
    row = surest(rows)
    if row is not None:
        yield sentence(row, name)
    elif any(row["left_out"] == "too short" for row in rows):
        yield _TOO_SHORT


def surest(rows: Sequence[Row]) -> Row | None:
    """The one whose share of a step has the narrowest interval; none where none has one."""
    known = [row for row in rows if row["share_lo"] is not None]
    return min(known, key=lambda row: row["share_hi"] - row["share_lo"], default=None)


def sentence(row: Row, name: Callable[[str], str] = str) -> str:
    """`row` has an interval."""
    of = f"{_short(row['bare_step_ms'])} ms ({name(row['case_name'])} {row['placement']})"
    share = estimate(100 * row["share"], 100 * row["share_lo"], 100 * row["share_hi"])[0]
    if row["difference_us_lo"] > 0:
        return f"Measuring itself took {difference(row)} of a step of {of}: {share} %."
    nothing = f"Measuring itself took nothing that {row['pairs']:,} pairs of steps can tell"
    if row["difference_us_hi"] <= 0:
        return f"{nothing} of a step of {of}."
    most, most_share = (_short(row["difference_us_hi"]), _short(100 * row["share_hi"]))
    return f"{nothing}: at most {most} µs of a step of {of}, {most_share} %."


def _short(value: float) -> str:
    return estimate(value, None, None)[0]


def difference(row: Row) -> str:
    """`15.1 µs [13.0, 17.2]`."""
    shown, interval = estimate(row["difference_us"], row["difference_us_lo"], row["difference_us_hi"])
    return f"{shown} µs{interval and f' {interval}'}"
