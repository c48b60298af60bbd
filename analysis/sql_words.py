"""What a piece of our SQL refers to, read from its text; and a text as SQL has it."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"--.*")
_READ = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_CALLED = re.compile(r"\b(\w+)\(")


def referred_to(sql: str) -> set[str]:
    """Names that it reads from or calls, and others."""
    code = _COMMENT.sub("", sql)
    return set(_READ.findall(code)) | set(_CALLED.findall(code))


def literal(text: str) -> str:
    """As SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """As SQL has it."""
    return '"' + name.replace('"', '""') + '"'
