"""The finding of a session in one line, and the lines on what is certain and what is undecided about it.

The parameter `name` quotes untrusted text, such as a case's name, for the output's format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.database.rows import Row
from analysis.wording import verdicts
from analysis.wording.numbers import estimate
from analysis.wording.pauses import left_out
from analysis.wording.plain_text import counted, listed, word
from analysis.wording.sizes import largest, size_of
from bench.records.vocabulary import COMMAND

_MOST_NAMED = 4
"""Cases of one kind that the headline names; of more it says the range."""
_NO_GAIN = 1.1
"""A speedup whose whole interval lies below this ratio and includes 1 is no gain worth a second rank."""

FASTER, SLOWER, NO_GAIN, UNDECIDED, NOISY, OTHER_MODEL, OVERSUBSCRIBED = range(7)
"""Outcomes of comparing a size with its baseline."""


def outcome(point: Row) -> int:
    """One of the outcomes above, by the interval of the speedup; by its point if there is no interval. `point` is a
    row of `scaling` with a speedup that is no baseline."""
    if point["oversubscribed"]:
        return OVERSUBSCRIBED
    if point["verdict"] == verdicts.DIFFERENT_TRAINING:
        return OTHER_MODEL
    low, high = _ratios(point)[1:]
    if low > 1:
        return FASTER
    if high < 1:
        return SLOWER
    if verdicts.is_too_noisy(point):
        return NOISY
    return NO_GAIN if high < _NO_GAIN else UNDECIDED


def headline(points: Sequence[Row], name: Callable[[str], str] = str, machine: str = "") -> str:
    """How fast the largest sizes are, in one line. If nothing was trained, `machine`: the sentence on the measured
    machine."""
    return _of_sizes(points, name, machine) + left_out(points)


def _of_sizes(points: Sequence[Row], name: Callable[[str], str], machine: str) -> str:
    found = largest(points)
    if not found:
        return _of_nothing_compared(points, name, machine)
    if len(found) == 1:
        return _of_one(found[0], points, name)
    groups: dict[int, list[Row]] = {}
    for point in found:
        groups.setdefault(outcome(point), []).append(point)
    names_bases = len({_base(point, name) for point in found}) > 1
    names_sizes = len({size_of(point) for point in found}) > 1
    said = [
        _group(kind, groups[kind], name, names_bases=names_bases, names_sizes=names_sizes)
        for kind in _ORDER
        if kind in groups
    ]
    return f"{_sizes(found, points, name)}: {'; '.join(said)}{_unsure(found, points)}."


def undecided(points: Sequence[Row], name: Callable[[str], str] = str) -> str:
    """A sentence on the cases whose speedup or verdict the repeats leave open; empty if there are none."""
    found = largest(points)
    parts = []
    open_gain = [point for point in found if outcome(point) == UNDECIDED]
    for point in open_gain[:_MOST_NAMED]:
        interval = estimate(*_ratios(point), apart_from=1)[1]
        parts.append(
            f"whether {name(point['case_name'])} on {size_of(point)} is faster than {_base(point, name)} "
            f"({interval} times as fast)"
        )
    if len(open_gain) > _MOST_NAMED:
        parts.append(f"the same for {len(open_gain) - _MOST_NAMED:,} more")
    between = [
        point for point in found if outcome(point) in (FASTER, SLOWER, NO_GAIN) and verdicts.is_between(point)
    ]
    if between:
        said = [f"{name(point['case_name'])} ({verdicts.possible(point)})" for point in between]
        parts.append(f"the verdict of {listed(said, _MOST_NAMED)}")
    noisy = [name(point["case_name"]) for point in found if outcome(point) == NOISY]
    if noisy:
        verb = "scales" if len(noisy) == 1 else "scale"
        parts.append(f"how {listed(noisy, _MOST_NAMED)} {verb} ({verdicts.TOO_NOISY})")
    return f"{'; '.join(parts)}." if parts else ""


def faster(points: Sequence[Row], name: Callable[[str], str] = str) -> str:
    """A sentence on the cases that are certainly faster or slower than their baseline; empty if an interval shows
    neither."""
    found: dict[tuple[int, str], list[str]] = {}
    for point in largest(points):
        if point["speedup_lo"] is not None and outcome(point) in (FASTER, SLOWER):
            found.setdefault((outcome(point), _base(point, name)), []).append(name(point["case_name"]))
    said = [
        f"{listed(names, _MOST_NAMED)} {'are' if len(names) > 1 else 'is'} {'faster' if kind == FASTER else 'slower'} "
        f"than {base}"
        for (kind, base), names in found.items()
    ]
    return f"{'; '.join(said)}." if said else ""


def _base(point: Row, name: Callable[[str], str]) -> str:
    """The row's baseline in words: `on 1 rank`, `plain on 1 rank`, or `plain` if that is of the same size."""
    size = f"on {counted(point['baseline_workers'], point['baseline_axis'])}"
    if point["baseline_case"] == point["case_name"]:
        return size
    base = name(point["baseline_case"])
    return base if point["baseline_workers"] == point["workers"] else f"{base} {size}"


