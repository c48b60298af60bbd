"""The legend of a chart as HTML, from its specification: it wraps, and takes its space before the chart is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from analysis.report.html.render import render

_CHANNELS = ("color", "shape", "strokeDash", "size")
_PATHS = {
    "circle": "M7 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "square": "M7.5 2.5h7v7h-7z",
    "triangle-up": "M11 1.5l4.5 8h-9z",
    "triangle-down": "M11 10.5l4.5-8h-9z",
    "triangle-right": "M15.5 6l-8-4.5v9z",
    "triangle-left": "M6.5 6l8-4.5v9z",
    "diamond": "M11 1l4 5l-4 5l-4-5z",
    "cross": "M9.5 1.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
}


@dataclass
class _Key:
    """The legend of one field."""

    title: str
    values: list[Any]
    marks: set[str] = field(default_factory=set)
    looks: dict[str, dict[Any, Any]] = field(default_factory=dict)
    """Channel -> value -> colour, shape, dashes or line width."""

    def swatch(self, value: Any) -> dict[str, Any]:
        path = ""
        if "shape" in self.looks:
            path = _PATHS[self.looks["shape"][value]]
        elif "bar" in self.marks:
            path = "M4 0h12v12h-12z"
        return {
            "colour": self.looks.get("color", {}).get(value, "var(--ink)"),
            "line": bool(self.marks & {"line", "rule"}),
            "width": self.looks.get("size", {}).get(value, 2),
            "dash": " ".join(str(length) for length in self.looks.get("strokeDash", {}).get(value, [])),
            "path": path,
        }


def legend(spec: dict[str, Any]) -> Markup:
    """A list for every field with a scale and a legend, except fields with a single value."""
    keys: dict[str, _Key] = {}
    for unit in _units(spec):
        for channel in _CHANNELS:
            encoding = unit.get("encoding", {}).get(channel, {})
            scale, shown = encoding.get("scale") or {}, encoding.get("legend", {})
            if shown is None or "range" not in scale:
                continue
            values = (shown or {}).get("values") or scale["domain"]
            named = [value for value in scale["domain"] if value in values]
            key = keys.setdefault(encoding["field"], _Key(title=encoding.get("title") or "", values=named))
            mark = unit["mark"]
            key.marks.add(mark["type"] if isinstance(mark, dict) else mark)
            key.looks[channel] = dict(zip(scale["domain"], scale["range"], strict=True))
    return render(
        "sections/legend",
        keys=[
            {"title": key.title, "swatches": [(value, key.swatch(value)) for value in key.values]}
            for key in keys.values()
            if len(key.values) > 1
        ],
    )


def without_legends(spec: Any) -> Any:
    """The specification without legends, for a page that has them as HTML."""
    if isinstance(spec, list):
        return [without_legends(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    bare = {key: without_legends(item) for key, item in spec.items()}
    for channel in _CHANNELS:
        encoding = bare.get("encoding", {}).get(channel, {})
        if "field" in encoding:
            encoding["legend"] = None
    return bare


def _units(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Views with a mark, in layers and panels."""
    if "mark" in spec:
        yield spec
    for inner in [spec["spec"]] if "spec" in spec else spec.get("layer", []):
        yield from _units(inner)
