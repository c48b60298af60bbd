"""The cost of measuring, in a sentence, from rows of the table `perturbation`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import estimate

_LEFT_OUT = "Cost of measuring: not {}; use --selfcheck."
_TOO_SHORT = _LEFT_OUT.format("measured, too few steps for an interval")
_NO_INTERVAL = _LEFT_OUT.format("known, fewer than six pairs of steps have no interval")
_WHY = {
    "too short": "too few steps",
    "switched off": "switched off",
    "first repeat not ok": "the first repeat is not ok",
    None: "no pair of steps was recorded",
}
"""`left_out` -> reason."""


def lines(rows: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence on the cost at the size where it is known best, or on why it is unknown; empty if measuring it was
    switched off. `name` quotes a case's name for the output's format."""
    row = surest(rows)
    if row is not None:
        yield sentence(row, name)
    elif any(row["pairs"] for row in rows):
        yield _NO_INTERVAL
    elif any(row["left_out"] == "too short" for row in rows):
        yield _TOO_SHORT


def surest(rows: Sequence[Row]) -> Row | None:
    """The row whose share of a step has the narrowest interval; None if none has one."""
    known = [row for row in rows if row["share_lo"] is not None]
    return min(known, key=lambda row: row["share_hi"] - row["share_lo"], default=None)


def sentence(row: Row, name: Callable[[str], str] = str) -> str:
    """The cost as a sentence; `row` has an interval."""
    of = f"of {estimate(row['bare_step_ms'], None, None)[0]} ms ({name(row['case_name'])} {row['placement']})"
    if row["difference_us_lo"] > 0:
        share = estimate(100 * row["share"], 100 * row["share_lo"], 100 * row["share_hi"])[0]
        return f"Cost of measuring: {_a_step(row)}, {share} % {of}."
    found = "within the noise of" if row["difference_us_hi"] > 0 else "none found by"
    return f"Cost of measuring: {found} {row['pairs']:,} pairs of steps: {_a_step(row)} {of}."


def _a_step(row: Row) -> str:
    """The cost of a step: `15.1 µs a step [13.0, 17.2]`, `0.3 ms a step [−8.6, 15.2]`."""
    values = [row["difference_us"], row["difference_us_lo"], row["difference_us_hi"]]
    unit = "µs"
    if max(map(abs, values)) >= 1_000:
        values, unit = [value / 1_000 for value in values], "ms"
    value, interval = estimate(*values)
    return f"{value} {unit} a step {interval}"


def not_measured(rows: Sequence[Row]) -> str:
    """`Not measured for 8 sizes: too few steps.`; empty if it was measured for each."""
    reasons = [row["left_out"] for row in rows if not row["pairs"]]
    each = [
        f"for {count:,} size{'s' * (count != 1)}: {text}"
        for reason, text in _WHY.items()
        if (count := reasons.count(reason))
    ]
    return f"Not measured {', '.join(each)}." if each else ""