_ORDER = (FASTER, UNDECIDED, NO_GAIN, SLOWER, NOISY, OTHER_MODEL, OVERSUBSCRIBED)


def _of_nothing_compared(points: Sequence[Row], name: Callable[[str], str], machine: str) -> str:
    measured = [point for point in points if point["throughput"] is not None]
    if not measured and machine:
        return machine
    if not measured and any(point["elapsed_s"] is not None for point in points):
        return "Nothing was trained, so there is no speedup to report."
    if not measured:
        return "No run of this session is ok, so there is no speedup to report."
    copies = [point for point in measured if point["verdict"] == verdicts.INDEPENDENT_COPIES]
    if copies:
        most = max(copies, key=lambda point: point["workers"])
        return (
            f"{name(most['case_name'])} on {size_of(most)}: {verdicts.INDEPENDENT_COPIES} of the model, because "
            "no gradients are reduced over all ranks; so there is neither speedup nor efficiency."
        )
    paused = [point for point in measured if point["verdict"] == verdicts.UNEXPLAINED_PAUSES]
    if paused:
        most = max(paused, key=lambda point: point["unexplained_share"])
        return (
            f"{name(most['case_name'])} on {size_of(most)}: pauses of an unknown kind take "
            f"{100 * most['unexplained_share']:.0f} % of the time; so there is no speedup until --pauses says whether "
            "they are training."
        )
    have_tokens = all(point["tokens_per_s"] is not None for point in measured)
    rate = "tokens_per_s" if have_tokens else "throughput"
    best = max(measured, key=lambda point: point[rate])
    unit = "tokens/s" if have_tokens else best["throughput_unit"]
    alone = all(point["is_baseline"] for point in measured) or len(measured) == 1
    failed = (
        "no run at a second size is ok" if len(measured) < len(points) else "nothing ran at a second size"
    )
    why = failed if alone else "nothing was compared with a baseline"
    return (
        f"{name(best['case_name'])} on {size_of(best)} {'completes' if unit == 'trainings/s' else 'trains'} "
        f"{estimate(best[rate], best[f'{rate}_lo'], best[f'{rate}_hi'])[0]} {unit}; {why}, so there is no speedup to "
        "report."
    )


def _of_one(point: Row, every: Sequence[Row], name: Callable[[str], str]) -> str:
    kind, case, base = outcome(point), f"{name(point['case_name'])} on {size_of(point)}", _base(point, name)
    if kind == NOISY:
        return f"{case}: {verdicts.TOO_NOISY} how it scales."
    if kind == OTHER_MODEL:
        return f"{case} trains a different model than {base}, so the speeds cannot be compared."
    if kind == UNDECIDED and point["speedup_lo"] is not None:
        return f"{case} may be faster or slower than {base}."
    if verdicts.is_too_noisy(point) and kind in (FASTER, SLOWER):
        word = "faster" if kind == FASTER else "slower"
        return f"{case} is {word} than {base}, {verdicts.TOO_NOISY} how much."
    said = f"{case} is {_times(point)} times as fast as {base}"
    if point["speedup_lo"] is not None and (kind == NO_GAIN or point["verdict"] == verdicts.UNDECIDED):
        times, interval = estimate(*_ratios(point))
        said = f"{case} is {times} times {interval} as fast as {base}"
        said = f"No gain shown: {said}" if kind == NO_GAIN else said
    if point["efficiency"] is not None:
        percent = verdicts.efficiency_estimate(100 * point["efficiency"], *_percents(point))[0]
        said += f", at {percent} % efficiency"
    said += _unsure([point], every)
    if point["efficiency"] is None:
        said += _why_no_efficiency(point, every, name)
    if kind == OVERSUBSCRIBED:
        return f"{said}; no verdict, because ranks had to share slots or cores."
    is_open = point["speedup_lo"] is None or verdicts.is_between(point) or not point["verdict"]
    return f"{said}." if is_open else f"{said}: {point['verdict']}."


def _why_no_efficiency(point: Row, every: Sequence[Row], name: Callable[[str], str]) -> str:
    """The first thing besides the number of workers in which the row differs from its baseline, or what a command did
    not say; empty if settings are compared."""
    baseline = next(
        row
        for row in every
        if row["case_name"] == point["baseline_case"]
        and all(row[key] == point[f"baseline_{key}"] for key in ("nodes", "ranks_per_node", "threads"))
    )
    batch = "global_batch" if point["scaling_mode"] == "strong" else "batch_per_rank"
    for key in ("device_type", "precision", "workload", batch):
        here, there = point[key], baseline[key]
        if here is not None and there is not None and here != there:
            if key == batch:
                return f"; a {batch.replace('_', ' ')} of {here:,} against {there:,}, so without efficiency"
            return f"; {word(here, name)} against {word(there, name)}, so without efficiency"
    if point["workload"] == COMMAND and point["scaling_mode"] == "none":
        unknown = "the work grew with the ranks" if point["ranks_train"] else "the ranks train one model"
        return f"; whether {unknown} is not known, so without efficiency (--scaling says it)"
    return ""


