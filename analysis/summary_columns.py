"""The columns of a session's scaling table as text, for the terminal and for every exported table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from analysis import verdicts
from analysis.fetched import Row
from analysis.plain import cell, number
from analysis.rounding import estimate, spread
from analysis.tables import Column

_STYLES = {
    "superlinear": "green",
    "excellent": "green",
    "good": "green",
    "acceptable": "yellow",
    verdicts.UNDECIDED: "yellow",
    "poor": "red",
    "retrograde": "red",
}
_MOST_NAMED = 3
_NOT_OK = ("oom", "failed", "timeout", "interrupted", "skipped", "missing")


def key_columns(points: Sequence[Row]) -> list[Column]:
    """Which row it is; `points` are rows of `scaling`."""
    return [
        column(points, "configuration", _configuration, number=False, foreign=True),
        column(points, "ranks", text_of("world_size")),
    ]


def value_columns(
    points: Sequence[Row], coverage: Iterable[Row], utilisation: Iterable[Row] = ()
) -> list[Column]:
    """What was found; a column may have nothing but empty cells. `coverage` and `utilisation` are rows of these."""
    troubles = {_place(row): trouble(row) for row in coverage}
    used = {_place(row): _used(row) for row in utilisation}
    return [
        column(points, "nodes", text_of("nodes")),
        column(points, throughput_unit(points), _value("throughput")),
        column(points, "speedup", _value("speedup")),
        column(points, "efficiency [95 %]", _efficiency, number=False),
        column(
            points,
            "verdict",
            lambda row: "; ".join(filter(None, [_verdict(row), troubles.get(_place(row))])),
            number=False,
            styles=[_STYLES.get(_verdict(row), "") for row in points],
        ),
        column(points, "step ms ± std", _step),
        column(points, "TFLOP/s (MFU)", lambda row: used.get(_place(row), "")),
        column(points, "run s", number_of("elapsed_s")),
        column(points, "s/epoch", _epoch),
        column(points, "best val loss", number_of("best_val_loss")),
        column(points, "best val acc", number_of("best_val_accuracy", 3)),
        column(points, "job", text_of("slurm_job_id"), number=False, foreign=True),
    ]


def throughput_unit(points: Sequence[Row]) -> str:
    """`examples/s`; `trainings/s` of what was imported without its examples; `throughput` where rows differ."""
    units = {row["throughput_unit"] for row in points} or {"examples/s"}
    return str(units.pop()) if len(units) == 1 else "throughput"


def column(rows: Sequence[Row], heading: str, show_row: Callable[[Row], str], **options: Any) -> Column:
    return Column(heading=heading, cells=[show_row(row) for row in rows], **options)


def number_of(name: str, digits: int = 4, factor: float = 1) -> Callable[[Row], str]:
    return lambda row: "" if row[name] is None else number(factor * row[name], digits, strip=False)


def text_of(name: str) -> Callable[[Row], str]:
    return lambda row: cell(row[name])


def trouble(row: Row) -> str:
    """Repeats that are not ok, by what became of them: `1 oom, 2 skipped`; of a row of `coverage`."""
    return ", ".join(f"{row[kind]} {kind}" for kind in _NOT_OK if row[kind])


def reasons(coverage: Iterable[Row], name: Callable[[str], str] = cell) -> Iterator[str]:
    """Why runs are not ok: a failure is never just a gap in a table. A line for each placement; those that were
    skipped for the same reason share one. `name` makes of what others wrote, a case's name and the errors, what is
    shown."""
    rows = [row for row in coverage if row["reasons"]]
    skipped: dict[str, list[Row]] = {}
    for row in rows:
        if not any(row[kind] for kind in _NOT_OK if kind != "skipped"):
            skipped.setdefault(row["reasons"], []).append(row)
    for row in rows:
        alike = skipped.get(row["reasons"], [])
        if not any(row is one for one in alike):
            alike = [row]
        if row is alike[0]:
            every = {kind: sum(one[kind] for one in alike) for kind in _NOT_OK}
            yield f"{_places(alike, name)}: {trouble(every)}: {name(row['reasons'])}"


def _places(rows: list[Row], name: Callable[[str], str]) -> str:
    named = [f"{name(row['case_name'])} {row['nodes']}x{row['ranks_per_node']}" for row in rows]
    more = len(named) - _MOST_NAMED
    return ", ".join(named[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


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


def _used(row: Row) -> str:
    """Of one device, where its peak is known."""
    if row["flops_per_s_per_device"] is None or row["peak_flops_per_s"] is None:
        return ""
    share = "over 100 %" if row["mfu"] is None else f"{100 * row['mfu']:.1f} %"
    return f"{number(row['flops_per_s_per_device'] / 1e12, 3, strip=False)} ({share})"


def _verdict(row: Row) -> str:
    if row["oversubscribed"]:
        return "oversubscribed"
    return verdicts.told(row) or ("baseline" if row["is_baseline"] and row["scaling"] != "none" else "")


def _step(row: Row) -> str:
    if row["step_ms_mean"] is None:
        return ""
    return " ± ".join(filter(None, spread(row["step_ms_mean"], row["step_ms_std"])))
