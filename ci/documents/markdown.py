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
    if "throughput" in name.split("_") and not name.endswith(("_unit", "_factor")):
        return "examples/s"
    if name.endswith("_per_s"):
        counted = name.removesuffix("_per_s").rpartition("_")[2]
        return f"{_COUNTED.get(counted, counted)}/s"
    for part in reversed(name.split("_")):
        if part in _UNITS:
            return _UNITS[part]
    return ""


_UNITS = {
    "ns": "ns", "us": "µs", "ms": "ms", "s": "s", "bytes": "bytes", "mb": "MiB", "w": "W", "j": "J", "c": "°C",
    "mhz": "MHz", "gbps": "GB/s",
}  # fmt: skip
"""Units by the suffix of a name."""
_COUNTED = {"flops": "FLOP", "tflops": "TFLOP"}
"""Names of counts per second whose unit is written differently."""
