"""One file per chart; its name is the chart's and that of its query in queries/. They stand in order of `order`."""

from __future__ import annotations

import importlib
import pkgutil

from analysis.report.chart import Chart


def names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]


def all_charts() -> dict[str, Chart]:
    """Every chart by its name, in the order in which a page shows them."""
    found = {name: importlib.import_module(f"{__name__}.{name}").CHART for name in names()}
    return dict(sorted(found.items(), key=lambda item: (item[1].order, item[0])))
