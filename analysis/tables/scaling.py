"""The scaling table of a session, for the terminal and for every exported table."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from analysis.database.rows import Row
from analysis.tables.column import Column, number_of, text_of
from analysis.tables.table import Table
from analysis.wording import verdicts
from analysis.wording.failures import not_ok_counts
from analysis.wording.metric import ACCURACY, metric_of
from analysis.wording.numbers import estimate, spread, telling_estimate
from analysis.wording.plain_text import number

SPEEDUP = "speedup [95 %]"
"""Heading of the speedup where nothing has an efficiency."""


def scaling_table(points: Sequence[Row], coverage: Iterable[Row], utilisation: Iterable[Row] = ()) -> Table:
    """One row per row of `scaling`. `coverage` adds repeats that are not ok, `utilisation` FLOP/s."""
    used = {_place(row): _used(row) for row in utilisation}
    ratios = compared(points)
    metric = metric_of(row["metric"] for row in points if row["best_val_accuracy_mean"] is not None)
    return Table(
        rows=points,
        keys=[
            Column("configuration", configuration, untrusted=True),
            Column("ranks", text_of("world_size"), number=True),
        ],
        values=[
            Column("nodes", text_of("nodes"), number=True),
            *(Column(heading, _value(field), number=True) for heading, field in rates(points)),
            *(
                [Column("speedup", _only_of(ratios, _value("speedup")), number=True)]
                if any(row["efficiency"] is not None and not row["is_baseline"] for row in points)
                else [Column(SPEEDUP, _only_of(ratios, _speedup))]  # no other column has its interval
            ),
            Column("efficiency [95 %]", _only_of(ratios, _efficiency)),
            verdict_column(coverage),
            Column("step ms ± std", _step, number=True),
            Column("TFLOP/s (MFU)", lambda row: used.get(_place(row), ""), number=True),
            Column("run s", number_of("elapsed_s"), number=True),
            Column("s/epoch", _epoch, number=True),
            Column("best val loss", number_of("best_val_loss_mean"), number=True),
            Column(
                f"best val {'acc' if metric == ACCURACY else metric}",
                number_of("best_val_accuracy_mean", 3),
                number=True,
            ),
            Column("job", text_of("slurm_job_id"), untrusted=True),
        ],
    )


def verdict_column(coverage: Iterable[Row]) -> Column:
    """The verdict on each row of `scaling`, with its slow runs and, from `coverage`, those that are not ok."""
    not_ok = {_place(row): not_ok_counts(row) for row in coverage}
    return Column(
        "verdict",
        lambda row: "; ".join(filter(None, [verdict_word(row), _slow(row), not_ok.get(_place(row))])),
        wraps=True,
        tone=lambda row: verdicts.tone(verdict_word(row)),
    )


def compared(points: Sequence[Row]) -> set[str]:
    """The ids of the points that have a speedup and an efficiency to show. A baseline has one only if another size is
    compared with it: a case that ran on two ranks alone has no speedup of 2."""
    used = {
        tuple(point[f"baseline_{name}"] for name in _PLACE)
        for point in points
        if point["speedup"] is not None and not point["is_baseline"]
    }
    return {point["point_id"] for point in points if not point["is_baseline"] or _place(point) in used}


def throughput_unit(points: Sequence[Row]) -> str:
    """`examples/s`, `trainings/s` (imported without a number of examples), or `throughput` if rows differ."""
    units = {row["throughput_unit"] for row in points} or {"examples/s"}
    return str(units.pop()) if len(units) == 1 else "throughput"


def rates(points: Sequence[Row]) -> list[tuple[str, str]]:
    """Heading and field of each column of throughput, for rows of `scaling`: tokens/s in place of examples/s if all
    measured rows have tokens, next to it if only some have them."""
    measured = [row for row in points if row["throughput"] is not None]
    with_tokens = sum(row["tokens_per_s"] is not None for row in measured)
    columns = [(throughput_unit(points), "throughput"), ("tokens/s", "tokens_per_s")]
    if not with_tokens:
        return columns[:1]
    return columns[1:] if with_tokens == len(measured) else columns


_PLACE = ("case", "nodes", "ranks_per_node", "threads")


def _place(row: Row) -> tuple[Any, ...]:
    return tuple(row["case_name" if name == "case" else name] for name in _PLACE)


def configuration(row: Row) -> str:
    """The case, with its threads if they are what grows: `ddp`, `ddp t4`."""
    return f"{row['case_name']} t{row['threads']}" if row["axis"] == "threads" else str(row["case_name"])


def _only_of(point_ids: Container[str], shown: Callable[[Row], str]) -> Callable[[Row], str]:
    """Leave the cells of all other points empty."""
    return lambda row: shown(row) if row["point_id"] in point_ids else ""


def _value(name: str) -> Callable[[Row], str]:
    """The value without its interval, which decides the digits."""
    return lambda row: (
        "" if row[name] is None else estimate(row[name], row[f"{name}_lo"], row[f"{name}_hi"])[0]
    )


def ratio_parts(
    row: Row, name: str, factor: float = 1, *, apart_from: float | None = None
) -> tuple[str, str]:
    """The text of a speedup or an efficiency, and that of its interval; without one, of the range of its rounds. Both
    are empty without a value. A baseline is compared with itself, so it has no interval."""
    if row[name] is None:
        return "", ""
    value = factor * row[name]
    ends = [None if row["is_baseline"] else row[f"{name}_{end}"] for end in ("lo", "hi")]
    if ends[0] is None and row["speedup_min"] is not None:
        scale = value / row["speedup"]
        number, interval = estimate(value, scale * row["speedup_min"], scale * row["speedup_max"])
        return number, f"({interval.strip('[]').replace(', ', ' to ')})"
    of_ends = (None if end is None else factor * end for end in ends)
    if name == "efficiency":
        return verdicts.efficiency_estimate(value, *of_ends)
    return telling_estimate(value, *of_ends, apart_from=apart_from)


def _speedup(row: Row) -> str:
    return " ".join(ratio_parts(row, "speedup", apart_from=1)).rstrip()


def _epoch(row: Row) -> str:
    """The time of a step, with an interval from that of the throughput, inverted."""
    epoch, rate = row["time_per_epoch_s"], row["throughput"]
    if epoch is None:
        return ""
    ends = (row["throughput_hi"], row["throughput_lo"])
    low, high = (None if end is None else epoch * rate / end for end in ends)
    return estimate(epoch, low, high)[0]


def _efficiency(row: Row) -> str:
    value, interval = ratio_parts(row, "efficiency", 100)
    return value and f"{value:>4} % {interval}".rstrip()


def _slow(row: Row) -> str:
    return f"{row['slow_runs']} slow" if row["slow_runs"] else ""


def _used(row: Row) -> str:
    """One device's TFLOP/s with its share of the peak; empty if the peak is unknown."""
    if row["flops_per_s_per_device"] is None or row["peak_flops_per_s"] is None:
        return ""
    share = "over 100 %" if row["mfu"] is None else f"{100 * row['mfu']:.1f} %"
    return f"{number(row['flops_per_s_per_device'] / 1e12, 3, strip=False)} ({share})"


def verdict_word(row: Row) -> str:
    """The verdict of a row of `scaling`, or why it has none; may be empty."""
    if row["oversubscribed"]:
        return "oversubscribed"
    return row["verdict"] or ("baseline" if row["is_baseline"] and row["scaling_mode"] != "none" else "")


def _step(row: Row) -> str:
    if row["step_ms_mean"] is None:
        return ""
    return " ± ".join(filter(None, spread(row["step_ms_mean"], row["step_ms_std"])))
