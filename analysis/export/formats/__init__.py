"""One file per format; it has the format's name."""

from __future__ import annotations

import importlib

from analysis import export
from analysis.errors import AnalysisError
from analysis.export.format_types import Format


def named(name: str) -> Format:
    """The format of that name. Raises AnalysisError if there is none."""
    if name not in export.names():
        raise AnalysisError(f"no format {name!r}: there are {', '.join(export.names())}")
    found: Format = importlib.import_module(f"{__name__}.{name}").FORMAT
    return found
