"""The needs of each size until the target, and its efficiency as a product of factors: a table for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.tables.column import Column, text_of
from analysis.tables.table import Table
from analysis.wording.numbers import estimate
from analysis.wording.target import efficiency, factor


def target_tables(rows: Sequence[Row]) -> Iterator[Table]:
    """The same table several times, each narrower than the one before: with the intervals of all factors, with that of
    their product alone, and without percent signs and the runs that reached the target. Rows are those of
    `target_efficiency`."""
    for with_intervals, unit in ((True, " %"), (False, " %"), (False, "")):
        yield Table(
            rows=rows,
            keys=[
                Column("case", text_of("case_name"), untrusted=True),
                Column("ranks", text_of("world_size"), number=True),
            ],
            values=[
                *(
                    [Column("reached", lambda row: f"{row['reached']}/{row['runs']}", number=True)]
                    if unit
                    else []
                ),
                Column("examples", _least("examples"), number=True),
                Column("s", _least("seconds"), number=True),
                Column("speed ×", _factor("throughput", with_intervals)),
                Column("progress ×", _factor("examples", with_intervals)),
                Column("clock =", _factor("share", with_intervals)),
                Column("efficiency [95 %]" if unit else "efficiency %", _efficiency(unit)),
            ],
        )


def _least(name: str) -> Callable[[Row], str]:
    """The number, or `≥` and the lower end if only that is known."""

    def shown(row: Row) -> str:
        known, least = row[name], row[f"{name}_lo"]
        if known is None and least is None:
            return ""
        return ("≥ " if known is None else "") + estimate(least if known is None else known, None, None)[0]

    return shown


def _factor(name: str, with_intervals: bool) -> Callable[[Row], str]:
    return lambda row: factor(row, name, with_interval=with_intervals)


def _efficiency(unit: str) -> Callable[[Row], str]:
    return lambda row: efficiency(row, unit)
