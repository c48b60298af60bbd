"""The answer for cases that differ from their baseline in more than the number of workers, such as two precisions:
how many times as fast they are, without an efficiency."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import label, short
from analysis.report.html.render import render
from analysis.report.sections.summary_table import rate
from analysis.tables.scaling import rates, ratio_parts
from analysis.wording import headline, verdicts
from analysis.wording.plain_text import counted, listed
from analysis.wording.sizes import largest

MOST_CASES = 6
"""Rows of the table; more cases are listed below it."""
_ENDS = (1.25, 1.5, 2.0, 4.0)
"""Right ends of the scale, which is logarithmic; the left end is one divided by it."""
_MARGIN = 4
"""Percents of the scale's length, at both ends."""
_VERDICTS = {
    headline.FASTER: ("faster", "good"),
    headline.SLOWER: ("slower", "bad"),
    headline.NO_GAIN: ("no gain shown", "none"),
    headline.OTHER_MODEL: (verdicts.DIFFERENT_TRAINING, "bad"),
    headline.OVERSUBSCRIBED: ("oversubscribed", "none"),
}
"""Word and tone by outcome; all others are undecided."""


def without_efficiency(points: Sequence[Row]) -> list[Row]:
    """The size of each case that is compared with another case on as many workers and has no efficiency. `points` are
    rows of queries/summary.sql."""
    return largest(
        [
            point
            for point in points
            if point["efficiency"] is None
            and point["baseline_case"] != point["case_name"]
            and point["baseline_workers"] == point["workers"]
        ]
    )


def ratio_table(points: Sequence[Row]) -> Markup:
    """The table; empty if every compared case has an efficiency."""
    every = without_efficiency(points)
    if not every:
        return Markup()
    shown = every[:MOST_CASES]
    bases = {(point["case_name"], point["workers"]): point for point in points if point["is_baseline"]}
    heading, field = rates(shown)[0]
    drawn = [one for point in shown if not verdicts.is_too_noisy(point) for one in _ratio(point) if one]
    widest = max((max(one, 1 / one) for one in drawn), default=1.0)
    end = next((end for end in _ENDS if end >= widest), _ENDS[-1])
    return render(
        "sections/ratio_table",
        rows=[
            _row(point, bases.get((point["baseline_case"], point["baseline_workers"])), field, end)
            for point in shown
        ],
        rate=heading,
        ticks=[(f"{tick:.3g}", _along(tick, end)) for tick in (1 / end, 1.0, end)],
        left_out=listed([point["case_name"] for point in every[MOST_CASES:]], MOST_CASES),
    )


def _row(point: Row, base: Row | None, field: str, end: float) -> Row:
    value, low, high = _ratio(point)
    word, tone = _verdict(point, base)
    parts = ratio_parts(point, "speedup", 1 / point["baseline_workers"], apart_from=1)
    show = rate(field)
    return {
        "case": short(point["case_name"]),
        "base": short(point["baseline_case"]),
        "rates": [units.UNKNOWN if base is None else show(base), show(point)],
        "workers": counted(point["workers"], point["axis"]),
        "ratio": units.estimate(*parts, "×"),
        "verdict": label(word, tone),
        "described": f"{' '.join(filter(None, parts))} times as fast: {word}",
        "is_noisy": verdicts.is_too_noisy(point),
        "middle": _along(value, end),
        "low": None if low is None else _along(low, end),
        "high": None if high is None else _along(high, end),
    }


def _verdict(point: Row, base: Row | None) -> tuple[str, str]:
    """Word and tone. Without an interval it is why there is none."""
    if point["speedup_lo"] is not None or point["oversubscribed"]:
        return _VERDICTS.get(headline.outcome(point), (verdicts.UNDECIDED, "none"))
    if point["is_published"]:
        return verdicts.PUBLISHED, "none"
    is_single = 1 in (point["repeats"], base and base["repeats"])
    return verdicts.ONE_REPEAT if is_single else verdicts.UNDECIDED, "none"


def _ratio(point: Row) -> tuple[float, float | None, float | None]:
    """The ratio of the throughputs and the ends of its interval: the speedup counts the workers of its baseline."""
    value, low, high = (
        None if point[name] is None else point[name] / point["baseline_workers"]
        for name in ("speedup", "speedup_lo", "speedup_hi")
    )
    assert value is not None, "only rows with a speedup are shown"
    return value, low, high


def _along(ratio: float, end: float) -> float:
    """The place on the scale, in percent of its length; beyond its ends, the end."""
    place = min(max(math.log(ratio) / math.log(end), -1.0), 1.0)
    return round(50 + (50 - _MARGIN) * place, 2)