def _unsure(points: Sequence[Row], every: Sequence[Row]) -> str:
    """A note if no size has an interval. `every`: all sizes, among them the baselines."""
    if any(point["speedup_lo"] is not None for point in points):
        return ""
    if all(point["is_published"] for point in points):
        return "; one published figure each"
    compared = [*points, *(point for point in every if point["is_baseline"])]
    once = all(point["repeats"] == 1 for point in compared)
    return "; one repeat each" if once else "; how sure is not known"


def _group(
    kind: int, points: Sequence[Row], name: Callable[[str], str], *, names_bases: bool, names_sizes: bool
) -> str:
    """The cases of one outcome: each by name or, if there are many, their number and range. `names_bases`: each with
    its baseline, `names_sizes`: each with its size."""
    ordered = sorted(points, key=lambda point: -_ratios(point)[0])
    if kind in (FASTER, SLOWER):
        lead = "" if kind == FASTER else "slower: "
        if len(ordered) <= _MOST_NAMED:
            return lead + ", ".join(
                f"{name(point['case_name'])}{f' on {size_of(point)}' * names_sizes} {_amount(point, kind)}"
                + (f" as fast as {_base(point, name)}" if names_bases else "")
                for point in ordered
            )
        sure = [point for point in ordered if not verdicts.is_too_noisy(point)] or ordered
        best, worst = sure[0], sure[-1]
        if _times(best) == _times(worst):
            return f"{len(ordered):,} cases {'are faster' if kind == FASTER else 'are slower'}, {_times(best)}× each"
        return (
            f"{len(ordered):,} cases {'are faster' if kind == FASTER else 'are slower'}, from {_times(worst)}× "
            f"({name(worst['case_name'])}) to {_times(best)}× ({name(best['case_name'])})"
        )
    is_one = len(ordered) == 1
    if len(ordered) > _MOST_NAMED:
        who = f"{len(ordered):,} cases"
    else:
        who = ", ".join(
            f"{name(point['case_name'])}{f' {_times(point)}×' if kind == NO_GAIN else ''}"
            for point in ordered
        )
    return {
        UNDECIDED: f"{who} may be faster or slower",
        NO_GAIN: f"no gain shown: {who}",
        NOISY: f"{who} {'is' if is_one else 'are'} too noisy to tell",
        OTHER_MODEL: f"{who} {'trains' if is_one else 'train'} a different model",
        OVERSUBSCRIBED: f"{who} {'is' if is_one else 'are'} oversubscribed",
    }[kind]


def _sizes(points: Sequence[Row], every: Sequence[Row], name: Callable[[str], str]) -> str:
    """`2 ranks against 1`, `1 rank against plain`, or the largest sizes if they differ. `every`: all sizes,
    also larger ones without a slot for each rank."""
    first = points[0]
    sizes = {(point["workers"], point["axis"], point["baseline_workers"]) for point in points}
    others = {
        None if point["baseline_case"] == point["case_name"] else point["baseline_case"] for point in points
    }
    if len(sizes) > 1 or len(others) > 1:
        most = max(point["workers"] for point in points)
        larger = any(point["oversubscribed"] and point["workers"] > most for point in every)
        return f"At the largest sizes{' that fit' if larger else ''}"
    base = f"{first['baseline_workers']:,}" if others == {None} else _base(first, name)
    return f"{counted(first['workers'], first['axis']).capitalize()} against {base}"


def _ratios(point: Row) -> tuple[float, float, float]:
    """The ratio to the baseline's throughput and the ends of its interval, all equal without an interval."""
    value, low, high = (point[key] for key in ("speedup", "speedup_lo", "speedup_hi"))
    workers = point["baseline_workers"]
    return (
        value / workers,
        (value if low is None else low) / workers,
        (value if high is None else high) / workers,
    )


def _amount(point: Row, kind: int) -> str:
    """`1.72×`, or which is faster if the repeats do not show by how much."""
    if not verdicts.is_too_noisy(point):
        return f"{_times(point)}×"
    return f"{'faster' if kind == FASTER else 'slower'} ({verdicts.TOO_NOISY} how much)"


def _times(point: Row) -> str:
    """The ratio to the baseline as text, with the digits that its interval supports."""
    return estimate(*_ratios(point))[0]


def _percents(point: Row) -> tuple[float | None, float | None]:
    low, high = point["efficiency_lo"], point["efficiency_hi"]
    return (None, None) if low is None or high is None else (100 * low, 100 * high)
