"""Whether every size trained like the smallest one: the losses of the first steps, with the same seed."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import CASE, MOST_ROWS, PLACEMENT, label, minor, text
from analysis.report.html.render import render
from analysis.tables.column import Column, shown


def parity(rows: list[Row]) -> Markup:
    """`rows` of queries/parity.sql; empty if nothing can be compared, for example without an ok run."""
    if all(row["baseline_placement"] is None for row in rows):
        return Markup()
    first = rows[:MOST_ROWS]
    return render(
        "sections/parity",
        summary=parity_answer(rows),
        columns=shown(_COLUMNS, first),
        rows=first,
        most=MOST_ROWS,
        count=len(rows),
    )


def parity_answer(rows: list[Row]) -> str:
    """Whether every size trained like the smallest one, in a sentence."""
    same, different = (sum(row[name] for row in rows) for name in ("same", "different"))
    judged, every = same + different, sum(row["repeats"] for row in rows)
    others = f"; {every - judged:,} of {every:,} could not be judged" if every > judged else ""
    if different:
        return (
            f"No: {different:,} of {judged:,} runs did not train as the same repeat of the smallest size did{others}. "
            "A speedup of a different training is no speedup."
        )
    if same:
        runs = "run" if same == 1 else "runs"
        return f"Yes: {same:,} {runs} trained as the same repeat of the smallest size did{others}."
    return "Not judged: the table says why."


def _verdict(row: Row) -> Markup:
    if not row["different"] and not row["same"]:
        return label("not judged", "none")
    verdict, tone = ("different", "bad") if row["different"] else ("same", "good")
    of_all = "" if row[verdict] == row["repeats"] else f" of {row['repeats']}"
    runs = "run" if row["repeats"] == 1 else "runs"
    return Markup("{} {}").format(label(verdict, tone), minor(f"{row[verdict]}{of_all} {runs}"))


def _difference(row: Row) -> Markup | str:
    if row["largest_relative_difference"] is None:
        return units.UNKNOWN
    place = "" if row["at_step"] is None else f"at\u00a0step\u00a0{row['at_step']}"
    return Markup("{} {}").format(_scientific(row["largest_relative_difference"]), minor(place))


def _relative(field: str) -> Callable[[Row], str]:
    return lambda row: _scientific(row[field])


def _scientific(value: float | None) -> str:
    """`0.012`, `1.4 × 10⁻⁷`."""
    if value is None:
        return units.UNKNOWN
    if value == 0 or abs(value) >= 1e-3:
        shown = units.number(value, 2)
    else:
        digits, _, exponent = f"{value:.1e}".partition("e")
        raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        shown = f"{digits.removesuffix('.0')}\u00a0×\u00a010{raised}"
    return shown.replace("-", "\u2212")


def _reasons(row: Row) -> Markup:
    return Markup('<div class="reason">{}</div>').format(text(row["reasons"] or units.UNKNOWN))


_DIFFERENCE, _FINAL = "largest_relative_difference", "final_loss_relative_difference"
_COLUMNS = [
    CASE,
    PLACEMENT,
    Column("same training", _verdict),
    Column("largest difference", _difference, number=True, needs=(_DIFFERENCE,)),
    Column("tolerance", _relative("tolerance"), number=True, needs=("tolerance",)),
    Column("steps compared", lambda row: str(row["steps_compared"]), number=True, needs=(_DIFFERENCE,)),
    Column("last loss differs by", _relative(_FINAL), number=True, needs=(_FINAL,)),
    Column("because", _reasons, needs=("reasons",)),
]
