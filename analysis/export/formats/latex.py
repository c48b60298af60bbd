"""A table for a paper, with booktabs. pdflatex and the newer engines compile it, with any characters in names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.export.latex_text import escaped, label, marked, typewriter
from analysis.tables.table import Table
from analysis.wording.plain_text import printable

MOST_ROWS = 40
"""A table with more rows breaks across pages and needs the package longtable."""


class LatexColumn(NamedTuple):
    """A column in LaTeX: its letter in `tabular`, its heading and its cells."""

    alignment: str
    heading: str
    cells: list[str]


def _write(content: Content) -> str:
    columns = _columns(content.on_paper())
    is_long = len(content.points) > MOST_ROWS
    head = [
        f"% In the preamble: \\usepackage{{{'booktabs,longtable' if is_long else 'booktabs'}}}",
        "% Characters that pdflatex does not know without further packages are written as their number: [U+05D0].",
    ]
    body = _long(content, columns) if is_long else _floating(content, columns)
    return "\n".join([*head, *body]) + "\n"


def _columns(table: Table) -> list[LatexColumn]:
    every = []
    for column, cells in zip(table.columns(), zip(*table.lines(), strict=True), strict=True):
        written = [typewriter(text) if column.untrusted else escaped(text.strip()) for text in cells]
        every.append(LatexColumn("r" if column.number else "l", escaped(column.heading), written))
    return every


def _floating(content: Content, columns: list[LatexColumn]) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering\\small\\setlength{\\tabcolsep}{4pt}"
    yield _caption(content)
    if content.points:
        yield f"\\begin{{tabular}}{{{_alignment(columns)}}}"
        yield f"\\toprule\n{_heading(columns)}\n\\midrule"
        yield from _rows(columns)
        yield "\\bottomrule\n\\end{tabular}"
    yield from _notes(content)
    yield "\\end{table}"


def _long(content: Content, columns: list[LatexColumn]) -> Iterator[str]:
    yield f"{{\\small\\setlength{{\\tabcolsep}}{{4pt}}\n\\begin{{longtable}}{{{_alignment(columns)}}}"
    yield f"{_caption(content)}\\\\"
    yield f"\\toprule\n{_heading(columns)}\n\\midrule\n\\endfirsthead"
    yield f"\\toprule\n{_heading(columns)}\n\\midrule\n\\endhead"
    yield "\\bottomrule\n\\endfoot"
    yield from _rows(columns)
    yield "\\end{longtable}}"
    yield from _notes(content)


def _caption(content: Content) -> str:
    text = escaped(printable(content.caption) or content.sentence(marked))
    return f"\\caption{{{text}}}\\label{{{label(content.session['session_id'])}}}"


def _alignment(columns: list[LatexColumn]) -> str:
    return "".join(column.alignment for column in columns)


def _heading(columns: list[LatexColumn]) -> str:
    return f"{' & '.join(column.heading for column in columns)} \\\\"


def _rows(columns: list[LatexColumn]) -> Iterator[str]:
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield f"{' & '.join(cells)} \\\\"


def _notes(content: Content) -> Iterator[str]:
    """Notes below the table, a paragraph each."""
    lines = [*content.notes(marked), content.provenance(marked)]
    yield "\\par\\smallskip\\noindent\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright"
    for line in lines:
        yield f"{escaped(line)}\\par"
    yield "\\end{minipage}"


FORMAT = Page(write=_write)
