"""Rows of a command as JSON or CSV, for another program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import date
from typing import Any

from analysis.database.rows import Row


def as_text(rows: Sequence[Row], form: str) -> str:
    """The rows, all with the same keys, as `json`, a list of objects, or as `csv`, with a header; times are ISO."""
    if form == "json":
        return json.dumps(rows, indent=1, ensure_ascii=False, default=_of_json) + "\n"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    writer.writerows([_of_csv(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _of_json(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _of_csv(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_of_json)
    return value.isoformat() if isinstance(value, date) else value
