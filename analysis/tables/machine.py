"""The speed of the machine as tables: a session's peaks, and the message sizes and shapes behind them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import duckdb

from analysis.database.rows import Row, session_rows
from analysis.tables.column import Column, text_of
from analysis.tables.table import Table
from analysis.wording.machine import Machine, bus_gbps, flops, flops_unit, latency_us, shape
from analysis.wording.plain_text import bytes_text, number

_OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
"""These operations come first, in this order."""
VIEWS = ("collective_bandwidth", "matmul_throughput")

_CASE = Column("case", text_of("case_name"), untrusted=True)
_PLACEMENT = Column("placement", text_of("placement"))
_OVERSUBSCRIBED = Column("", lambda row: "oversubscribed" if row["oversubscribed"] else "")
_THREE_DIGITS = partial(number, digits=3, strip=False)


def peaks(machine: Machine) -> list[Table]:
    """The fastest exchange of each operation, and the fastest multiplication of each precision, if measured."""
    exchanges = Table(
        rows=machine.exchanges,
        keys=[Column("operation", text_of("op")), _CASE, _PLACEMENT],
        values=[
            Column("bus GB/s", lambda row: bus_gbps(row)[0], number=True),
            Column("at", lambda row: bytes_text(row["peak_message_bytes"]), number=True),
            Column("latency µs", lambda row: latency_us(row)[0], number=True),
            Column("of", lambda row: bytes_text(row["smallest_message_bytes"]), number=True),
            _OVERSUBSCRIBED,
        ],
    )
    multiplications = Table(
        rows=machine.multiplications,
        keys=[_CASE, _PLACEMENT, Column("precision", text_of("precision"))],
        values=[
            Column("threads", text_of("threads"), number=True),
            Column("of a rank", lambda row: " ".join(flops(row)[::2]), number=True),
            Column("at m × n × k", shape, number=True),
            Column("device", text_of("device_name"), untrusted=True),
            _OVERSUBSCRIBED,
        ],
    )
    return [table for table in (exchanges, multiplications) if table.rows]


def read_sizes(connection: duckdb.DuckDBPyConnection, session_id: str) -> dict[str, list[Row]]:
    """View -> its rows, for those of VIEWS that have rows. They are in the plan's order of placements, then by size,
    then by operation."""
    found = {view: session_rows(connection, view, session_id) for view in VIEWS}
    for rows in found.values():
        places = {place: number for number, place in enumerate(dict.fromkeys(map(_place, rows)))}
        rows.sort(key=lambda row: (places[_place(row)], _size(row), _rank_of(row.get("op", ""))))
    return {view: rows for view, rows in found.items() if rows}


def sizes(found: dict[str, list[Row]]) -> dict[str, Table]:
    """Title -> table of the rows that `read_sizes` returned."""
    tables = {}
    if bandwidths := found.get("collective_bandwidth"):
        tables["Bus bandwidth in GB/s"] = _bandwidths(bandwidths)
    if multiplications := found.get("matmul_throughput"):
        tables["Multiplications, m × k by k × n, of each rank"] = _multiplications(multiplications)
    return tables


def _bandwidths(rows: list[Row]) -> Table:
    """A line per placement and message size, a column per operation."""
    lines: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((*_place(row), row["message_bytes"]), {})[row["op"]] = row

    def bandwidth(op: str) -> Callable[[dict[str, Row]], str]:
        return lambda line: _THREE_DIGITS(line[op]["bus_gbps"]) if op in line else ""

    def first(show: Callable[[Row], str]) -> Callable[[dict[str, Row]], str]:
        return lambda line: show(next(iter(line.values())))

    ops = sorted({row["op"] for row in rows}, key=_rank_of)
    return Table(
        rows=list(lines.values()),
        keys=[
            Column("case", first(text_of("case_name")), untrusted=True),
            Column("placement", first(text_of("placement"))),
        ],
        values=[
            Column("message", first(lambda row: bytes_text(row["message_bytes"])), number=True),
            *(Column(op, bandwidth(op), number=True) for op in ops),
        ],
    )


def _multiplications(rows: list[Row]) -> Table:
    factor, unit = flops_unit(max(row["flops_per_s"] for row in rows))
    return Table(
        rows=rows,
        keys=[_CASE, _PLACEMENT],
        values=[
            Column("precision", text_of("precision")),
            *(Column(side, text_of(side), number=True) for side in "mnk"),
            Column(unit, lambda row: _THREE_DIGITS(row["flops_per_s"] / factor), number=True),
            Column("ms", lambda row: _THREE_DIGITS(row["time_ms"]), number=True),
        ],
    )


def _size(row: Row) -> tuple[int, ...]:
    if "message_bytes" in row:
        return (row["message_bytes"],)
    return row["m"] * row["n"] * row["k"], row["m"], row["n"]


def _rank_of(op: str) -> tuple[int, str]:
    return (_OPS.index(op) if op in _OPS else len(_OPS), op)


def _place(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("case_name", "nodes", "ranks_per_node", "threads", "precision"))
