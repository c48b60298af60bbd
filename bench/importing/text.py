"""A file's text, or why it is none."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.errors import InputError

MAX_BYTES = 64 * 2**20
"""Of a log, which may hold whatever a program printed."""
MAX_BYTES_OF_TABLES = 8 * 2**20
"""Of all else."""
MAX_LINES = 2_000_000
LONGEST_LINE = 10_000
"""Characters of a line that may be one of headings, or a row of nccl-tests."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that was read."""

    name: str
    """Without its folder."""
    text: str
    sha256: str
    size_bytes: int

    @cached_property
    def lines(self) -> list[str]:
        """Only line feeds end a line: a form feed in a log must not shift the numbers."""
        return self.text.split("\n")


def read(path: Path) -> Source:
    """UTF-8 with or without its mark, any line ends. Raises InputError."""
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder: name the files in it")
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        if not path.is_file():
            raise InputError(f"{path}: a pipe or a device, no file: save what it gives, and name that")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)  # whatever its size is said to be
        if len(content) > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB: no table of timings")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    text = _decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")
    if (lines := text.count("\n")) > MAX_LINES:
        raise InputError(f"{path}: {lines:,} lines: {MAX_LINES:,} at most")
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return Source(
        name=path.name, text=text, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content)
    )


def _decoded(path: Path, content: bytes) -> str:
    if content.startswith(_UTF16):
        raise InputError(f"{path}: UTF-16 text: save it as UTF-8 (a spreadsheet calls it `CSV UTF-8`)")
    if b"\0" in content:
        raise InputError(f"{path}: holds zero bytes: no text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: line {line}: byte {content[error.start]:#04x} is not UTF-8: save the file as UTF-8"
        ) from error
