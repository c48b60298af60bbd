"""The events of a Chrome trace, read piece by piece, so that memory does not grow with the file.

A trace is one JSON object. `traceEvents` is its long list; the other members are small. Nothing is kept of an event
that the caller does not keep.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bench.common.errors import InputError

EVENTS = "traceEvents"
LARGEST_TEXT = 32 << 30
"""Most bytes of a trace after decompression. A small file can expand to any size."""
_PIECE = 1 << 20
_LARGEST_VALUE = 64 << 20
"""Longest single event or member, in characters: a longer one is not a trace's."""
_GZIP = b"\x1f\x8b"
_HEAD = re.compile(
    rb'\s*\{\s*"(?:schemaVersion|deviceProperties|distributedInfo|traceEvents|displayTimeUnit|baseTimeNanoseconds|'
    rb'traceName|profile_memory|record_shapes|with_stack|with_flops|with_modules|cuda_\w+_version)"\s*:'
)
_LONGEST_TOKEN = 8
"""Characters of `Infinity`. So near to the end of the text an error may be that of a text that goes on."""
_CUT_SHORT = "not JSON: the file ends too early, or was cut short while it was written or copied"
_SPACE = re.compile(r"[ \t\n\r]*")


def matches(path: Path) -> bool:
    """Whether the file begins like a trace, compressed or not. Raises InputError if it cannot be read."""
    try:
        if not path.is_file():
            return False  # read_source says what it is
        with path.open("rb") as file:
            head = file.read(4_096)
        if head.startswith(_GZIP):
            with gzip.open(path) as file:
                head = file.read(4_096)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return True  # reading names the fault
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return _HEAD.match(head.removeprefix(codecs.BOM_UTF8)) is not None


class Trace:
    """One file. Iterate over `members` once; `sha256` is then the file's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def members(self) -> Iterator[tuple[str, Any]]:
        """Name and value of each member, in the file's order; each event as a member `traceEvents` of its own.

        Raises InputError if the file cannot be read or is no complete trace."""
        if not self.path.is_file():
            raise InputError(f"{self.path}: there is no such file")
        try:
            with self.path.open("rb") as file:
                is_gzip = file.read(2) == _GZIP
                file.seek(0)
                raw = _Hashed(file, self._hash)
                binary: IO[bytes] = gzip.GzipFile(fileobj=raw) if is_gzip else raw  # type: ignore[assignment]
                parser = _Parser(self.name, binary)
                yield from parser.members()
                parser.finish()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{self.name}: the compressed file is damaged or cut short: {error}") from error
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {error.strerror or error}") from error


class _Hashed(io.RawIOBase):
    """A file whose bytes are hashed as they are read."""

    def __init__(self, file: IO[bytes], into: Any) -> None:
        self._file, self._into = file, into

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._into.update(data)
        return data


class _Parser:
    """A window of text that moves over the file."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self._name, self._file = name, file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._json = json.JSONDecoder(parse_constant=lambda _: None)
        self._text = ""
        self._at = 0
        self._read = 0
        self._ended = False

    def members(self) -> Iterator[tuple[str, Any]]:
        self._expect("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            name = self._value()
            if not isinstance(name, str):
                raise self._fault("the name of a member is not a text")
            self._expect(":")
            if name == EVENTS and self._next() == "[":
                for event in self._elements():
                    yield EVENTS, event
            else:
                yield name, self._value()
            if not self._goes_on("}"):
                return

    def finish(self) -> None:
        """Read the rest of the file, which must be empty. Only at its end is an archive known to be whole."""
        while True:
            self._at = _end_of_space(self._text, self._at)
            if self._at < len(self._text):
                raise self._fault("something follows the trace")
            if not self._fill():
                return

    def _elements(self) -> Iterator[Any]:
        self._expect("[")
        if self._next() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            if not self._goes_on("]"):
                return

    def _goes_on(self, end: str) -> bool:
        sign = self._next()
        if sign not in (",", end):
            raise self._fault(f"expected ',' or '{end}'")
        self._at += 1
        return sign == ","

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise self._fault(f"expected '{sign}'")
        self._at += 1

    def _next(self) -> str:
        """The next sign that is not space."""
        while True:
            self._at = _end_of_space(self._text, self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                raise self._fault(_CUT_SHORT)

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
                # a number at the end of the window may go on
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            except RecursionError:
                raise self._fault("values are nested too deeply") from None
            except ValueError as error:
                at = getattr(error, "pos", len(self._text))
                may_go_on = at >= len(self._text) - _LONGEST_TOKEN or "Unterminated" in str(error)
                if self._ended and may_go_on:
                    raise self._fault(_CUT_SHORT) from None
                if not may_go_on:
                    raise self._fault(f"not JSON: {getattr(error, 'msg', error)}") from None
            if len(self._text) - self._at > _LARGEST_VALUE:
                raise self._fault(f"a value is longer than {_LARGEST_VALUE >> 20} MiB")
            self._fill()

    def _fill(self) -> bool:
        """Read a further piece; false at the end of the file."""
        if self._ended:
            return False
        data = self._file.read(
            max(_PIECE, len(self._text) - self._at)
        )  # a long value is tried again, so double it
        self._read += len(data)
        if self._read > LARGEST_TEXT:
            raise InputError(
                f"{self._name}: more than {LARGEST_TEXT >> 30} GiB of text: profile fewer steps, or cut the trace"
            )
        self._ended = not data
        self._text = self._text[self._at :] + self._decode.decode(data, final=self._ended)
        self._at = 0
        return True

    def _fault(self, what: str) -> InputError:
        near = self._text[self._at : self._at + 40]
        return InputError(f"{self._name}: about {self._read:,} bytes into its text: {what}: {near!r}")


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
