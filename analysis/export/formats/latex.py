"""A table for a paper: booktabs, compiled by pdflatex as by the newer engines, whatever the names are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.export.content import Content
from analysis.export.kinds import Page
from analysis.export.latex_text import escaped, label, typewriter
from analysis.plain import cell
from analysis.tables import Column

MOST_ROWS = 40
"""Of a table that stands on one page; a longer one breaks over pages, which needs the package longtable."""


def _write(content: Content) -> str:
    columns = content.on_paper()
    is_long = len(content.points) > MOST_ROWS
    body = _long(content, columns) if is_long else _floating(content, columns)
    return "\n".join([*_head(is_long), *body]) + "\n"


def _head(is_long: bool) -> Iterator[str]:
    yield f"% In the preamble: \\usepackage{{{'booktabs,longtable' if is_long else 'booktabs'}}}"
    yield "% Characters that pdflatex does not know without further packages stand as their number: [U+05D0]."


def _floating(content: Content, columns: Sequence[Column]) -> Iterator[str]:
    yield "\\begin{table}"
    yield "\\centering\\small\\setlength{\\tabcolsep}{4pt}"
    yield f"\\caption{{{_caption(content)}}}"
    yield f"\\label{{{label(content.session['session_id'])}}}"
    if content.points:
        yield f"\\begin{{tabular}}{{{_alignment(columns)}}}"
        yield f"\\toprule\n{_heading(columns)}\n\\midrule"
        yield from _rows(columns)
        yield "\\bottomrule\n\\end{tabular}"
    yield from _notes(content)
    yield "\\end{table}"


def _long(content: Content, columns: Sequence[Column]) -> Iterator[str]:
    yield f"{{\\small\\setlength{{\\tabcolsep}}{{4pt}}\n\\begin{{longtable}}{{{_alignment(columns)}}}"
    yield f"\\caption{{{_caption(content)}}}\\label{{{label(content.session['session_id'])}}}\\\\"
    yield f"\\toprule\n{_heading(columns)}\n\\midrule\n\\endfirsthead"
    yield f"\\toprule\n{_heading(columns)}\n\\midrule\n\\endhead"
    yield "\\bottomrule\n\\endfoot"
    yield from _rows(columns)
    yield "\\end{longtable}}"
    yield from _notes(content)


def _caption(content: Content) -> str:
    return _with_names(content.sentence(_marked))


_OPEN, _CLOSE = "\ue000", "\ue001"
"""Around names until all is escaped; private characters, which a name cannot hold: `cell` writes them out."""


def _marked(name: str) -> str:
    return f"{_OPEN}{cell(name)}{_CLOSE}"


def _with_names(text: str) -> str:
    """Escaped, and names as in the table."""
    return escaped(text).replace(_OPEN, "\\texttt{").replace(_CLOSE, "}")


def _alignment(columns: Sequence[Column]) -> str:
    return "".join("r" if column.number else "l" for column in columns)


def _heading(columns: Sequence[Column]) -> str:
    return " & ".join(escaped(column.heading) for column in columns) + " \\\\"


def _rows(columns: Sequence[Column]) -> Iterator[str]:
    cells = [
        [typewriter(text) if column.foreign else escaped(text.strip()) for text in column.cells]
        for column in columns
    ]
    for row in zip(*cells, strict=True):
        yield f"{' & '.join(row)} \\\\"


def _notes(content: Content) -> Iterator[str]:
    """Each a paragraph below the table."""
    lines = [*content.reasons(_marked), *content.caveats(), content.provenance(_marked)]
    yield "\\par\\smallskip\\noindent\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright"
    for line in lines:
        yield f"{_with_names(line)}\\par"
    yield "\\end{minipage}"


FORMAT = Page(write=_write)
