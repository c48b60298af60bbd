"""Every chart of a session's page with its question and how to read it."""

from __future__ import annotations

from analysis.report.charts import all_charts
from ci.documents.markdown import table


def questions() -> str:
    rows = [(chart.question, chart.reading) for chart in all_charts().values()]
    return table(("question", "how to read the chart"), rows)
