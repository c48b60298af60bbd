"""Choose the digits of a number: three significant ones, or more if its interval would otherwise vanish.

Fewer would hide how rows relate to each other: a speedup of 0.88 on 2 ranks, with an efficiency of 44 %, must not
read 0.9 and 40 %. The interval shows how uncertain a number is; it ends at the same decimal place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

SIGNIFICANT_DIGITS = 3
"""Digits of every number; a larger whole number keeps all its digits."""
_MOST_DIGITS = 6
"""Most digits, even if the interval is narrower."""


WIDEST = 4.0
"""Largest ratio of the ends of an interval that tells something about a ratio, such as a speedup."""
TOO_WIDE = "too noisy"
"""Printed in place of a wider interval."""


def telling_estimate(
    value: float,
    low: float | None,
    high: float | None,
    *,
    apart_from: float | None = None,
    kind: Callable[[float], object] | None = None,
) -> tuple[str, str]:
    """`estimate` of a speedup, a throughput or another quantity above 0, with `too noisy` in place of an interval that
    tells nothing."""
    number, interval = estimate(value, low, high, apart_from=apart_from, kind=kind)
    return number, TOO_WIDE if is_too_wide(low, high) else interval


def is_too_wide(low: float | None, high: float | None) -> bool:
    """Whether the ends of an interval differ by more than a factor of four."""
    return low is not None and high is not None and high > WIDEST * low


def estimate(
    value: float,
    low: float | None,
    high: float | None,
    *,
    apart_from: float | None = None,
    kind: Callable[[float], object] | None = None,
    digits: int = SIGNIFICANT_DIGITS,
) -> tuple[str, str]:
    """A value and its interval: `1.51` and `[1.44, 1.57]`, the latter empty without an interval. An
    interval that excludes `apart_from` is written so that it shows: it must not read as if it ended there. Nor does a
    number read as one of another `kind`, such as a verdict. `digits`: significant ones, if that keeps all apart."""
    decimals = max(_place(value, digits), 0)
    if low is None or high is None:
        while decimals < _place(value, _MOST_DIGITS) and _misreads((value,), kind, decimals):
            decimals += 1
        return shown(value, decimals), ""
    if value == low == 0 < high:  # at a bound: only the upper end has digits
        return "0", f"[0, {shown(high, decimals_of(high))}]"
    if low < 0 < high:  # the difference may be nothing, so its small value is chance
        decimals = min(decimals, decimals_of(max(low, high, key=abs)))
    numbers = (value, low, high)
    if apart_from is not None and low <= apart_from <= high:
        apart_from = None
    while decimals < _place(value, _MOST_DIGITS) and (
        (low < high and _touches(value, low, high, decimals))
        or _hides(numbers, apart_from, decimals)
        or _misreads(numbers, kind, decimals)
    ):
        decimals += 1
    return shown(value, decimals), f"[{_beside(low, decimals)}, {_beside(high, decimals)}]"


def _touches(value: float, low: float, high: float, decimals: int) -> bool:
    """Whether an end of the interval reads like the value itself."""
    return shown(value, decimals) in (shown(low, decimals), shown(high, decimals))


def _hides(numbers: tuple[float, ...], apart_from: float | None, decimals: int) -> bool:
    """Whether a number that differs from `apart_from` reads like it."""
    return any(number != apart_from == round(number, decimals) for number in numbers)


def _misreads(numbers: tuple[float, ...], kind: Callable[[float], object] | None, decimals: int) -> bool:
    """Whether a number reads like one of another kind."""
    return kind is not None and any(kind(number) != kind(round(number, decimals)) for number in numbers)


def spread(mean: float, deviation: float | None) -> tuple[str, str]:
    """A mean and its standard deviation: `21.2` and `1.7`; the latter is empty without a deviation."""
    decimals = decimals_of(mean)
    return shown(mean, decimals), "" if deviation is None else _beside(deviation, decimals)


def decimals_of(value: float) -> int:
    """The number of decimal places of the value."""
    return max(_place(value, SIGNIFICANT_DIGITS), 0)


def _beside(value: float, decimals: int) -> str:
    """The value at the same decimal place. A value above 0 never reads as 0: no interval of a ratio reaches 0."""
    text = shown(value, decimals)
    if not value or any(digit in text for digit in "123456789"):
        return text
    own = _place(value, 1)
    return shown(value, own) if own <= _MOST_DIGITS else f"{value:.0e}"


def _place(value: float, digits: int) -> int:
    """The decimal place of that significant digit."""
    return digits - 1 - (math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0)


def shown(value: float, decimals: int) -> str:
    """The number as text: `3.81`, `1,230`, `−12`, with a true minus sign; never `−0.0`."""
    return f"{value:z,.{min(max(decimals, 0), 12)}f}".replace("-", "\u2212")


def percent(value: float, low: float | None = None, high: float | None = None) -> tuple[str, str]:
    """A share of the ranks' time and its interval: `43 %` and `[38, 49]`, below a tenth with one decimal, as the SQL
    macro share_text writes it."""
    interval = "" if low is None or high is None else f"[{_percents(low)}, {_percents(high)}]"
    return f"{_percents(value)} %", interval


def _percents(fraction: float) -> str:
    return shown(100 * fraction, 1 if abs(fraction) < 0.0995 else 0)


def signed_percent(fraction: float) -> str:
    """A relative error: `+3 %`, `−12 %`."""
    return f"{round(100 * fraction):+,d} %".replace("-", "\u2212")
