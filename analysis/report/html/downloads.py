"""A table's rows as CSV: the page has them raw, in full precision; assets/tables.js writes the file."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from analysis.report.html import embedding


def csv_download(name: str, rows: pl.DataFrame, what: str) -> Markup:
    """The rows, and a button that saves them as SESSION.NAME.csv; empty without rows."""
    if rows.is_empty():
        return Markup()
    columns = {  # like embedding.columns, which stores each text once, but with every digit of numbers
        column: embedding.columns(rows.select(column))[column]
        if kind == pl.String
        else rows.get_column(column).to_list()
        for column, kind in rows.schema.items()
    }
    return Markup(
        '<div class="download screen-only"><button type="button" data-csv="{}">CSV: {}, {:,} {}</button>'
        '<script type="application/json">{}</script></div>'
    ).format(
        name,
        what,
        rows.height,
        "row" if rows.height == 1 else "rows",
        embedding.packed_json({"columns": columns, "count": rows.height}),
    )
