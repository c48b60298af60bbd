"""A file's text, or why it is none."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from pathlib import Path

from bench.errors import InputError

MAX_BYTES = 64 * 2**20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file that was read."""

    name: str
    """Without its folder."""
    text: str
    sha256: str

    @property
    def lines(self) -> list[str]:
        """Only line feeds end a line: a form feed in a log must not shift the numbers."""
        return self.text.split("\n")


def read(path: Path) -> Source:
    """UTF-8 with or without its mark, any line ends. Raises InputError."""
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder: name the files in it")
        if not path.is_file():
            raise InputError(f"{path}: there is no such file")
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB: no table of timings")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    text = _decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return Source(name=path.name, text=text, sha256=hashlib.sha256(content).hexdigest())


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
