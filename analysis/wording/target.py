"""Time to a target in words: efficiency to it, its factors, and runs that missed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from analysis.database.rows import Row
from analysis.wording.numbers import estimate, telling_estimate
from analysis.wording.plain_text import number as number_text

Name = Callable[[str], str]
"""Quotes an untrusted name for a format."""
FACTORS = {
    "throughput": "throughput per worker",
    "examples": "progress per example",
    "share": "clock spent training",
}
"""Factor -> its words."""
TONES = {"at most": "≤", "at least": "≥"}


def factor(row: Row, name: str, *, with_interval: bool = True) -> str:
    """`1.57 [1.18, 2.09]`, `≤ 0.42` where only an end is known; empty if nothing is."""
    return " ".join(filter(None, _shown(row, f"{name}_factor", 1, with_interval)))


def efficiency(row: Row, unit: str = " %") -> str:
    """`34 % [23, 48]`, `≤ 42 %`; empty if nothing is known."""
    if row["is_baseline"]:
        return f"100{unit}" if row["efficiency"] else ""
    number, after = _shown(row, "efficiency", 100, True)
    return " ".join(filter(None, (f"{number}{unit}", after))) if number else ""


def _shown(row: Row, field: str, times: float, with_interval: bool) -> tuple[str, str]:
    """The number, and its interval or `too noisy`; empty if there is none."""
    value, ends = row[field], [row[f"{field}_{end}"] for end in ("lo", "hi")]
    if value is None:
        end = ends[1] if row["bound"] == "at most" else ends[0] if row["bound"] == "at least" else None
        return "" if end is None else f"{TONES[row['bound']]} {estimate(times * end, None, None)[0]}", ""
    known = with_interval and not row["is_baseline"]
    low, high = (times * end if known and end is not None else None for end in ends)
    return telling_estimate(times * value, low, high, apart_from=times)


def target(rows: Iterable[Row]) -> str:
    """`a loss of 0.3`, `the target` if there are several or an import does not say it."""
    losses = {row["until_loss"] for row in rows}
    loss = losses.pop() if len(losses) == 1 else None
    return "the target" if loss is None else f"a loss of {number_text(loss, 4)}"


def size_of(row: Row, name: Name = str) -> str:
    """`batch_256 on 1 rank`."""
    unit = row["axis"].removesuffix("s") if row["workers"] == 1 else row["axis"]
    return f"{name(row['case_name'])} on {row['workers']:,} {unit}"


def largest(rows: Iterable[Row]) -> Row | None:
    """The size with the most workers that is compared, with the largest batch among equals; null without one."""
    compared = [row for row in rows if not row["is_baseline"] and efficiency(row)]
    return max(compared, key=lambda row: (row["workers"], row["global_batch"] or 0), default=None)


def sentence(rows: list[Row], name: Name = str) -> str:
    """The efficiency of the largest size to the target, with its factors; empty if nothing is compared."""
    row = largest(rows)
    if row is None:
        return ""
    parts = ", ".join(f"{words} {factor(row, key)}" for key, words in FACTORS.items() if factor(row, key))
    return (
        f"{size_of(row, name)} reaches {target([row])} with an efficiency of {efficiency(row)} against "
        f"{name(row['baseline_case'])} on {row['baseline_workers']:,}: {parts}, each relative to the baseline."
        f"{_seconds(row, rows)}"
    )


def of_throughput(said: str, rows: Iterable[Row]) -> str:
    """A sentence that says what is faster; marked as one on throughput if the session trains to a target, because more
    throughput may need longer to it."""
    return f"Throughput: {said}" if said and largest(rows) is not None else said


def _seconds(row: Row, rows: Iterable[Row]) -> str:
    """The times to the target of the size and of its baseline; empty if one is unknown."""
    of_baseline = (row["baseline_case"], row["baseline_workers"])
    base = next((one for one in rows if (one["case_name"], one["workers"]) == of_baseline), None)
    if base is None or row["seconds"] is None or base["seconds"] is None:
        return ""
    return f" It takes {number_text(row['seconds'], 3)} s instead of {number_text(base['seconds'], 3)} s."


def censored(rows: Iterable[Row], name: Name = str) -> Iterator[str]:
    """A sentence for each size of which runs missed the target."""
    meaning = {
        "fit": "a log-normal fit counts them as needing more than they had",
        "bound": "too many for an estimate, so only an end is known",
        None: "how much they had is unknown",
    }
    for row in rows:
        if row["missed"]:
            yield (
                f"{size_of(row, name)}: {row['missed']} of {row['runs']} runs missed {target([row])}; "
                f"{meaning[row['estimate']]}"
            )
