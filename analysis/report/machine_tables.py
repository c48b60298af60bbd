"""What the machine can do: a row per exchange, and a row per precision of multiplications."""

from __future__ import annotations

from analysis.fetched import Row
from analysis.machine import bytes_text, flops_unit, shape
from analysis.report import units
from analysis.report.markup import Column, table, text
from analysis.report.summary_table import label

MOST_ROWS = 60
"""Of a table; the CSV has all."""

_EXCHANGES = (
    "Bus bandwidth is the largest of all message sizes: the rate at which a rank's link carries data, if the operation "
    "moves no more of it than it must. Latency is the time of one operation on the smallest message."
)
_MULTIPLICATIONS = "The fastest of all shapes, of one rank while all ranks of the placement multiply."


def exchanges(rows: list[Row]) -> str:
    """`rows`: queries/exchanges.sql. Nothing where there are none."""
    return _table("Exchanges: one row per case, placement and operation", _EXCHANGES, _OF_EXCHANGES, rows)


def multiplications(rows: list[Row]) -> str:
    """`rows`: queries/multiplications.sql. Nothing where there are none."""
    caption = "Multiplications: one row per case, placement and precision"
    return _table(caption, _MULTIPLICATIONS, _OF_MULTIPLICATIONS, rows)


def _table(caption: str, reading: str, columns: list[Column], rows: list[Row]) -> str:
    if not rows:
        return ""
    more = f" The first {MOST_ROWS} of {len(rows):,} rows; the CSV has all." if len(rows) > MOST_ROWS else ""
    return f'<p class="reading">{reading}{more}</p>' + table(caption, columns, rows[:MOST_ROWS])


def _placement(row: Row) -> str:
    shared = f" {label('none', 'oversubscribed')}" if row["oversubscribed"] else ""
    return text(row["placement"]) + shared


def _bandwidth(row: Row) -> str:
    return units.with_interval(row["peak_bus_gbps"], row["peak_bus_gbps_lo"], row["peak_bus_gbps_hi"])


def _latency(row: Row) -> str:
    return units.with_interval(
        row["smallest_time_us"], row["smallest_time_us_lo"], row["smallest_time_us_hi"]
    )


def _flops(row: Row) -> str:
    factor, unit = flops_unit(row["peak_flops_per_s"])
    ends = (row["peak_flops_per_s_lo"], row["peak_flops_per_s_hi"])
    return units.with_interval(row["peak_flops_per_s"], *ends, unit, 1 / factor)


_OF_EXCHANGES = [
    Column(label="operation", cell=lambda row: text(row["op"])),
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=_placement),
    Column(label="repeats", cell=lambda row: f"{row['repeats']:,}", numeric=True),
    Column(label="bus bandwidth, GB/s [95\u00a0%]", cell=_bandwidth, numeric=True),
    Column(label="at", cell=lambda row: bytes_text(row["peak_message_bytes"]), numeric=True),
    Column(label="latency, µs [95\u00a0%]", cell=_latency, numeric=True),
    Column(label="of", cell=lambda row: bytes_text(row["smallest_message_bytes"]), numeric=True),
]
_OF_MULTIPLICATIONS = [
    Column(label="case", cell=lambda row: text(row["case_name"])),
    Column(label="placement", cell=_placement),
    Column(label="device", cell=lambda row: text(row["device_name"] or units.UNKNOWN)),
    Column(label="precision", cell=lambda row: text(row["precision"])),
    Column(label="threads", cell=lambda row: f"{row['threads']:,}", numeric=True),
    Column(label="repeats", cell=lambda row: f"{row['repeats']:,}", numeric=True),
    Column(label="of a rank [95\u00a0%]", cell=_flops, numeric=True),
    Column(label="at m × n × k", cell=lambda row: text(shape(row)), numeric=True),
]
