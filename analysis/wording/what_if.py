"""A step on a network of another bandwidth, in a sentence, from rows of the table `what_if`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording.numbers import is_too_wide, telling_estimate
from analysis.wording.plain_text import number

_MOST_CASES = 4
"""Cases with a sentence; the table has all."""


def lines(rows: Sequence[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence on the largest size of each case. `name` quotes a case's name for the output's format."""
    cases = list(dict.fromkeys(row["case_name"] for row in rows))
    for case in cases[:_MOST_CASES]:
        of_case = [row for row in rows if row["case_name"] == case]
        most = max(of_case, key=lambda row: (row["workers"], row["nodes"]))
        yield sentence([row for row in of_case if row["point_id"] == most["point_id"]], name)
    if len(cases) > _MOST_CASES:
        yield f"Other networks: the table what_if has {len(cases) - _MOST_CASES:,} further cases."


def sentence(rows: Sequence[Row], name: Callable[[str], str] = str) -> str:
    """`Speed of ddp 2x1 on other networks: every link twice the bandwidth, same latency: 1.30× [1.20, 1.42]; no
    communication at all: 1.60× [1.41, 1.81].` `rows` are those of one size."""
    faster = min(
        (row for row in rows if row["message_factor"] and row["bandwidth"] > 1),
        key=lambda row: abs(row["bandwidth"] - 2),
        default=None,
    )
    slower = min(
        (row for row in rows if row["message_factor"] > 1),
        key=lambda row: row["message_factor"],
        default=None,
    )
    without = next((row for row in rows if row["message_factor"] == 0), None)
    said = []
    if faster is not None:
        said.append(f"every link {_times(faster['bandwidth'])} the bandwidth, same latency: {_speed(faster)}")
    if slower is not None and (faster is None or faster["is_bound"]):
        said.append(f"{_times(slower['bandwidth'])} the bandwidth: {_speed(slower)}")
    if without is not None:
        said.append(f"no communication at all: {_speed(without)}")
    first = rows[0]
    at = f"{name(first['case_name'])} {first['placement']}"
    return f"Speed of {at} on other networks: {'; '.join(said)}{_doubt(rows)}."


def _doubt(rows: Sequence[Row]) -> str:
    """The origin of the intervals, if it is not the repeats; or that there are none."""
    first = rows[0]
    over_rounds = first["interval_over"] == "rounds"
    if any(row["speedup_lo"] is not None for row in rows):
        return " (intervals over the rounds of one run)" if over_rounds else ""
    count = max(row["rounds"] if over_rounds else row["repeats"] for row in rows)
    counted = f"{count} round{'s' * (count > 1)} of one run" if over_rounds else f"{count} repeats"
    return f" ({counted}: too few to know how certain that is)"


def _times(bandwidth: float) -> str:
    return {2.0: "twice", 0.5: "half"}.get(bandwidth, f"{number(bandwidth, 3)} times")


def _speed(row: Row) -> str:
    if is_too_wide(row["speedup_lo"], row["speedup_hi"]):
        return "too noisy to say"
    if row["is_bound"] and (row["speedup_hi"] or row["speedup"]) >= row["bandwidth"]:
        return f"at most {number(row['bandwidth'], 3)}×, the limit of any such network"
    if row["is_bound"]:
        if row["speedup_hi"] is None:
            return f"at most about {number(row['speedup'], 3)}×"
        return f"at most {number(row['speedup_hi'], 3)}×"
    value, interval = telling_estimate(row["speedup"], row["speedup_lo"], row["speedup_hi"], apart_from=1)
    return f"{value}× {interval}".rstrip()
