"""Write the pages from the database into files, one after another: only one session's rows are in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import StringIO
from itertools import chain
from pathlib import Path

from analysis.compare.sides import session_ids
from analysis.database import connections
from analysis.database.interrupt import interruptible
from analysis.errors import AnalysisError
from analysis.report import named_queries
from analysis.report.drawing import theme
from analysis.report.html.files import compare_name, history_name, page_name, write_whole
from analysis.report.html.vega_bundle import Bundle
from analysis.report.pages import session_data
from analysis.report.pages.comparison.data import Sides, flat, of_ids
from analysis.report.pages.comparison.existing import compared_with, comparison_title, found
from analysis.report.pages.comparison.page import compare_page
from analysis.report.pages.history import data as histories
from analysis.report.pages.history.page import history_page
from analysis.report.pages.index import index_page
from analysis.report.pages.session import session_page
from analysis.report.redaction import redacting


def write_pages(
    results: Path,
    sessions: Sequence[str],
    out: Path,
    bundle: Bundle,
    *,
    compare: bool,
    redact: bool,
    on_failure: Callable[[str, Exception], None] | None,
) -> list[Path]:
    """See analysis.report.write."""
    with connections.reader(results) as connection, redacting(connection) if redact else nullcontext():
        known = named_queries.frame(connection, "sessions").to_dicts()
        sides = list(dict.fromkeys(tuple(session_ids(connection, named)) for named in sessions))
        wanted = list(dict.fromkeys(chain(*sides))) or [row["session_id"] for row in known]
        compared = _compared(sides, wanted) if compare else []
        suites = histories.suites(connection, wanted)
        suite_of = {row["session_id"]: row["suite"] for row in known}
        paths = []

        def link(session_id: str) -> str | None:
            """The file name of a session's page, also from an earlier report; None if there is none."""
            name = page_name(session_id)
            return name if (out / name).is_file() else None

        @contextmanager
        def page(name: str) -> Iterator[StringIO]:
            """Write the page that the block makes. If the block raises, report that and go on: one bad page must not
            cost the others."""
            made = StringIO()
            try:
                with interruptible():
                    yield made
            except Exception as error:
                if on_failure is None or isinstance(error, ModuleNotFoundError):
                    raise
                on_failure(name, error)
                return
            write_whole(out / name, made.getvalue())
            paths.append(out / name)

        with _output_errors(out):
            out.mkdir(parents=True, exist_ok=True)
            comparisons = found(out) | ({compare_name(compared): compared} if compared else {})
            by_id = {row["session_id"]: row for row in known}
            titles = {name: comparison_title(ids, by_id) for name, ids in sorted(comparisons.items())}
            for session_id in wanted:
                suite = suite_of[session_id]
                others = {history_name(suite): "History of this suite"} if suite in suites else {}
                others |= {
                    name: f"Comparison with {compared_with(ids, session_id, by_id)}"
                    for name, ids in comparisons.items()
                    if session_id in flat(ids)
                }
                with page(page_name(session_id)) as file:
                    contents = session_data.read(connection, session_id)
                    file.write(session_page(contents, bundle.text(), others))
            for suite in suites:
                with page(history_name(suite)) as file:
                    file.write(history_page(histories.read(connection, suite), bundle.text(), link))
            if compared:
                with page(compare_name(compared)) as file:
                    file.write(compare_page(connection, compared, bundle.text()))
            all_suites = sorted(set(suite_of.values()))
            index = index_page(
                known,
                link,
                titles,
                comparisons,
                histories={
                    history_name(suite): suite
                    for suite in all_suites
                    if (out / history_name(suite)).is_file()
                },
                out="public" if redact else str(out),
            )
            with page("index.html") as file:
                file.write(index)
    return paths


@contextmanager
def _output_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or out
        raise AnalysisError(f"--out {out}: {place}: {error.strerror}; choose another folder") from error


def _compared(sides: Sequence[Sequence[str]], wanted: list[str]) -> Sides:
    if len(sides) < 2:
        raise AnalysisError(
            f"--compare needs two different sessions or more, the baseline first; {len(sides)} "
            f"{'was' if len(sides) == 1 else 'were'} named. `bench sessions` lists them"
        )
    twice = sorted(name for name, count in Counter(chain(*sides)).items() if count > 1)
    if twice:
        raise AnalysisError(f"--compare: {twice[0]} is on two sides; name each session once")
    if len(wanted) > theme.CATEGORIES:
        raise AnalysisError(
            f"--compare takes at most {theme.CATEGORIES} sessions, one for each distinct colour; {len(wanted)} were "
            "named: name fewer, or compare them in groups with the same baseline first"
        )
    return of_ids(sides)
