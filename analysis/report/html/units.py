"""Numbers for readers: with their significant digits and their unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

from markupsafe import Markup

from analysis.wording import numbers, plain_text

UNKNOWN = "–"
TIMES = "×"
"""The sign after a ratio, as in `1.72×`: the only unit without a space before it."""


def number(value: float | None, digits: int = 3) -> str:
    """The number as text: `3.81`, `1,234`, `0.00042`; a dash if unknown."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return numbers.shown(value, min(decimals, 9))


def _joined(number: str, unit: str) -> str:
    return f"{number}{unit}" if unit in ("", TIMES) else f"{number}\u00a0{unit}"


def with_unit(value: float | None, unit: str) -> str:
    text = number(value)
    return text if text == UNKNOWN else _joined(text, unit)


def percent(fraction: float | None) -> str:
    """0.9524 as `95.2 %`."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    return f"{100 * fraction:.1f}\u00a0%"


def signed_percent(fraction: float | None) -> str:
    """A relative error: `+3 %`, `−12 %`."""
    return UNKNOWN if fraction is None else numbers.signed_percent(fraction).replace(" ", "\u00a0")


def with_interval(
    value: float | None,
    low: float | None,
    high: float | None,
    unit: str = "",
    factor: float = 1,
    *,
    apart_from: float | None = None,
    show: Callable[..., tuple[str, str]] = numbers.estimate,
) -> str:
    """A value with its interval, three significant digits: `58.1 % [55, 61]`, `1.51×`; the interval is marked up."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    ends = (None if end is None else factor * end for end in (low, high))
    shown, interval = show(factor * value, *ends, apart_from=apart_from)
    return estimate(shown, interval, unit)


def estimate(shown: str, interval: str, unit: str) -> str:
    """The texts of a value and of its interval, marked up; a dash without a value."""
    return _marked(_joined(shown, unit), interval.replace(" ", "\u00a0")) if shown else UNKNOWN


def with_spread(mean: float | None, deviation: float | None, unit: str) -> str:
    """A mean with the digits that its standard deviation supports: `21.2 ms ± 1.7`; the spread is marked up."""
    if mean is None or not math.isfinite(mean):
        return UNKNOWN
    shown, spread = numbers.spread(mean, deviation)
    return _marked(f"{shown}\u00a0{unit}", spread and f"±\u00a0{spread}")


def _marked(shown: str, uncertainty: str) -> str:
    return Markup('{} <span class="interval">{}</span>').format(shown, uncertainty) if uncertainty else shown


def bytes_(value: float | None) -> str:
    """`21.0 GiB` is 21 × 2³⁰ bytes."""
    return UNKNOWN if value is None else plain_text.bytes_text(value, 3, strip=False).replace(" ", "\u00a0")


def seconds(value: float | None) -> str:
    """A time as text: `12 ms`, `3.4 s`, `2 min 05 s`, `1 h 02 min`."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value < 1:
        return with_unit(value * 1e3, "ms")
    if value < 60:
        return with_unit(value, "s")
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}\u00a0min {rest:02d}\u00a0s"
    return f"{minutes // 60}\u00a0h {minutes % 60:02d}\u00a0min"


def milliseconds(value: float | None) -> str:
    return with_unit(value, "ms")


def p_value(p: float | None) -> str:
    """`0.034`, `< 0.001`."""
    return "<\u00a00.001" if p is not None and p < 0.001 else number(p, 2)


def minute(moment: datetime | None) -> str:
    """`2026-11-23 10:15`."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else UNKNOWN


def watts(value: float | None) -> str:
    return with_unit(value, "W")
