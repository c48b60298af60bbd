"""A session as files for other programs: rows for a spreadsheet, tables for a paper, pictures for slides.

A format is a file in `formats/` that defines `FORMAT`; the file has the format's name. Importing this package is cheap.
"""

from __future__ import annotations

import pkgutil
from pathlib import Path

_FORMATS = Path(__file__).parent / "formats"


def names() -> list[str]:
    """The names of the formats."""
    found = pkgutil.iter_modules([str(_FORMATS)])
    return sorted(module.name for module in found if not module.name.startswith("_"))
