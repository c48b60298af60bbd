"""What a session found, on a terminal: the scaling table, every run's training summary, one closing sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.text import Text

from analysis import database, sessions, tables
from analysis.plain import cell, number
from analysis.rounding import estimate, spread
from analysis.sentence import closing_sentence
from analysis.tables import Column

Row = dict[str, Any]

_STYLES = {
    "superlinear": "green",
    "excellent": "green",
    "good": "green",
    "acceptable": "yellow",
    "poor": "red",
    "retrograde": "red",
}


def show(
    results: Path,
    session: str | None = None,
    *,
    tag: str | None = None,
    every_run: bool = True,
    out: Console | None = None,
) -> None:
    """Print a session, by default the newest; `every_run` adds a line per run to the scaling table.

    Raises AnalysisError where there is none of that name or tag."""
    out = out or tables.console()
    with database.reader(results) as connection:
        session_id = sessions.choose(connection, session, tag)
        points = _by_plan(
            connection, session_id, _rows(connection, "FROM scaling WHERE session_id = $1", session_id)
        )
        coverage = _rows(connection, "FROM coverage WHERE session_id = $1", session_id)
        runs = _by_plan(
            connection, session_id, _rows(connection, "FROM run_summary WHERE session_id = $1", session_id)
        )
    _show_points(out, session_id, points, coverage)
    if every_run:
        _show_runs(out, [run for run in runs if run["measured_steps"]])
    _show_reasons(out, coverage)
    out.print(Text(closing_sentence(points), style="bold"))


def scaling_rows(results: Path, session_id: str) -> list[Row]:
    """A session's rows of the view `scaling` in the order of its plan; values that JSON knows only."""
    with database.reader(results) as connection:
        rows = _rows(connection, "FROM scaling WHERE session_id = $1", session_id)
        return _by_plan(connection, session_id, rows)


def _rows(connection: duckdb.DuckDBPyConnection, query: str, *values: str) -> list[Row]:
    result = connection.execute(query, list(values))
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _by_plan(connection: duckdb.DuckDBPyConnection, session_id: str, rows: list[Row]) -> list[Row]:
    """Cases as the suite orders them, then by size."""
    planned = _rows(connection, "SELECT case_name FROM planned_runs WHERE session_id = $1", session_id)
    order = {name: place for place, name in enumerate(dict.fromkeys(row["case_name"] for row in planned))}
    return sorted(
        rows,
        key=lambda row: (
            order.get(row["case_name"], len(order)),
            row["case_name"],
            *(row[name] for name in _PLACEMENT),
            row.get("repeat", 0),
        ),
    )


_PLACEMENT = ("workers", "nodes", "ranks_per_node", "threads")


def _column(rows: Sequence[Row], heading: str, show_row: Callable[[Row], str], **options: Any) -> Column:
    return Column(heading=heading, cells=[show_row(row) for row in rows], **options)


def _number(name: str, digits: int = 4, factor: float = 1) -> Callable[[Row], str]:
    return lambda row: "" if row[name] is None else number(factor * row[name], digits, strip=False)


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: cell(row[name])


def _show_points(out: Console, session_id: str, points: list[Row], coverage: list[Row]) -> None:
    troubles = {_place(row): _trouble(row) for row in coverage}
    keys = [
        _column(points, "configuration", _configuration, number=False),
        _column(points, "ranks", _text("world_size")),
    ]
    columns = [
        _column(points, "nodes", _text("nodes")),
        _column(points, "examples/s", _value("throughput")),
        _column(points, "speedup", _value("speedup")),
        _column(points, "efficiency [95 %]", _efficiency, number=False),
        _column(
            points,
            "verdict",
            lambda row: "; ".join(filter(None, [_verdict(row), troubles.get(_place(row))])),
            number=False,
            styles=[_STYLES.get(row["verdict"], "") for row in points],
        ),
        _column(points, "step ms ± std", _step),
        _column(points, "run s", _number("elapsed_s")),
        _column(points, "s/epoch", _epoch),
        _column(points, "best val loss", _number("best_val_loss")),
        _column(points, "best val acc", _number("best_val_accuracy", 3)),
        _column(points, "job", _text("slurm_job_id"), number=False),
    ]
    tables.show(out, session_id, keys, columns)


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("case_name", "nodes", "ranks_per_node", "threads"))


def _configuration(row: Row) -> str:
    return cell(f"{row['case_name']} t{row['threads']}" if row["axis"] == "threads" else row["case_name"])


def _value(name: str) -> Callable[[Row], str]:
    """Without its interval."""
    return lambda row: (
        "" if row[name] is None else estimate(row[name], row[f"{name}_lo"], row[f"{name}_hi"])[0]
    )


def _epoch(row: Row) -> str:
    """Its interval is that of the throughput, upside down."""
    epoch, rate = row["time_per_epoch_s"], row["throughput"]
    if epoch is None:
        return ""
    ends = (row["throughput_hi"], row["throughput_lo"])
    low, high = (None if end is None else epoch * rate / end for end in ends)
    return estimate(epoch, low, high)[0]


def _efficiency(row: Row) -> str:
    if row["efficiency"] is None:
        return ""
    has_interval = row["efficiency_lo"] is not None and not row["is_baseline"]
    ends = (100 * row[name] if has_interval else None for name in ("efficiency_lo", "efficiency_hi"))
    value, interval = estimate(100 * row["efficiency"], *ends)
    return f"{value:>4} % {interval}".rstrip()


def _verdict(row: Row) -> str:
    if row["oversubscribed"]:
        return "oversubscribed"
    return row["verdict"] or ("baseline" if row["is_baseline"] and row["scaling"] != "none" else "")


def _trouble(row: Row) -> str:
    """Repeats that are not ok, by what became of them."""
    kinds = ("oom", "failed", "timeout", "interrupted", "skipped", "missing")
    return ", ".join(f"{row[kind]} {kind}" for kind in kinds if row[kind])


def _step(row: Row) -> str:
    if row["step_ms_mean"] is None:
        return ""
    return " ± ".join(filter(None, spread(row["step_ms_mean"], row["step_ms_std"])))


def _show_runs(out: Console, runs: list[Row]) -> None:
    if not runs:
        return
    columns = [
        _column(runs, "steps", _text("measured_steps")),
        _column(runs, "step ms", _number("step_ms_mean")),
        _column(runs, "min", _number("step_ms_min")),
        _column(runs, "max", _number("step_ms_max")),
        _column(runs, "examples/s", _number("throughput")),
        _column(runs, "mean loss", _number("mean_loss")),
        _column(runs, "final loss", _number("final_loss")),
        _column(runs, "peak MiB", _number("peak_memory_allocated_bytes", factor=2**-20)),
        _column(runs, "mean MiB", _number("mean_memory_allocated_bytes", factor=2**-20)),
    ]
    tables.show(out, "Runs", [_column(runs, "run", _text("run_id"), number=False)], columns)


def _show_reasons(out: Console, coverage: list[Row]) -> None:
    """Why runs are not ok: a failure is never just a gap in a table."""
    for row in coverage:
        if row["reasons"]:
            place = f"{row['case_name']} {row['nodes']}x{row['ranks_per_node']}"
            out.print(Text(f"{place}: {_trouble(row)}: {cell(row['reasons'])}"))
