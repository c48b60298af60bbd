"""The legend of a chart as HTML, from its specification: it wraps, and takes its place before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from analysis.report.markup import attribute, text

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
    """What stands for the values of one field."""

    title: str
    values: list[Any]
    marks: set[str] = field(default_factory=set)
    looks: dict[str, dict[Any, Any]] = field(default_factory=dict)
    """Channel -> value -> colour, shape, dashes or width of line."""


def legend(spec: dict[str, Any]) -> str:
    """A list for every field that has a scale and a legend; nothing where one value would explain itself."""
    keys: dict[str, _Key] = {}
    for view in _units(spec):
        for channel in _CHANNELS:
            _note(keys, view, channel)
    return "".join(_list(key) for key in keys.values() if len(key.values) > 1)


def without_legends(spec: Any) -> Any:
    """The specification for a page that has them as HTML."""
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
    if "mark" in spec:
        yield spec
    for inner in [spec["spec"]] if "spec" in spec else spec.get("layer", []):
        yield from _units(inner)


def _note(keys: dict[str, _Key], view: dict[str, Any], channel: str) -> None:
    encoding = view.get("encoding", {}).get(channel, {})
    scale, shown = encoding.get("scale") or {}, encoding.get("legend", {})
    if shown is None or "range" not in scale:
        return
    values = (shown or {}).get("values") or scale["domain"]
    key = keys.setdefault(
        encoding["field"],
        _Key(title=encoding.get("title") or "", values=[v for v in scale["domain"] if v in values]),
    )
    mark = view["mark"]
    key.marks.add(mark["type"] if isinstance(mark, dict) else mark)
    key.looks[channel] = dict(zip(scale["domain"], scale["range"], strict=True))


def _list(key: _Key) -> str:
    title = f'<li class="title">{text(key.title)}</li>' if key.title else ""
    items = "".join(
        f'<li title="{attribute(value)}">{_swatch(key, value)}{text(value)}</li>' for value in key.values
    )
    return f'<ul class="legend">{title}{items}</ul>'


def _swatch(key: _Key, value: Any) -> str:
    colour = attribute(key.looks.get("color", {}).get(value, "var(--ink)"))
    return f'<svg width="22" height="12" aria-hidden="true">{"".join(_parts(key, value, colour))}</svg>'


def _parts(key: _Key, value: Any, colour: str) -> Iterator[str]:
    if key.marks & {"line", "rule"}:
        dash = " ".join(str(length) for length in key.looks.get("strokeDash", {}).get(value, []))
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        width = key.looks.get("size", {}).get(value, 2)
        yield f'<path d="M0 6h22" stroke="{colour}" stroke-width="{width}"{dashed}/>'
    if "shape" in key.looks:
        yield f'<path d="{_PATHS[key.looks["shape"][value]]}" fill="{colour}"/>'
    elif "bar" in key.marks:
        yield f'<path d="M4 0h12v12h-12z" fill="{colour}"/>'
