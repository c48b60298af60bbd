"""The answer at the top of a session's page: a row per case with throughput, speedup and efficiency at its largest
size, the interval of the efficiency on the scale of the verdicts, and where the ranks' time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import short
from analysis.report.html.render import render
from analysis.report.sections.ratio_table import without_efficiency
from analysis.report.sections.summary_table import rate, verdict
from analysis.tables.scaling import rates, ratio_parts, verdict_word
from analysis.wording import numbers, verdicts
from analysis.wording.lost_efficiency import TERMS, is_loss_undecided, name_of
from analysis.wording.plain_text import counted, listed
from analysis.wording.sizes import largest, place_of

MOST_CASES = 6
"""The most rows. If there are more cases, half of the rows are the best and half the worst."""
_SCALE_END = 1.1
"""Efficiency at the right end of the scale."""
_LEAST = 0.01
"""Smallest share of the ranks' time that the bar draws."""


_LITTLE_IS_LOST = ("excellent", "superlinear")
"""Verdicts at the lower end of an interval with which the used part can be drawn, even if the loss may be zero."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A part of the bar; places and widths are percents of its length."""

    kind: str
    name: str
    percent: str
    start: float
    width: float
    may_be_zero: bool


def answer_table(
    points: Sequence[Row], losses: Sequence[Row], *, has_chart: bool = False, has_reasons: bool = True
) -> Markup:
    """The table; empty if nothing was compared. `points` are rows of queries/summary.sql, `losses` those of
    queries/losses.sql with a known cause. Next to a chart of all sizes, the verdict is a word instead of a drawing.
    `has_reasons`: the page has a section on losses."""
    every = [point for point in largest(points) if point["efficiency"] is not None]
    if not every:
        return Markup()
    ranked = sorted(every, key=lambda point: -point["efficiency"])
    half = MOST_CASES // 2
    chosen = every if len(every) <= MOST_CASES else [*ranked[:half], *ranked[-half:]]
    baselines = {(point["case_name"], point["workers"]): point for point in points if point["is_baseline"]}
    terms: dict[tuple[object, ...], list[Row]] = {}
    for loss in losses:
        terms.setdefault(place_of(loss), []).append(loss)
    heading, field = rates(chosen)[0]
    rows = [_row(point, baselines, terms.get(place_of(point), []), field) for point in chosen]
    parts = [part for row in rows for part in row["parts"]]
    shown = {part.kind: part.name for part in parts}
    has_row = {point["case_name"] for point in [*every, *without_efficiency(points)]}
    has_row |= {
        point["case_name"] for point in points if point["is_baseline"] and point["efficiency"] is not None
    }
    left_out = sorted({point["case_name"] for point in points} - has_row)
    return render(
        "sections/answer_table",
        has_reasons=has_reasons,
        rows=rows,
        zones=_zones(),
        bands=_bands(),
        kinds=[(kind, shown[kind]) for kind in ("used", *TERMS, "unknown") if kind in shown],
        ticks=[(f"{100 * least:.0f}", _along(least)) for least in _limits()],
        left_out=listed(left_out, MOST_CASES),
        pales=any(part.may_be_zero for part in parts),
        rate=heading,
        cases=len(every),
        half=half,
        has_chart=has_chart,
    )


def _row(point: Row, baselines: Mapping[tuple[Any, Any], Row], terms: Sequence[Row], field: str) -> Row:
    baseline = baselines.get((point["baseline_case"], point["baseline_workers"]))
    show = rate(field)
    low, high = (point[f"efficiency_{end}"] for end in ("lo", "hi"))
    percents = ratio_parts(point, "efficiency", 100)
    word = verdict_word(point)
    return {
        "case": short(point["case_name"]),
        "facts": _facts(point),
        "rates": [units.UNKNOWN if baseline is None else show(baseline), show(point)],
        "sizes": _sizes(point),
        "speedup": units.estimate(*ratio_parts(point, "speedup"), "×"),
        "efficiency": units.estimate(*ratio_parts(point, "efficiency", 100), "%"),
        "is_noisy": verdicts.is_too_noisy(point),
        "described": f"efficiency {' '.join(filter(None, [f'{percents[0]} %', percents[1]]))}: {word or 'no verdict'}",
        "verdict": verdict(point),
        "middle": _along(point["efficiency"]),
        "low": None if low is None else _along(low),
        "high": None if high is None else _along(high),
        "parts": _parts(point, terms) if point["verdict"] != verdicts.DIFFERENT_TRAINING else [],
    }


