"""The limits of a session's numbers, in sentences: below the report's charts and below every exported table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from analysis.database.rows import Row
from analysis.wording import unlike_runs, verdicts
from analysis.wording.plain_text import counted


def caveats(
    session: Row,
    points: list[Row],
    *,
    differing: Iterable[Row] = (),
    shows_throughput_intervals: bool = True,
) -> Iterator[str]:
    """The sentences. `session` is a row of analysis/report/queries/session.sql, `points` are rows of `scaling`,
    `differing` are of unlike_runs. Exported tables do not show intervals of throughput."""
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
        yield (
            "Intervals are 95 % over repeats, Student's t on log throughput. Repeats of one allocation do not include "
            "differences between allocations: other nodes, other neighbours, another day."
        )
        if any(_has_efficiency_interval(point) and point["rounds"] is not None for point in points):
            yield "Speedup and efficiency are estimated within rounds of repeats."
    elif not has_intervals and any(_is_measured(point) for point in points):
        yield "There are no intervals: they need at least two ok repeats of a size and of its baseline."
    yield from outside_rounds(points)
    yield from slow_runs(points)
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


def outside_rounds(points: Sequence[Row]) -> Iterator[str]:
    """A sentence if an interval of a ratio could not be estimated within rounds."""
    outside = [point for point in points if _has_efficiency_interval(point) and point["rounds"] is None]
    if outside:
        sizes = "1 size is" if len(outside) == 1 else f"{len(outside):,} sizes are"
        yield (
            f"{sizes} compared by means of repeats, because too few rounds have a run of both that counts: the "
            "interval of the speedup includes differences between rounds."
        )


def slow_runs(points: Sequence[Row]) -> Iterator[str]:
    """A sentence on how many runs were slow, and which figures include them, if a size has three ok runs."""
    tested = [
        point
        for point in points
        if point["slow_share"] is not None and point["repeats"] + point["slow_repeats"] > 2
    ]
    runs = sum(point["repeats"] + point["slow_repeats"] for point in tested)
    slow = sum(point["slow_repeats"] for point in tested)
    compared = [point for point in tested if point["speedup_lo"] is not None and not point["is_baseline"]]
    has_expected = any(point["expected_speedup"] is not None for point in points)
    expected = "; expected figures are those of the long run, slow runs included" if has_expected else ""
    if slow:
        yield (
            f"{slow:,} of {runs:,} runs {'was' if slow == 1 else 'were'} slow, by 20 % or more. Typical figures leave "
            f"{'it' if slow == 1 else 'them'} out{expected}."
        )
    elif compared and not any(map(verdicts.is_too_noisy, compared)):
        largest = max(tested, key=lambda point: point["world_size"])
        most = f"{100 * min(largest['slow_share_hi'], 0.99):.2g} %"
        yield (
            f"Figures are typical: none of {runs:,} runs was slow, by 20 % or more. Probably at most "
            f"{most} of runs on {counted(largest['world_size'], 'ranks')} are slow."
        )


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
        f"more than two of these; retrograde if throughput is lower than at the next smaller "
        f"number of workers by more than repeats vary; {verdicts.DIFFERENT_TRAINING} if the losses differ by more than "
        "rounding explains."
    )


def still_too_wide(points: Sequence[Row]) -> Iterator[str]:
    """A line for each case and size whose interval of throughput or efficiency is wider than the suite requests."""
    for key, quantity, column in _STOPPING:
        for point in _wider(points, key, column):
            more = point[f"repeats_needed_{key}"]
            would = "more than 1,000 more needed" if more is None else f"about {more:,} more needed"
            known = quantity if point[quantity] is not None else column
            yield (
                f"{point['case_name']} {point['placement']}: {known} within ±{_percent(_width(point, column))} after "
                f"{point['repeats']} repeats, but the suite requests ±{_percent(point[key])}: {would}"
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
        if _is_asked(point, key) and point[f"{column}_hi"] is not None and point[f"repeats_needed_{key}"] != 0
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
