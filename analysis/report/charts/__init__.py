"""The charts of a session's page: a file for each chart, or for a family of charts that differ only in their quantity.

A file defines `CHART`, named after the file, or `CHARTS` by name. A chart draws the rows of queries/NAME.sql.
"""

from __future__ import annotations

import importlib
import pkgutil

from analysis.errors import AnalysisError
from analysis.report.drawing.chart import Chart


def all_charts() -> dict[str, Chart]:
    """Every chart by name, in the order of the page."""
    charts: dict[str, Chart] = {}
    for found in pkgutil.iter_modules(__path__):
        if not found.name.startswith("_"):
            module = importlib.import_module(f"{__name__}.{found.name}")
            if not hasattr(module, "CHARTS") and not hasattr(module, "CHART"):
                raise AnalysisError(f"{module.__file__}: defines neither CHART nor CHARTS")
            charts |= module.CHARTS if hasattr(module, "CHARTS") else {found.name: module.CHART}
    return dict(sorted(charts.items(), key=lambda item: (item[1].order, item[0])))
