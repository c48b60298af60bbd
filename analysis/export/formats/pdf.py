"""Drawings for papers: vectors and fonts in one PDF page; a comment at its end says where it comes from."""

from __future__ import annotations

import vl_convert

from analysis.export.chart_picture import MARK
from analysis.export.format_types import Pictures


def _write(svg: str, origin: str) -> bytes:
    page: bytes = vl_convert.svg_to_pdf(svg)
    source = " ".join(f"{origin}; {MARK}".split())  # a comment ends with its line
    return page + f"\n% Source: {source}\n".encode()


FORMAT = Pictures(write=_write, is_ours=lambda content: MARK.encode() in content)
