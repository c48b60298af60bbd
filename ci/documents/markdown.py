"""Tables, and the generated regions of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

REGION = re.compile(r"<!-- written by ci/docs: ([\w-]+) -->\n(.*?)<!-- end -->\n", re.S)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a bar or a line break in a cell does not break it."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def written(page: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """The page with every region rebuilt. Raises KeyError if a region has no maker."""

    def region(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!-- written by ci/docs: {name} -->\n\n{makers[name]().strip()}\n\n<!-- end -->\n"

    return REGION.sub(region, page)


def unit(name: str) -> str:
    """The unit in a key's or column's name; empty for a count, a ratio or text."""
    name = name.removesuffix("_lo").removesuffix("_hi")  # an interval has the unit of its quantity
    if name.endswith(("_unit", "_factor", "_log_variance")):
        return ""
    if "throughput" in name.split("_"):
        return "examples/s"
    if rate := _RATE.fullmatch(name):
        return f"{_COUNTED.get(rate[1], rate[1])}/{_UNITS[rate[2]]}"
    for part in reversed(name.split("_")):
        if part in _UNITS:
            return _UNITS[part]
    return ""


_UNITS = {
    "ns": "ns", "us": "µs", "ms": "ms", "s": "s", "bytes": "bytes", "mb": "MiB", "w": "W", "j": "J", "c": "°C",
    "mhz": "MHz", "gbps": "GB/s",
}  # fmt: skip
"""Units by the suffix of a name."""
_RATE = re.compile(r"(?:\w+_)?([a-z]+)_per_(s|j)(?:_per_device)?")
"""A name that ends in its unit, a count per second or per joule."""
_COUNTED = {"flops": "FLOP", "tflops": "TFLOP"}
"""Names of counts per second whose unit is written differently."""
