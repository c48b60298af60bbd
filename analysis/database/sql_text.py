"""SQL as text: quote names and values, and find the relations and functions that a query refers to."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"--.*")
_READ = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_CALLED = re.compile(r"\b(\w+)\(")


def referred_to(sql: str) -> set[str]:
    """Names that the query reads from or calls; the set may contain other names too."""
    code = _COMMENT.sub("", sql)
    return set(_READ.findall(code)) | set(_CALLED.findall(code))


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
