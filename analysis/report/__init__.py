"""The report: one HTML file per session, an index and comparisons, offline, from views to charts.

Data flow: contents (queries/*.sql) -> figures (charts/*.py) and tables -> session_page -> document.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def write(results: Path, sessions: Sequence[str], out: Path, *, compare: bool = False) -> list[Path]:
    """Write a page for each session of the database (all where none is named) and the index of all into `out`, which
    is made where it is not there; with `compare` also a page that compares the sessions that are named, the first
    being the baseline. Returns the pages' paths, the index last. Raises AnalysisError for a session that there is
    not, fewer than two to compare or more than there are colours, or a database that cannot be read."""
    from analysis.report.bundle import Bundle

    with Bundle() as bundle:  # made while the modules below are imported
        from analysis.report.pages import write_pages

        return write_pages(results, sessions, out, bundle, compare=compare)
