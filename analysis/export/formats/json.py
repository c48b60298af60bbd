"""An array with one object per row: every digit, NaN and infinities as null."""

from __future__ import annotations

from analysis.export.format_types import Rows
from analysis.sql import output

FORMAT = Rows(write=output.write_json)
