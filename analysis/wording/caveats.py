"""The limits of a session's numbers, in sentences: below the report's charts and below every exported table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording import numbers, unlike_runs, verdicts
from analysis.wording.plain_text import counted


def caveats(
    session: Row,
    points: list[Row],
    *,
    differing: Iterable[Row] = (),
    shows_throughput_intervals: bool = True,
    name: Callable[[str], str] = str,
) -> Iterator[str]:
    """The sentences. `session` is a row of analysis/report/queries/session.sql, `points` are rows of `scaling`,
    `differing` are of unlike_runs. Exported tables do not show intervals of throughput. `name` quotes untrusted text,
    such as a case's name, for the output's format."""
    yield from _of_an_import(session["imported"], points)
    yield from unlike_runs.sentences(differing)
    compared = [point for point in points if point["speedup"] is not None and not point["is_baseline"]]
    if any(point["efficiency"] is not None for point in compared):
        yield "Efficiency is speedup ÷ workers."
    yield from workers_of_baselines(compared)
    if any(point["verdict"] for point in points):
        yield _limits()
    has_intervals = any(point["throughput_lo"] is not None for point in points)
    if has_intervals and (shows_throughput_intervals or any(map(_has_efficiency_interval, points))):
        middle = _middle(point["repeats"] for point in points if point["throughput_lo"] is not None)
        yield (
            f"Figures are those of the {middle} run, speedup and efficiency those of the {middle} round. Intervals are "
            "95 % over repeats. Repeats of one allocation do not include differences between allocations: other "
            "nodes, other neighbours, another day."
        )
    elif not has_intervals and any(_is_measured(point) and point["repeats"] < 3 for point in points):
        yield "There are no intervals: they need at least three ok repeats of a size and of its baseline."
    yield from outside_rounds(points)
    yield from rounded_times(points, name)
    yield from slow_runs(points, name)
    if wider := wider_than_asked(points):
        yield wider
    yield from _of_gloo(session)
    if session["oversubscribed"]:
        yield "In rows marked oversubscribed, ranks had to share slots or cores: these rows have no verdict."
    if session["recompiled"]:
        yield (
            f"torch.compile still compiled during measured steps of {', '.join(session['recompiled'])}: their times "
            "include it. To avoid that, use more warm-up steps, or batches of one shape."
        )
    if session["synthetic"] and any(point["throughput"] is not None for point in points):
        yield "The examples are synthetic: the results say nothing about a real data set."


def workers_of_baselines(points: Sequence[Row]) -> Iterator[str]:
    """A sentence on baselines of several workers: speedups are not ratios to their throughput."""
    compared = [point for point in points if point["speedup"] is not None and not point["is_baseline"]]
    several = sorted({point["baseline_workers"] for point in compared} - {1})
    if several:
        counts = " or ".join(f"{workers:,}" for workers in several)
        yield f"A baseline of {counts} workers has a speedup of {counts}: no smaller size could be its baseline."


def rounded_times(points: Iterable[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence if the times of an imported file are rounded by 0.1 % or more."""
    rounded = [point for point in points if (point["resolution"] or 0) >= 0.002]
    if rounded:
        worst = max(rounded, key=lambda point: point["resolution"])
        yield (
            f"The file's times look rounded, those of {name(worst['case_name'])} {worst['placement']} by up to "
            f"{100 * worst['resolution'] / 2:.2g} %. Intervals contain that, if there are any, and more repeats do not "
            "narrow it."
        )


def outside_rounds(points: Sequence[Row]) -> Iterator[str]:
    """A sentence if an interval of a ratio could not be estimated within rounds."""
    outside = [point for point in points if _has_efficiency_interval(point) and point["rounds"] is None]
    if outside:
        sizes = "1 size is" if len(outside) == 1 else f"{len(outside):,} sizes are"
        yield (
            f"{sizes} compared by means of repeats, because fewer than three rounds have an ok run of both: the "
            "interval of the speedup includes differences between rounds."
        )


def slow_runs(points: Iterable[Row], name: Callable[[str], str] = str) -> Iterator[str]:
    """A sentence on the sizes of which a run took over 1.2 times the median run, if there are any."""
    found = [point for point in points if point["slow_runs"] and not point["oversubscribed"]]
    if not found:
        return
    worst = max(found, key=lambda point: (point["slow_runs"] / point["repeats"], point["repeats"]))
    low, high = share_interval(worst["slow_runs"], worst["repeats"])
    more = len(found) - 1
    others = f"; so did runs of {counted(more, 'other sizes')}" if more else ""
    size = f"{name(worst['case_name'])} {worst['placement']}"
    yield (
        f"{worst['slow_runs']:,} of {worst['repeats']:,} runs of {size} took over "
        f"1.2 times the median run [{100 * low:.0f} to {100 * high:.0f} %]{others}."
    )


