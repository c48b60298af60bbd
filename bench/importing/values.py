"""From a cell's text to a number, or the reason why it is none. No locale is guessed: 1,234 could be either."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

LARGEST_WORLD = 1_000_000
LARGEST_REPEAT = 99_999
LARGEST_COUNT = 2**53
"""Of examples and epochs: throughput is made from them, and beyond it a float skips whole numbers."""
SHORTEST_S = 1e-6
LARGEST_S = 1e9

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f_]\d{3})+(\.\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d[\d. ]*,\d+", re.ASCII)
_QUANTITY = re.compile(r"(?P<number>[+-]?[\d.,]+(?:[eE][+-]?\d+)?)\s*(?P<unit>[^\W\d]+|%)\.?")
_CLOCK = re.compile(r"(\d{1,6}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)", re.ASCII)

SECONDS = {
    "ms": Decimal("0.001"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
}
"""Units of time as tables and logs write them."""


class BadValueError(ValueError):
    """What is wrong with a value, and what to write instead."""


@dataclass(frozen=True)
class Duration:
    """Seconds with the digits that were written."""

    seconds: Decimal
    half_digit: Decimal
    """Half a unit of the last digit, in seconds: how far rounding may have moved it."""

    def __float__(self) -> float:
        return float(self.seconds)


def decimal(text: str) -> Decimal:
    """A finite number. Raises BadValueError."""
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    raise BadValueError(f"{text[:40]!r} {_why_no_number(text)}")


def _why_no_number(text: str) -> str:
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
    """Raises BadValueError."""
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
    """Above 0 s: `362.45` with a unit of its own or that of the heading, or `1:02:03`. Raises BadValueError."""
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (Decimal(part) for part in match.groups())
        return _checked(text, seconds, Decimal(1), 3600 * hours + 60 * minutes)
    match = _QUANTITY.fullmatch(text)
    if match and match["unit"].lower() in SECONDS:
        return _checked(text, decimal(match["number"]), SECONDS[match["unit"].lower()])
    number = decimal(text)
    if unit is None:
        raise BadValueError(
            f"{text} has no unit, neither here nor in the heading: write {text} s or {text} min"
        )
    return _checked(text, number, SECONDS[unit])


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
    """Null where the time of an epoch may have been rounded from zero."""
    low, high = Fraction(epoch.seconds - epoch.half_digit), Fraction(epoch.seconds + epoch.half_digit)
    if low <= 0:
        return None
    return Fraction(total.seconds - total.half_digit) / high, Fraction(total.seconds + total.half_digit) / low


def common_epochs(ranges: list[EpochRange | None]) -> int | None:
    """The one whole number that lies within all ranges; null where there is none or more than one."""
    known = [found for found in ranges if found is not None]
    if not known:
        return None
    least, most = math.ceil(max(low for low, _ in known)), math.floor(min(high for _, high in known))
    return least if least == most and least >= 1 else None