def _sizes(point: Row) -> str:
    """`1 → 2 ranks`, or one size if the baseline is another case of it."""
    here, there = point["workers"], point["baseline_workers"]
    return f"{'' if here == there else f'{there:,} → '}{counted(here, point['axis'])}"


def _facts(point: Row) -> str:
    """The case's strategy, scaling and batch, in few words."""
    is_strong = point["scaling_mode"] == "strong"
    batch = point["global_batch" if is_strong else "batch_per_rank"]
    size = ""
    if batch is not None:
        size = f", batch {batch:,}" if is_strong else f", batch {batch:,} a rank"
    strategy = "" if point["strategy"] in (None, "unknown") else point["strategy"]
    return " ".join(filter(None, [strategy, point["scaling_mode"]])) + size


def _along(efficiency: float) -> float:
    """The place on the scale, in percent of its length."""
    return round(100 * min(max(efficiency / _SCALE_END, 0), 1), 2)


def _limits() -> list[float]:
    """The ends of the zones: 0, the limits of the verdicts, and 1."""
    return sorted({0.0, 1.0, *(least for least in verdicts.limits().values() if least < 1)})


def _bands() -> str:
    """`poor, acceptable from 50 %, good from 75 %`."""
    limits = [(name, least) for name, least in verdicts.limits().items() if least < 1]
    return ", ".join(["poor", *(f"{name} from {100 * least:.0f} %" for name, least in limits[::-1])])


def _zones() -> list[dict[str, object]]:
    """The verdicts on the scale, from the worst to the best; superlinear is part of the last one."""
    limits = [(name, least) for name, least in verdicts.limits().items() if name != "superlinear"]
    zones, end = [], _SCALE_END
    for name, least in [*limits, ("poor", 0.0)]:
        start = _along(least)
        zones.append(
            {
                "name": name,
                "tone": verdicts.tone(name),
                "start": start,
                "width": round(_along(end) - start, 2),
            }
        )
        end = least
    return zones[::-1]


def _parts(point: Row, terms: Sequence[Row]) -> list[_Part]:
    """The used share, the losses and what is not known. If some parts gain, all are drawn shorter, so that the bar
    stays as long as the ranks' time."""
    is_noisy = verdicts.is_too_noisy(point)
    if is_noisy or (is_loss_undecided(point) and point["verdict_lo"] not in _LITTLE_IS_LOST):
        whole_bar = _Part(
            kind="unknown",
            name="used or lost",
            percent=verdicts.TOO_NOISY if is_noisy else "not known",
            start=0,
            width=100,
            may_be_zero=False,
        )
        return [whole_bar]
    used = min(point["efficiency"], 1.0)
    shares = [("used", "used", used, False)]
    if not terms or used == 1 or is_loss_undecided(point):
        shares.append(("unknown", "not known", 1 - used, False))
    else:
        for term in sorted(terms, key=lambda term: term["term_order"]):
            if (share := term["share"]) is None or share < _LEAST:
                continue
            is_unknown = term["term"] == "remainder"
            zero = term["share_lo"] is not None and term["share_lo"] <= 0
            kind, name = ("unknown", "not explained") if is_unknown else (term["term"], name_of(term["term"]))
            shares.append((kind, name, share, zero and not is_unknown))
    whole = max(sum(share for _, _, share, _ in shares), 1.0)
    parts, start = [], 0.0
    for kind, name, share, zero in shares:
        if share < _LEAST:
            continue
        width = 100 * share / whole
        parts.append(
            _Part(
                kind=kind,
                name=name,
                percent=numbers.percent(share)[0],
                start=round(start, 2),
                width=round(width, 2),
                may_be_zero=zero,
            )
        )
        start += width
    return parts
