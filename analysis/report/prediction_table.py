"""What laws and communication predict for sizes that nobody ran, marked as what it is."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.laws.words import SURE
from analysis.report import units
from analysis.report.markup import Column, first_rows, grouped_table, text

MOST_ROWS = 60
"""Of the table; the CSV has all."""
_LAWS = {
    "usl": "Universal Scalability Law",
    "amdahl": "Amdahl",
    "gustafson": "Gustafson",
    "communication": "communication",
}
_READING = (
    "Predictions: nobody ran these sizes. An interval says how well the law is known if it holds; whether it does, no "
    "interval can say: what begins only at larger sizes, such as the network between nodes, no law knows."
)


def predictions(rows: list[Row]) -> str:
    """`rows` of queries/predictions.sql; nothing where there are none."""
    if not rows:
        return ""
    more = first_rows(MOST_ROWS, len(rows))
    groups: dict[str, list[Row]] = {}
    for row in rows[:MOST_ROWS]:
        groups.setdefault(row["case_name"], []).append(row)
    caption = "Predictions: one row per size that nobody ran and law, grouped by case"
    return f'<p class="reading">{_READING}{more}</p>' + grouped_table(
        caption, _columns(rows), [(text(case), found) for case, found in groups.items()]
    )


def _size(row: Row) -> str:
    axis = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    return f'{row["workers"]:,}\u00a0{axis} <span class="interval">predicted</span>'


def _relative(row: Row, name: str, unit: str, factor: float = 1) -> str:
    low, high = row[f"{name}_lo"], row[f"{name}_hi"]
    if low is not None and high > SURE * low:
        return "cannot be said"
    return "≈\u00a0" + units.with_interval(row[name], low, high, unit, factor)


def _columns(rows: list[Row]) -> list[Column]:
    rates = {row["throughput_unit"] for row in rows}
    return [
        Column(label="size", cell=_size),
        Column(label="by", cell=lambda row: _LAWS[row["law"]]),
        Column(label="speedup [95\u00a0%]", cell=lambda row: _relative(row, "speedup", "×"), numeric=True),
        Column(
            label="efficiency [95\u00a0%]",
            cell=lambda row: _relative(row, "efficiency", "%", 100),
            numeric=True,
        ),
        Column(
            label=rates.pop() if len(rates) == 1 else "throughput",
            cell=lambda row: _relative(row, "throughput", ""),
            numeric=True,
        ),
    ]
