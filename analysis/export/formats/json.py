"""An array with one object per row: every digit, NaN and infinities as null."""

from __future__ import annotations

from analysis import output
from analysis.export.kinds import Rows

FORMAT = Rows(write=output.write_json)
