"""Whether every size trained as the smallest one did: the losses of the first steps, with the same seed."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.report import units
from analysis.report.markup import Column, details, first_rows, table, text
from analysis.report.summary_table import label

MOST_ROWS = 40
"""Of the table; the CSV has all."""

_DEFINITION = (
    "<p>Strong scaling divides the same batch among more ranks: with the same seed every step must have the same loss "
    "but for rounding. Compared are the losses of the first 20 steps of the same repeat at this size and at the case's "
    "smallest; a difference is relative to the larger of the two. Its tolerance hangs on the precision, or on what "
    "gradients travelled as if that is coarser. What follows these steps is told without a verdict, since rounding "
    "grows with every step.</p>"
)


def parity(rows: list[Row]) -> str:
    """`rows` of queries/parity.sql; nothing where nothing is compared, as without an ok run."""
    if all(row["baseline_placement"] is None for row in rows):
        return ""
    shown = rows[:MOST_ROWS]
    columns = [
        column for name, column in _COLUMNS if name is None or any(row[name] is not None for row in shown)
    ]
    return (
        f"<p>{_said(rows)}{first_rows(MOST_ROWS, len(rows))}</p>"
        + table("Same training: one row per case and placement", columns, shown)
        + details("How that is compared", _DEFINITION)
    )


def _said(rows: list[Row]) -> str:
    same, different = (sum(row[name] for row in rows) for name in ("same", "different"))
    judged, every = same + different, sum(row["repeats"] for row in rows)
    others = f"; {every - judged:,} of {every:,} could not be judged" if every > judged else ""
    if different:
        return (
            f"No: {different:,} of {judged:,} runs did not train as the same repeat of the smallest size did{others}. "
            "A speedup that trains something else is none."
        )
    if same:
        runs = "run" if same == 1 else "runs"
        return f"Yes: {same:,} {runs} trained as the same repeat of the smallest size did{others}."
    return "Not judged: the table says why."


def _verdict(row: Row) -> str:
    if row["different"]:
        return _counted("bad", "different", row)
    return _counted("good", "same", row) if row["same"] else label("none", "not judged")


def _counted(tone: str, verdict: str, row: Row) -> str:
    of_all = "" if row[verdict] == row["repeats"] else f" of {row['repeats']}"
    runs = "run" if row["repeats"] == 1 else "runs"
    return f'{label(tone, verdict)} <span class="interval">{row[verdict]}{of_all} {runs}</span>'


def _difference(row: Row) -> str:
    if row["largest_relative_difference"] is None:
        return units.UNKNOWN
    place = "" if row["at_step"] is None else f"at\u00a0step\u00a0{row['at_step']}"
    return f'{_short(row["largest_relative_difference"])} <span class="interval">{place}</span>'


def _short(value: float | None) -> str:
    """`0.012`, `1.4 × 10⁻⁷`."""
    if value is None:
        return units.UNKNOWN
    if value == 0 or abs(value) >= 1e-3:
        shown = units.number(value, 2)
    else:
        digits, _, exponent = f"{value:.1e}".partition("e")
        shown = f"{digits.removesuffix('.0')}\u00a0×\u00a010{str(int(exponent)).translate(_RAISED)}"
    return shown.replace("-", "\u2212")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_COLUMNS = [
    (None, Column(label="case", cell=lambda row: text(row["case_name"]))),
    (None, Column(label="placement", cell=lambda row: text(row["placement"]))),
    (None, Column(label="same training", cell=_verdict)),
    (
        "largest_relative_difference",
        Column(label="largest difference", cell=_difference, numeric=True),
    ),
    ("tolerance", Column(label="tolerance", cell=lambda row: _short(row["tolerance"]), numeric=True)),
    (
        "largest_relative_difference",
        Column(label="steps compared", cell=lambda row: str(row["steps_compared"]), numeric=True),
    ),
    (
        "final_loss_relative_difference",
        Column(
            label="last loss differs by",
            cell=lambda row: _short(row["final_loss_relative_difference"]),
            numeric=True,
        ),
    ),
    (
        "reasons",
        Column(
            label="because",
            cell=lambda row: f'<div class="reason">{text(row["reasons"] or units.UNKNOWN)}</div>',
        ),
    ),
]
"""With the name that must be known of one row for the column to be shown."""
