"""Which laws were fitted to the scaling of each case, and what they say."""

from __future__ import annotations

from collections.abc import Callable

from analysis.fetched import Row
from analysis.laws.closeness import closer
from analysis.laws.words import is_sure, says
from analysis.report import units
from analysis.report.markup import Column, details, table, text

_READING = (
    "What follows if the sizes that were measured go on as they began: how much of the time more workers cannot "
    "shorten, and whether there is a number of them beyond which training gets slower. It says nothing of what begins "
    "only at larger sizes."
)
_DEFINITION = (
    "<p>The serial fraction is the share of the time that more workers do not shorten: Amdahl's under strong scaling, "
    "Gustafson's under weak, read as Karp–Flatt's is, but from all sizes. In the Universal Scalability Law α is what "
    "is serial and β what every pair of workers costs; with β above 0 there is a number of workers beyond which "
    "training gets slower. ± is the standard error, r² how close the curve comes to what was measured, 1 being exact; "
    "the Universal Scalability Law, with one coefficient more, mostly comes closer. "
    "Laws are fitted to few sizes: they say what follows if nothing new begins beyond them.</p>"
    "<p>Communication predicts each size from the smallest one and from collectives that were timed on such a machine, "
    "fitted to no other size of the case: its error is the prediction's against what was measured.</p>"
)
_ROUNDING = 1e-9
"""Of a coefficient: a standard error below it is that of floating-point numbers."""


def laws(rows: list[Row]) -> str:
    """`rows` of queries/laws.sql; nothing where no case has enough sizes."""
    if not rows:
        return ""
    shown = [
        column for names, column in _COLUMNS if any(row[name] is not None for row in rows for name in names)
    ]
    return (
        f'<p class="reading">{_READING}</p>'
        + table("Scaling laws: one row per case", [_CASE, _SAYS, *shown], rows)
        + details("What the laws and their coefficients are", _DEFINITION)
    )


def _with_error(row: Row, name: str) -> str:
    """HTML: `0.040 ± 0.002`."""
    value, error = row[name], row[f"{name}_se"]
    is_exact = value is not None and error is not None and error <= _ROUNDING * value
    return units.with_spread(value, 0.0 if is_exact else error, "").replace("\u00a0 ", " ")


def _r2(name: str) -> Callable[[Row], str]:
    return lambda row: units.UNKNOWN if row[name] is None else f"{row[name]:.4f}"


def _peak(row: Row) -> str:
    if row["usl_gamma"] is None:
        return units.UNKNOWN
    if row["peak_workers"] is None:
        return "none"
    if not is_sure(row):
        return "undecided"
    return units.with_interval(row["peak_workers"], row["peak_workers_lo"], row["peak_workers_hi"])


def _communication(row: Row) -> str:
    """HTML: `+3 % at 2, −12 % at 4`."""
    errors = row["communication_errors"] or []
    said = [f"{_percent(error['relative_error'])} at {error['workers']:,}" for error in errors]
    return ", ".join(said).replace(" ", "\u00a0").replace(",\u00a0", ", ") or units.UNKNOWN


def _percent(fraction: float) -> str:
    return f"{100 * fraction:+.0f} %".replace("-", "\u2212")


def _said(row: Row) -> str:
    return " ".join(filter(None, [says(row), closer(row)]))


_CASE = Column(label="case", cell=lambda row: text(row["case_name"]))
_SAYS = Column(label="its laws say", cell=lambda row: f'<div class="says">{_said(row)}</div>')
_COLUMNS = [
    (("points",), Column(label="sizes", cell=lambda row: str(row["points"]), numeric=True)),
    (
        ("serial_fraction",),
        Column(
            label="serial fraction ±\u00a0se",
            cell=lambda row: _with_error(row, "serial_fraction"),
            numeric=True,
        ),
    ),
    (("serial_r2",), Column(label="its\u00a0r²", cell=_r2("serial_r2"), numeric=True)),
    (
        ("usl_alpha",),
        Column(label="α ±\u00a0se", cell=lambda row: _with_error(row, "usl_alpha"), numeric=True),
    ),
    (("usl_beta",), Column(label="β ±\u00a0se", cell=lambda row: _with_error(row, "usl_beta"), numeric=True)),
    (("usl_gamma",), Column(label="peak [95\u00a0%]", cell=_peak, numeric=True)),
    (("r2",), Column(label="USL\u00a0r²", cell=_r2("r2"), numeric=True)),
    (
        ("communication_errors",),
        Column(label="communication's error", cell=_communication, numeric=True),
    ),
]
"""With the names of which one must be known for the column to be shown."""
