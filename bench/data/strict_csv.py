"""CSV files that others published, read without guessing: what does not fit is named by file and line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from bench.errors import InputError


def rows(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Line at which each row begins (1-based; a quoted field may hold line ends), and its `columns` fields.

    Raises InputError where the file is not UTF-8, not CSV with doubled quotes, or has another number of columns."""
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
    """The text of a UTF-8 file, with or without byte order mark. Raises InputError naming the line that is not."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; convert the file or load it again"
        ) from None
