"""The report: one HTML file per session, an index, histories and comparisons, all offline.

Data flow: pages/session_data.py runs queries/*.sql; charts/*.py draw the rows and sections/*.py tabulate them;
pages/session.py puts the sections in order; templates/*.html make them a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

OnFailure = Callable[[str, Exception], None]
"""Is told the name of a page that cannot be made, and why."""


def write(
    results: Path,
    sessions: Sequence[str],
    out: Path,
    *,
    compare: bool = False,
    redact: bool = False,
    on_failure: OnFailure | None = None,
) -> list[Path]:
    """Write a page for each session [default: all], their suites' histories and the index into the folder `out`, which
    is created if missing. With `compare`, also write a page that compares these sessions with the first, the baseline.
    With `redact`, the pages have no host names, paths and command lines. Returns the paths of the pages, the index
    last. A page that cannot be made is left out and told to `on_failure`; if that is null, its error is raised.

    Raises AnalysisError for an unknown session, fewer than two to compare, more than there are colours, or a database
    that cannot be read.
    """
    from analysis.report.html.vega_bundle import Bundle

    with Bundle() as bundle:  # made while the modules below are imported
        from analysis.report.pages.write import write_pages

        return write_pages(
            results, sessions, out, bundle, compare=compare, redact=redact, on_failure=on_failure
        )
