"""Read a file's text, and parse the text of a cell into a number or say why it is not one.

No locale is guessed: 1,234 could be a thousand or a fraction, so it is refused.
"""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from bench.common.errors import InputError
from bench.importing.printed import without_colours

LARGEST_WORLD = 1_000_000
LARGEST_REPEAT = 99_999
LARGEST_COUNT = 2**53
"""Most examples or epochs: throughput is computed from them, and a float is not exact beyond."""
SHORTEST_S = 1e-6
LARGEST_S = 1e9

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f_]\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d[\d. ]*,\d+", re.ASCII)
_QUANTITY = re.compile(r"(?P<number>[+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*(?P<unit>[^\W\d]+|%)\.?")
_CLOCK = re.compile(
    r"(?:(?P<days>\d{1,5})(?:-|\s*d(?:ays?)?,?\s*))?(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)", re.ASCII
)
_PART = r"[\d.,]*\d(?:[eE][+-]?\d+)?\s*[^\W\d_]+\.?"
"""A number and its unit."""
_BETWEEN = r"(?:\s*,)?\s*(?:and\s+)?"
_PARTS = re.compile(rf"{_PART}(?:{_BETWEEN}{_PART})*", re.ASCII)
_NO_TIME = re.compile(
    r"[,.]?\s+(?:and\s+)?[\d.,]+\s*(?:epochs?|steps?|it(?:eration|er)?s?|batch(?:es)?|samples?|examples?|images?|tokens?|"
    r"gpus?|ranks?|nodes?)\b",
    re.ASCII | re.IGNORECASE,
)
"""Counts that may follow a time in its line."""

