"""A table's rows as CSV: raw and in full precision inside the page, made into a file by assets/tables.js."""

from __future__ import annotations

import html
from typing import Any

import polars as pl

from analysis.report import embedding
from analysis.report.contents import Contents
from analysis.report.markup import attribute


def csv_download(name: str, rows: pl.DataFrame, what: str) -> str:
    """A button that saves the rows as SESSION.NAME.csv, and the rows; nothing where there are none."""
    if rows.is_empty():
        return ""
    payload = embedding.script_json({"columns": _columns(rows), "count": rows.height})
    return (
        f'<div class="download screen-only"><button type="button" data-csv="{attribute(name)}">'
        f"CSV: {html.escape(what)}, {rows.height:,} {'row' if rows.height == 1 else 'rows'}</button>"
        f'<script type="application/json">{payload}</script></div>'
    )


def csv_of(contents: Contents, table: str, what: str) -> str:
    """The same of one of the page's tables."""
    return csv_download(table, contents.tables[table], what)


def _columns(rows: pl.DataFrame) -> dict[str, Any]:
    """As embedding.columns, which keeps each text once, but with numbers as they are."""
    return {
        name: embedding.columns(rows.select(name))[name]
        if kind == pl.String
        else rows.get_column(name).to_list()
        for name, kind in rows.schema.items()
    }
