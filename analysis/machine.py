"""What runs that train nothing found out about their machine: how fast ranks exchange data, how fast they multiply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from analysis.fetched import Row
from analysis.plain import cell, number
from analysis.rounding import estimate
from analysis.session_rows import session_rows
from analysis.summary_columns import column, text_of
from analysis.tables import Column

_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_FLOPS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Of one session; cases in the order of the suite."""

    exchanges: Sequence[Row] = ()
    """Rows of collective_peaks: by case, operation and size."""
    multiplications: Sequence[Row] = ()
    """Rows of matmul_peaks: by case, precision and size."""

    def __bool__(self) -> bool:
        return bool(self.exchanges or self.multiplications)


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> Machine:
    return Machine(
        exchanges=_rows(connection, "collective_peaks", session_id, "op"),
        multiplications=_rows(connection, "matmul_peaks", session_id, "precision"),
    )


def _rows(connection: duckdb.DuckDBPyConnection, view: str, session_id: str, within: str) -> list[Row]:
    rows = session_rows(connection, view, session_id)
    cases = list(dict.fromkeys(row["case_name"] for row in rows))
    return sorted(
        rows, key=lambda row: (cases.index(row["case_name"]), row[within], row["world_size"], row["nodes"])
    )


def sentence(machine: Machine, name: Callable[[str], str] = str) -> str:
    """The fastest exchange of the most ranks, all_reduce first, and the fastest multiplication. `name` makes of a
    device's name, which is not ours, what is shown."""
    return " ".join([*_exchange(machine.exchanges), *_multiplication(machine.multiplications, name)])


def _exchange(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    best = max(
        rows,
        key=lambda row: (row["world_size"], row["nodes"], row["op"] == "all_reduce", row["peak_bus_gbps"]),
    )
    largest, smallest = (bytes_text(best[f"{which}_message_bytes"]) for which in ("peak", "smallest"))
    over = f" over {best['nodes']:,} nodes" if best["nodes"] > 1 else ""
    yield (
        f"{best['op']} on {best['world_size']:,} ranks{over}: {_with_interval(_gbps(best))} GB/s of bus bandwidth "
        f"at {largest}, {_with_interval(_latency(best))} µs for {smallest}."
    )


def _multiplication(rows: Sequence[Row], name: Callable[[str], str]) -> Iterator[str]:
    if not rows:
        return
    best = max(rows, key=lambda row: row["peak_flops_per_s"])
    device = f" of {name(best['device_name'])}" if best["device_name"] else ""
    yield (
        f"A rank{device} multiplies at {_with_interval(_flops(best))} {_flops_unit_of(best)} in {best['precision']}, "
        f"{shape(best)}."
    )


def gbps(row: Row) -> str:
    return _gbps(row)[0]


def _gbps(row: Row) -> tuple[str, str]:
    return estimate(row["peak_bus_gbps"], row["peak_bus_gbps_lo"], row["peak_bus_gbps_hi"])


def _latency(row: Row) -> tuple[str, str]:
    return estimate(row["smallest_time_us"], row["smallest_time_us_lo"], row["smallest_time_us_hi"])


def _with_interval(found: tuple[str, str]) -> str:
    """`1.75 [1.61, 1.90]`, in a sentence."""
    return " ".join(text for text in found if text)


def flops(row: Row) -> str:
    """`788 TFLOP/s`."""
    return f"{_flops(row)[0]} {_flops_unit_of(row)}"


def _flops_unit_of(row: Row) -> str:
    return flops_unit(row["peak_flops_per_s"])[1]


def _flops(row: Row) -> tuple[str, str]:
    factor = flops_unit(row["peak_flops_per_s"])[0]
    ends = (
        None if end is None else end / factor
        for end in (row["peak_flops_per_s_lo"], row["peak_flops_per_s_hi"])
    )
    return estimate(row["peak_flops_per_s"] / factor, *ends)


def flops_unit(flops_per_s: float) -> tuple[float, str]:
    """What to divide by, and what the quotient is called."""
    return next((one for one in _FLOPS if flops_per_s >= one[0]), _FLOPS[-1])


def shape(row: Row) -> str:
    return " × ".join(f"{row[side]:,}" for side in "mnk")


def bytes_text(count: int) -> str:
    """`1 KiB`, `2 GiB`: messages are powers of two."""
    factor, unit = next(one for one in _BYTES if count >= one[0] or one[0] == 1)
    return f"{number(count / factor, 4)} {unit}"


def exchange_columns(rows: Sequence[Row]) -> tuple[list[Column], list[Column]]:
    """Keys and values of a table on a terminal; `rows` of collective_peaks."""
    keys = [
        column(rows, "operation", text_of("op"), number=False),
        column(rows, "case", text_of("case_name"), number=False, foreign=True),
        column(rows, "placement", text_of("placement"), number=False),
    ]
    return keys, [
        column(rows, "bus GB/s", gbps),
        column(rows, "at", lambda row: bytes_text(row["peak_message_bytes"])),
        column(rows, "latency µs", lambda row: _latency(row)[0]),
        column(rows, "of", lambda row: bytes_text(row["smallest_message_bytes"])),
        column(rows, "", _shared, number=False),
    ]


def multiplication_columns(rows: Sequence[Row]) -> tuple[list[Column], list[Column]]:
    """Keys and values of a table on a terminal; `rows` of matmul_peaks."""
    keys = [
        column(rows, "case", text_of("case_name"), number=False, foreign=True),
        column(rows, "placement", text_of("placement"), number=False),
        column(rows, "precision", text_of("precision"), number=False),
    ]
    return keys, [
        column(rows, "threads", text_of("threads")),
        column(rows, "of a rank", flops),
        column(rows, "at m × n × k", shape),
        column(rows, "device", lambda row: cell(row["device_name"]), number=False, foreign=True),
        column(rows, "", _shared, number=False),
    ]


def _shared(row: Row) -> str:
    return "oversubscribed" if row["oversubscribed"] else ""
