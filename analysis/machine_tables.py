"""What the machine can do at every size, on a terminal: bus bandwidth by message, multiplications by shape."""

from __future__ import annotations

from functools import partial

import duckdb
from rich.console import Console

from analysis import tables
from analysis.fetched import Row
from analysis.machine import bytes_text, flops_unit
from analysis.plain import number
from analysis.session_rows import session_rows
from analysis.summary_columns import column, text_of

_OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
"""In the order in which they are shown; others come after them."""
VIEWS = ("collective_bandwidth", "matmul_throughput")


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> dict[str, list[Row]]:
    """Rows of each of VIEWS that has some; by case and placement, then as large as they are."""
    found = {view: session_rows(connection, view, session_id) for view in VIEWS}
    return {view: _ordered(rows) for view, rows in found.items() if rows}


def show(out: Console, found: dict[str, list[Row]]) -> None:
    """`found` as `read` returns it; nothing of what was not measured."""
    if bandwidths := found.get("collective_bandwidth"):
        _show_bandwidths(out, bandwidths)
    if multiplications := found.get("matmul_throughput"):
        _show_multiplications(out, multiplications)


def _show_bandwidths(out: Console, rows: list[Row]) -> None:
    """A line per placement and message size, a column per operation."""
    lines: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((*_place(row), row["message_bytes"]), {})[row["op"]] = row
    firsts = [next(iter(line.values())) for line in lines.values()]
    columns = [column(firsts, "message", lambda row: bytes_text(row["message_bytes"]))]
    for op in sorted({row["op"] for row in rows}, key=_rank_of):
        cells = [_digits(line[op]["bus_gbps"]) if op in line else "" for line in lines.values()]
        columns.append(tables.Column(heading=op, cells=cells))
    tables.show(out, "Bus bandwidth in GB/s", _keys(firsts), columns)


def _show_multiplications(out: Console, rows: list[Row]) -> None:
    factor, unit = flops_unit(max(row["flops_per_s"] for row in rows))
    columns = [
        column(rows, "precision", text_of("precision"), number=False),
        *(column(rows, side, text_of(side)) for side in "mnk"),
        column(rows, unit, lambda row: _digits(row["flops_per_s"] / factor)),
        column(rows, "ms", lambda row: _digits(row["time_ms"])),
    ]
    tables.show(out, "Multiplications, m × k by k × n, of each rank", _keys(rows), columns)


def _keys(rows: list[Row]) -> list[tables.Column]:
    return [
        column(rows, "case", text_of("case_name"), number=False, foreign=True),
        column(rows, "placement", text_of("placement"), number=False),
    ]


def _ordered(rows: list[Row]) -> list[Row]:
    """Placements as the plan has them; within one by size, then operation."""
    places = {place: number for number, place in enumerate(dict.fromkeys(map(_place, rows)))}
    return sorted(rows, key=lambda row: (places[_place(row)], _size(row), _rank_of(row.get("op", ""))))


def _size(row: Row) -> tuple[int, ...]:
    if "message_bytes" in row:
        return (row["message_bytes"],)
    return row["m"] * row["n"] * row["k"], row["m"], row["n"]


def _rank_of(op: str) -> tuple[int, str]:
    return (_OPS.index(op) if op in _OPS else len(_OPS), op)


def _place(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("case_name", "nodes", "ranks_per_node", "threads", "precision"))


_digits = partial(number, digits=3, strip=False)