def share_interval(count: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a probability, where the event happened `count` times in `of` (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    low = 0.0 if count == 0 else float(betaincinv(count, of - count + 1, 0.025))
    high = 1.0 if count == of else float(betaincinv(count + 1, of - count, 0.975))
    return low, high


def ranges_of_rounds(points: Iterable[Row]) -> Iterator[str]:
    """A sentence on the ranges that replace intervals, if there are any."""
    if any(point["speedup_min"] is not None and not point["is_baseline"] for point in points):
        yield "In parentheses: the range of the rounds, which are too few for an interval."


def of_the_rounds(rounds: Iterable[int]) -> str:
    """`median of the rounds' ratios`, by the numbers of rounds of the sizes that are meant."""
    return f"{_middle(rounds)} of the rounds' ratios"


def _middle(numbers_of_rounds: Iterable[int]) -> str:
    """The estimate that these numbers of repeats or rounds have: the median from six on."""
    return " or ".join(
        dict.fromkeys(
            "median" if number > 5 else "mean" for number in sorted(numbers_of_rounds, reverse=True)
        )
    )


def of_rounds(points: Sequence[Row]) -> Iterator[str]:
    """Sentences on speedups that are not the quotient of the throughputs that the table shows."""
    apart = [point for point in points if point["speedup"] is not None and _is_no_quotient(point)]
    inside = [point for point in apart if point["rounds"] is not None]
    outside = [point for point in apart if point["rounds"] is None]
    of_inside = of_the_rounds(point["rounds"] for point in inside)
    for means, found in ((of_inside, inside), ("ratio of the mean runs", outside)):
        if found:
            yield (
                f"Speedup is the {means}: for {counted(len(found), 'sizes')} it is not the quotient of both "
                "throughputs."
            )


def _is_no_quotient(point: Row) -> bool:
    """Whether the speedup differs from the quotient of both throughputs in the digits that are shown."""
    quotient = point["baseline_workers"] * point["throughput"] / point["baseline_throughput"]
    if math.isclose(point["speedup"], quotient, rel_tol=1e-9):
        return False
    shown, _ = numbers.estimate(point["speedup"], point["speedup_lo"], point["speedup_hi"])
    return shown != numbers.shown(quotient, len(shown.partition(".")[2]))


def busy(findings: Sequence[Row]) -> str:
    """A warning that belongs above every figure of a session if it was measured on a busy machine; else empty.
    `findings` are rows of `diagnosis`."""
    for finding in findings:
        if finding["finding"] == "busy_machine":
            return f"Measured on a busy machine: {finding['evidence']}. Times may include waiting for these processes."
    return ""


def busy_sides(names: Sequence[str]) -> str:
    """A clause that these sessions of a comparison were measured on a busy machine."""
    return f"{', '.join(names)}: measured on a busy machine, so a difference may come from the other work"


def _of_gloo(session: Row) -> Iterator[str]:
    if session["fsdp_on_cpu"]:
        yield (
            "On CPUs the ranks talk through gloo, which performs reduce-scatter as all-reduce: the FSDP figures here "
            "say nothing about NCCL on GPUs."
        )
    if session["collectives_on_cpu"]:
        yield (
            "On CPUs the ranks talk through gloo, within a node over the loopback device; it performs reduce-scatter "
            "as all-reduce. These bandwidths and latencies say nothing about NCCL on GPUs."
        )


def _is_measured(point: Row) -> bool:
    return point["throughput"] is not None and not point["is_published"]


def _of_an_import(imported: str | None, points: list[Row]) -> Iterator[str]:
    if imported is None:
        return
    if not any(point["throughput"] is not None for point in points):
        yield (
            "scalebench did not measure these times: each is a mean over iterations, and their variation within a run "
            "is unknown."
        )
        return
    if any(point["is_published"] for point in points):
        yield (
            "scalebench did not measure these figures: the source gives one per size. How often it measured, and how "
            "much that varied, is unknown, so there are no intervals, and no rule judges them."
        )
        if any(point["throughput_unit"] == "GPU peaks" for point in points):
            yield (
                "The source gives MFU, the share of the GPUs' peak FLOP/s; throughput here is MFU × GPUs, which is "
                "proportional to examples per second."
            )
        return
    yield (
        "scalebench did not measure these times: each run is one whole training, timed elsewhere. There are no steps, "
        "so warm-up, variation within a run and the parts of a step are unknown."
    )
    if any(point["throughput_unit"] == "trainings/s" for point in points):
        yield (
            "The number of examples in a training is unknown, so throughput counts whole trainings: speedup and "
            "efficiency are ratios of times."
        )


def _has_efficiency_interval(point: Row) -> bool:
    """Whether the row has an interval of efficiency. A baseline is compared with itself, so its own does not count."""
    return point["efficiency_lo"] is not None and not point["is_baseline"]


def _limits() -> str:
    first, *others = (f"{name} {{}} {100 * least:.0f} %" for name, least in verdicts.limits().items())
    said = [f"{first.format('above')} efficiency", *(other.format("from") for other in others)]
    return (
        f"Verdicts: {', '.join(said)}, poor below; {verdicts.UNDECIDED} if the interval spans "
        f"more than two of these or repeats are too few for one; retrograde if throughput is lower than at the next "
        f"smaller number of workers by more than repeats vary; {verdicts.DIFFERENT_TRAINING} if the losses differ by "
        "more than rounding explains."
    )


def still_too_wide(points: Sequence[Row]) -> Iterator[str]:
    """A line for each case and size whose interval of throughput or efficiency is wider than the suite requests."""
    for key, quantity, column in _STOPPING:
        for point in _wider(points, key, column):
            known = quantity if point[quantity] is not None else column
            yield (
                f"{point['case_name']} {point['placement']}: {known} within ±{_percent(_width(point, column))} after "
                f"{point['repeats']} repeats, but the suite requests ±{_percent(point[key])}"
            )


def wider_than_asked(points: Sequence[Row]) -> str:
    """The same without names, in a sentence for each; empty if all intervals are as narrow as requested."""
    sentences = []
    for key, quantity, column in _STOPPING:
        wider = _wider(points, key, column)
        if wider:
            asked = sum(_is_asked(point, key) for point in points)
            widths = " or ".join(f"±{_percent(width)}" for width in sorted({point[key] for point in wider}))
            widest = _percent(max(_width(point, column) for point in wider))
            sentences.append(
                f"measure.{key} requests {quantity} to within {widths}: {len(wider):,} of {asked:,} rows stayed wider, "
                f"the widest within ±{widest}."
            )
    return " ".join(sentences)


_STOPPING = (("until", "throughput", "throughput"), ("until_efficiency", "efficiency", "speedup"))
"""Key of measure, the quantity, and the column whose relative interval is the same. (A row over another device or of
scaling: none has a speedup but no efficiency.)"""


def _is_asked(point: Row, key: str) -> bool:
    """Whether the key has an effect on the row: the efficiency of a baseline is exact."""
    return point[key] is not None and not (key == "until_efficiency" and point["is_baseline"])


def _wider(points: Sequence[Row], key: str, column: str) -> list[Row]:
    return [
        point
        for point in points
        if _is_asked(point, key) and point[f"{column}_hi"] is not None and _width(point, column) > point[key]
    ]


def _width(point: Row, column: str) -> float:
    """The longer side of the interval, as a fraction of the value."""
    width: float = point[f"{column}_hi"] / point[column] - 1
    return width


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g} %"


MOST_FILES = 3
"""Imported files that a sentence names; it counts the others."""


def imported_from(session: Row) -> str:
    """A sentence on the source files of an imported session; their names are untrusted. `session` has `imported` and
    `created_at` of the table sessions."""
    imported = json.loads(session["imported"])
    files = imported.get("files") or []
    named = [_file(file) for file in files[:MOST_FILES] if isinstance(file, dict)]
    if len(files) > MOST_FILES:
        named.append(f"{len(files) - MOST_FILES:,} more")
    date = f" on {session['created_at']:%Y-%m-%d}" if session["created_at"] is not None else ""
    if imported.get("format") == "published":
        return (
            f"Published{date}, licence {imported.get('licence')}: {imported.get('source')}; "
            f"{imported.get('hardware')}. Not measured by scalebench; one figure per size, so there are no intervals."
        )
    return f"Imported{date} from {', '.join(named) or 'an unnamed file'}; not measured by scalebench."


def _file(file: Row) -> str:
    return f"{file.get('name')} (SHA-256 {str(file.get('sha256'))[:12]})"
