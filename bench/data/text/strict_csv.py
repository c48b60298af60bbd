"""Strict reader for published CSV files: an error names file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from bench.common.errors import InputError


def rows(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Line at which each row begins (from 1; a quoted field may contain line breaks), and its `columns` fields.

    Raises InputError if the file is not UTF-8, not CSV with doubled quotes, or has another number of columns."""
    reader = csv.reader(io.StringIO(decode(path), newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if len(row) != columns:
                raise InputError(f"{path}, line {line}: {len(row)} columns, {columns} expected")
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: {error}") from None


def decode(path: Path) -> str:
    """The text of a UTF-8 file, with or without byte order mark. Raises InputError with a line that is not UTF-8."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8: convert or download the file again"
        ) from None
