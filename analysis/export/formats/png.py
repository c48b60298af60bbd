"""Pictures at twice a screen's resolution, on white; each contains its origin as text."""

from __future__ import annotations

import struct
import zlib

import vl_convert

from analysis.export.chart_picture import MARK
from analysis.export.format_types import Pictures

SCALE = 2
_HEAD_BYTES = 33
"""Length of the signature and the header chunk; text may follow them."""


def _write(svg: str, origin: str) -> bytes:
    picture: bytes = vl_convert.svg_to_png(svg, scale=SCALE)
    text = _text("Source", f"{origin}; {MARK}")
    return picture[:_HEAD_BYTES] + text + picture[_HEAD_BYTES:]


def _text(keyword: str, value: str) -> bytes:
    """An iTXt chunk, uncompressed UTF-8; see the PNG specification, 11.3.3.4."""
    content = b"iTXt" + keyword.encode() + b"\0\0\0\0\0" + value.encode()
    return struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))


FORMAT = Pictures(write=_write, is_ours=lambda content: MARK.encode() in content)
