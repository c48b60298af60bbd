"""The speed of a machine, from runs that train nothing: how fast ranks exchange data and multiply matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb

from analysis.database.rows import Row, session_rows
from analysis.wording.numbers import telling_estimate
from analysis.wording.plain_text import bytes_text, counted, number, word

_FLOPS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The peaks of one session; cases in the order of the suite."""

    exchanges: Sequence[Row] = ()
    """Rows of collective_peaks: by case, operation and size."""
    multiplications: Sequence[Row] = ()
    """Rows of matmul_peaks: by case, precision and size."""
    profiles: Sequence[Row] = ()
    """Rows of communication. They are worth a sentence if the session has neither peaks nor throughput, as that of a
    command whose examples are unknown."""

    def __bool__(self) -> bool:
        return bool(self.exchanges or self.multiplications)


def read(connection: duckdb.DuckDBPyConnection, session_id: str) -> Machine:
    def ordered(view: str, within_case: str) -> list[Row]:
        rows = session_rows(connection, view, session_id)
        cases = list(dict.fromkeys(row["case_name"] for row in rows))
        return sorted(
            rows,
            key=lambda row: (
                cases.index(row["case_name"]),
                row[within_case],
                row["world_size"],
                row["nodes"],
            ),
        )

    return Machine(
        exchanges=ordered("collective_peaks", "op"),
        multiplications=ordered("matmul_peaks", "precision"),
        profiles=ordered("communication", "case_name"),
    )


def sentence(machine: Machine, name: Callable[[str], str] = str) -> str:
    """Sentences on the fastest exchange among the most ranks, preferably all_reduce, and the fastest multiplication.
    `name` quotes untrusted text, such as a device's name, for the output's format."""
    found = []
    if machine.exchanges:
        best = max(
            machine.exchanges,
            key=lambda row: (
                row["world_size"],
                row["nodes"],
                row["op"] == "all_reduce",
                row["peak_bus_gbps"],
            ),
        )
        over = f" over {best['nodes']:,} nodes" if best["nodes"] > 1 else ""
        found.append(
            f"{word(best['op'], name)} on {best['world_size']:,} ranks{over}: "
            f"{' '.join(bus_gbps(best)).rstrip()} GB/s of bus bandwidth at {bytes_text(best['peak_message_bytes'])}, "
            f"{' '.join(latency_us(best)).rstrip()} µs for {bytes_text(best['smallest_message_bytes'])}."
        )
    if machine.multiplications:
        best = max(machine.multiplications, key=lambda row: row["peak_flops_per_s"])
        device = f" of {name(best['device_name'])}" if best["device_name"] else ""
        value, interval, unit = flops(best)
        found.append(
            f"A rank{device} multiplies at {f'{value} {interval}'.rstrip()} {unit} in {word(best['precision'], name)}, "
            f"{shape(best)}."
        )
    if not found and machine.profiles:
        found = [_of_a_profile(max(machine.profiles, key=lambda row: row["world_size"]), name)]
    return " ".join(found)


def _of_a_profile(row: Row, name: Callable[[str], str]) -> str:
    """A sentence on the profiled steps of a placement."""
    over = f" over {row['nodes']:,} nodes" if row["nodes"] > 1 else ""
    hidden = (
        "" if row["overlap"] is None else f"; computation hides {row['overlap']:.0%} of the communication"
    )
    return (
        f"{name(row['case_name'])} on {counted(row['world_size'], 'ranks')}{over}: a profiled step takes "
        f"{number(row['profiled_step_ms'], 3)} ms, {row['exposed_share']:.1%} of it exposed communication{hidden}."
    ).replace("%", " %")


def bus_gbps(row: Row) -> tuple[str, str]:
    """A peak's bus bandwidth and its interval."""
    return telling_estimate(row["peak_bus_gbps"], row["peak_bus_gbps_lo"], row["peak_bus_gbps_hi"])


def latency_us(row: Row) -> tuple[str, str]:
    """The time of an exchange of the smallest message and its interval."""
    return telling_estimate(row["smallest_time_us"], row["smallest_time_us_lo"], row["smallest_time_us_hi"])


def flops(row: Row) -> tuple[str, str, str]:
    """Value, interval and unit: `788`, its interval, `TFLOP/s`."""
    factor, unit = flops_unit(row["peak_flops_per_s"])
    ends = [
        None if row[end] is None else row[end] / factor
        for end in ("peak_flops_per_s_lo", "peak_flops_per_s_hi")
    ]
    return *telling_estimate(row["peak_flops_per_s"] / factor, *ends), unit


def flops_unit(flops_per_s: float) -> tuple[float, str]:
    """The divisor and the unit for showing such a rate."""
    return next((one for one in _FLOPS if flops_per_s >= one[0]), _FLOPS[-1])


def shape(row: Row) -> str:
    """`1,024 × 1,024 × 1,024`: m × n × k."""
    return " × ".join(f"{row[side]:,}" for side in "mnk")