SECONDS = {
    "ms": Decimal("0.001"),
    **dict.fromkeys(("d", "day", "days"), Decimal(86_400)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
}
"""Units of time as tables and logs write them."""


class BadValueError(ValueError):
    """A value that cannot be parsed; the message says why, and what to write instead."""


@dataclass(frozen=True)
class Duration:
    """A time with the precision in which it was written."""

    seconds: Decimal
    half_digit: Decimal
    """Half a unit of the last digit, in seconds: the largest rounding error."""

    def __float__(self) -> float:
        return float(self.seconds)


def decimal(text: str) -> Decimal:
    """A finite number. Raises BadValueError."""
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    raise BadValueError(f"{text[:40]!r} {_why_not_a_number(text)}")


def _why_not_a_number(text: str) -> str:
    if re.fullmatch(r"[+-]?\d{1,3},\d{3}", text):
        return "can be read in two ways: write 1234 or 1.234, without a comma"
    if _GROUPED.fullmatch(text):
        plain = re.sub(r"[^\d.+-]", "", text)
        return f"has a separator between thousands: write {plain}"
    if _DECIMAL_COMMA.fullmatch(text):
        whole, _, part = text.rpartition(",")
        return f"has a decimal comma: write {re.sub(r'[. ]', '', whole)}.{part}"
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return "is not a finite number"
    if match := _QUANTITY.fullmatch(text):
        return f"has a unit: write {match['number']}"
    return "is not a number"


def whole(text: str, least: int, most: int) -> int:
    """A whole number within bounds. Raises BadValueError."""
    value = decimal(text)
    if value != value.to_integral_value():
        raise BadValueError(f"{text} is not a whole number")
    if not least <= value <= most:
        raise BadValueError(f"{text[:40]} is not within {least} and {most:,}")
    return int(value)


def finite(text: str) -> float:
    """A finite number. Raises BadValueError."""
    value = float(decimal(text))
    if not math.isfinite(value) or abs(value) > 1e300:
        raise BadValueError(f"{text[:40]} is too large")
    return value


def fraction(text: str, *, per_cent: bool = False) -> float:
    """From 0 to 1; `95.3 %`, or with `per_cent` a bare 95.3, is 0.953. Raises BadValueError."""
    if text.endswith("%"):
        text, per_cent = text[:-1].rstrip(), True
    value = float(decimal(text) / 100) if per_cent else finite(text)
    if 0 <= value <= 1:
        return value
    if not per_cent and 1 < value <= 100:
        raise BadValueError(f"{text} is not a fraction from 0 to 1: write {float(decimal(text) / 100):g}")
    raise BadValueError(f"{text[:40]} is not a fraction from 0 to 1")


def duration(text: str, unit: str | None) -> Duration:
    """A time above 0 s: `1:02:03`, `1-02:03:04`, `1 h 2 min 3 s`, or a number with its own unit or the heading's.

    Raises BadValueError."""
    if match := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
        return _checked(text, seconds, Decimal(1), 86_400 * days + 3_600 * hours + 60 * minutes)
    match = _QUANTITY.fullmatch(text)
    if match and match["unit"].lower() in SECONDS:
        return _checked(text, decimal(match["number"]), SECONDS[match["unit"].lower()])
    if match is None and _PARTS.fullmatch(text):
        return _of_parts(text)
    number = decimal(text)
    if unit is None:
        raise BadValueError(
            f"{text} has no unit, neither here nor in the heading: write {text} s or {text} min"
        )
    return _checked(text, number, SECONDS[unit])


def _of_parts(text: str) -> Duration:
    """A time in several units, the largest first."""
    total, units = Decimal(0), list[Decimal]()
    for part in re.findall(_PART, text, re.ASCII):
        match = _QUANTITY.fullmatch(part)
        unit_s = SECONDS.get(match["unit"].lower()) if match else None
        if match is None or unit_s is None or any(unit_s >= larger for larger in units):
            raise BadValueError(f"{text[:60]!r} is not a time: {part!r} cannot follow what is before it")
        number = decimal(match["number"])
        if units and total != total.to_integral_value():
            raise BadValueError(f"{text[:60]!r} is not a time: only its last number may have a fraction")
        units.append(unit_s)
        total, last = total + number * unit_s, number
    return _checked(text, last, units[-1], total - last * units[-1])


def said_duration(text: str) -> Duration:
    """The time at the beginning of a text, up to a bracket or a semicolon, or to what the text counts after it. Raises
    BadValueError if there is none, or if it goes on in a way that is not read."""
    text = re.split(r"[(;|\[]", text, maxsplit=1)[0].strip()
    if counted := _NO_TIME.search(text):
        text = text[: counted.start()]
    whole = _CLOCK.match(text) or _PARTS.match(text)
    if whole is None:
        return duration(" ".join(text.split()[:2]).rstrip(".,"), None)
    rest = text[whole.end() :].lstrip(" ,.:")
    if rest[:1].isdigit() or rest.startswith("/"):
        raise BadValueError(f"{text[:60]!r} is not a time: {rest[:20]!r} follows it")
    return duration(whole[0].rstrip(".,"), None)


def _checked(text: str, number: Decimal, unit_s: Decimal, more_s: Decimal = Decimal(0)) -> Duration:
    seconds = number * unit_s + more_s
    if seconds <= 0:
        raise BadValueError(f"{text[:40]} is not above 0: a training takes time")
    if seconds < SHORTEST_S:
        raise BadValueError(f"{text[:40]} is shorter than {SHORTEST_S:g} s: no training is")
    if seconds > LARGEST_S:
        raise BadValueError(f"{text[:40]} is longer than {LARGEST_S:,.0f} s")
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return Duration(seconds, Decimal(1).scaleb(exponent) / 2 * unit_s)


EpochRange = tuple[Fraction, Fraction]
"""The least and the greatest number of epochs that two rounded times allow."""


def epoch_range(total: Duration, epoch: Duration) -> EpochRange | None:
    """The numbers of epochs that fit a total time and a time per epoch; null if the latter may be 0 before rounding."""
    low, high = Fraction(epoch.seconds - epoch.half_digit), Fraction(epoch.seconds + epoch.half_digit)
    if low <= 0:
        return None
    return Fraction(total.seconds - total.half_digit) / high, Fraction(total.seconds + total.half_digit) / low


def common_epochs(ranges: list[EpochRange | None]) -> int | None:
    """The only whole number within all ranges; null if there is none or more than one."""
    known = [found for found in ranges if found is not None]
    if not known:
        return None
    least, most = math.ceil(max(low for low, _ in known)), math.floor(min(high for _, high in known))
    return least if least == most and least >= 1 else None


MAX_BYTES = 64 * 2**20
"""Largest log: it may contain all output of a program."""
MAX_BYTES_OF_TABLES = 8 * 2**20
"""Largest file of another format."""
MAX_LINES = 2_000_000
LONGEST_LINE = 10_000
"""Most characters of a line of headings, or of a row of nccl-tests."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file's text."""

    name: str
    """File name, without its folder."""
    text: str
    sha256: str
    size_bytes: int

    @cached_property
    def lines(self) -> list[str]:
        """Only a line feed ends a line: a form feed in a log must not shift line numbers."""
        return self.text.split("\n")

    @cached_property
    def printed_lines(self) -> list[str]:
        """The lines without a terminal's colours."""
        return without_colours(self.text).split("\n")


def read_source(path: Path) -> Source:
    """Read UTF-8 text, with or without byte order mark, with any line ends. Raises InputError."""
    try:
        if path.is_dir():
            raise InputError(f"{path}: a folder: name the files in it")
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        if not path.is_file():
            raise InputError(f"{path}: a pipe or a device, not a file: save its output and name that file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)  # not all: a special file can be longer than its size says
        if len(content) > MAX_BYTES:
            raise InputError(
                f"{path}: larger than {MAX_BYTES >> 20} MiB, too large for timings: check that it is the right file"
            )
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    text = _decoded(path, content).replace("\r\n", "\n").replace("\r", "\n")
    if (lines := text.count("\n")) > MAX_LINES:
        raise InputError(f"{path}: {lines:,} lines are too many: import at most {MAX_LINES:,} at a time")
    if not text.strip():
        raise InputError(f"{path}: the file is empty")
    return Source(
        name=path.name, text=text, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content)
    )


def _decoded(path: Path, content: bytes) -> str:
    if content.startswith(_UTF16):
        raise InputError(f"{path}: UTF-16 text: save it as UTF-8 (a spreadsheet calls it `CSV UTF-8`)")
    if b"\0" in content:
        raise InputError(f"{path}: contains zero bytes: not a text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}: line {line}: byte {content[error.start]:#04x} is not UTF-8: save the file as UTF-8"
        ) from error
