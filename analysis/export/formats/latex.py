"""A table for a paper, with booktabs. pdflatex and the newer engines compile it, with any characters in names."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.export.content import Content
from analysis.export.format_types import Page
from analysis.export.latex_text import escaped, label, marked, typewriter
from analysis.tables.table import Table
from analysis.wording.plain_text import printable

MOST_ROWS = 40
"""A table with more rows breaks across pages and needs the package longtable."""


def _write(content: Content) -> str:
    table = content.on_paper()
    is_long = len(content.points) > MOST_ROWS
    body = _long(content, table) if is_long else _floating(content, table)
    return "\n".join([*_head(is_long), *body]) + "\n"


def _head(is_long: bool) -> Iterator[str]:
    yield f"% In the preamble: \\usepackage{{{'booktabs,longtable' if is_long else 'booktabs'}}}"
    yield "% Characters that pdflatex does not know without further packages are written as their number: [U+05D0]."


def _floating(content: Content, table: Table) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering\\small\\setlength{\\tabcolsep}{4pt}"
    yield _caption(content)
    if content.points:
        yield f"\\begin{{tabular}}{{{_alignment(table)}}}"
        yield f"\\toprule\n{_heading(table)}\n\\midrule"
        yield from _rows(table)
        yield "\\bottomrule\n\\end{tabular}"
    yield from _notes(content)
    yield "\\end{table}"


def _long(content: Content, table: Table) -> Iterator[str]:
    yield f"{{\\small\\setlength{{\\tabcolsep}}{{4pt}}\n\\begin{{longtable}}{{{_alignment(table)}}}"
    yield f"{_caption(content)}\\\\"
    yield f"\\toprule\n{_heading(table)}\n\\midrule\n\\endfirsthead"
    yield f"\\toprule\n{_heading(table)}\n\\midrule\n\\endhead"
    yield "\\bottomrule\n\\endfoot"
    yield from _rows(table)
    yield "\\end{longtable}}"
    yield from _notes(content)


def _caption(content: Content) -> str:
    text = escaped(printable(content.caption) or content.sentence(marked))
    return f"\\caption{{{text}}}\\label{{{label(content.session['session_id'])}}}"


def _alignment(table: Table) -> str:
    return "".join("r" if column.number else "l" for column in table.columns())


def _heading(table: Table) -> str:
    return " & ".join(escaped(column.heading) for column in table.columns()) + " \\\\"


def _rows(table: Table) -> Iterator[str]:
    columns = table.columns()
    for line in table.lines():
        cells = [
            typewriter(text) if column.untrusted else escaped(text.strip())
            for column, text in zip(columns, line, strict=True)
        ]
        yield f"{' & '.join(cells)} \\\\"


def _notes(content: Content) -> Iterator[str]:
    """Notes below the table, a paragraph each."""
    lines = [*content.notes(marked), content.provenance(marked)]
    yield "\\par\\smallskip\\noindent\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright"
    for line in lines:
        yield f"{escaped(line)}\\par"
    yield "\\end{minipage}"


FORMAT = Page(write=_write)
