"""Pages of sessions, from the database into files, one after another: only one session's rows are in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import duckdb

from analysis import database
from analysis.compare.sides import session_ids
from analysis.errors import AnalysisError
from analysis.fetched import Row
from analysis.report import contents, frames, theme
from analysis.report.bundle import Bundle
from analysis.report.compare.found import Comparisons, comparison_title, found
from analysis.report.compare.groups import Sides, flat, of_ids
from analysis.report.compare_page import compare_page
from analysis.report.files import compare_name, history_name, page_name, write_whole
from analysis.report.history import contents as histories
from analysis.report.history_page import history_page
from analysis.report.index_page import index_page
from analysis.report.session_page import session_page


def write_pages(
    results: Path, sessions: Sequence[str], out: Path, bundle: Bundle, *, compare: bool
) -> list[Path]:
    """As analysis.report.write."""
    with database.reader(results) as connection:
        known = frames.frame(connection, "sessions").to_dicts()
        sides = list(dict.fromkeys(tuple(session_ids(connection, said)) for said in sessions))
        wanted = list(dict.fromkeys(chain(*sides))) or [row["session_id"] for row in known]
        compared = _compared(sides, wanted) if compare else []
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)
            comparisons = found(out) | ({compare_name(compared): compared} if compared else {})
            suites = histories.suites(connection, wanted)
            others = _others(known, comparisons, suites)
            paths = list(_write(connection, {name: others[name] for name in wanted}, out, bundle))
            paths += _write_histories(connection, suites, out, bundle)
            if compared:
                page = compare_page(connection, compared, bundle.text())
                paths.append(_put(out / compare_name(compared), page))
            _put(out / "index.html", _index(known, out))
    return [*paths, out / "index.html"]


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or out
        raise AnalysisError(f"--out {out}: {place}: {error.strerror}; choose another folder") from error


def _compared(sides: Sequence[Sequence[str]], wanted: list[str]) -> Sides:
    if len(sides) < 2:
        raise AnalysisError(
            f"--compare needs two different sessions or more, the baseline first; {len(sides)} "
            f'{"was" if len(sides) == 1 else "were"} named. `bench sql "FROM sessions"` lists them'
        )
    twice = sorted(name for name, count in Counter(chain(*sides)).items() if count > 1)
    if twice:
        raise AnalysisError(f"--compare: {twice[0]} stands on two sides: name each session once")
    if len(wanted) > theme.CATEGORIES:
        raise AnalysisError(
            f"--compare takes {theme.CATEGORIES} sessions at most, as many as there are colours to tell them apart; "
            f"{len(wanted)} were named: name fewer, or compare them in groups with the same baseline first"
        )
    return of_ids(sides)


def _write(
    connection: duckdb.DuckDBPyConnection,
    own: Mapping[str, Mapping[str, str]],
    out: Path,
    bundle: Bundle,
) -> Iterator[Path]:
    """The pages' paths, each once it is there; `own` are the links to other pages of each session, words by file
    name."""
    for session_id, others in own.items():
        page = session_page(contents.read(connection, session_id), bundle.text(), others)
        yield _put(out / page_name(session_id), page)


def _write_histories(
    connection: duckdb.DuckDBPyConnection, suites: Sequence[str], out: Path, bundle: Bundle
) -> Iterator[Path]:
    for suite in suites:
        page = history_page(histories.read(connection, suite), bundle.text(), _page_in(out))
        yield _put(out / history_name(suite), page)


def _others(known: list[Row], comparisons: Comparisons, suites: Sequence[str]) -> dict[str, dict[str, str]]:
    """Of each session the links to other pages, words by file name: its suite's history, comparisons with it."""
    titles = _titles(known, comparisons)
    return {
        row["session_id"]: {
            **({history_name(row["suite"]): "History of this suite"} if row["suite"] in suites else {}),
            **{
                file: f"Comparison: {titles[file]}"
                for file, ids in comparisons.items()
                if row["session_id"] in flat(ids)
            },
        }
        for row in known
    }


def _titles(known: list[Row], comparisons: Comparisons) -> dict[str, str]:
    """By the file name of the page."""
    by_id = {row["session_id"]: row for row in known}
    return {name: comparison_title(ids, by_id) for name, ids in comparisons.items()}


def _put(path: Path, page: str) -> Path:
    write_whole(path, page)
    return path


def _index(known: list[Row], out: Path) -> str:
    """Of all sessions; pages, comparisons and histories may be from earlier reports."""
    comparisons = found(out)
    suites = sorted({row["suite"] for row in known})
    kept = {history_name(suite): suite for suite in suites if (out / history_name(suite)).is_file()}
    return index_page(
        known, _page_in(out), _titles(known, comparisons), comparisons, histories=kept, out=str(out)
    )


def _page_in(out: Path) -> Callable[[str], str | None]:
    """The file name of a session's page, null where there is none."""

    def link(session_id: str) -> str | None:
        name = page_name(session_id)
        return name if (out / name).is_file() else None

    return link
