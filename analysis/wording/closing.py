"""The closing sentences of a session: how far training scales and how certain that is, then the main loss.

The parameter `name` quotes untrusted text, such as a case's name, for the output's format.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.database.rows import Row
from analysis.wording import verdicts
from analysis.wording.lost_efficiency import UNDECIDED_LOSS, is_loss_undecided, name_of, size_of, unknown
from analysis.wording.numbers import estimate
from analysis.wording.plain_text import counted, word
from bench.records.vocabulary import SCRIPT

_ESTIMATED = ("imbalance", "communication", "work")
"""Terms that may be estimated, depending on how the parts of a step are known."""
LEAST = 0.005
"""Share of the ranks' time below which a loss is not mentioned."""


def closing_sentence(points: Sequence[Row], name: Callable[[str], str] = str, machine: str = "") -> str:
    """A sentence on speedup and efficiency at the most telling of `points`, rows of `scaling`. If nothing was trained,
    `machine`: the sentence on the measured machine."""
    measured = [point for point in points if point["throughput"] is not None]
    if not measured and machine:
        return machine
    if not measured and any(point["elapsed_s"] is not None for point in points):
        return "Nothing was trained, so there is no speedup to report."
    if not measured:
        return "No run of this session is ok, so there is no speedup to report."
    point = most_telling(points)
    copies = [one for one in measured if one["verdict"] == verdicts.INDEPENDENT_COPIES]
    if copies and (point is None or point["efficiency"] is None):
        largest = max(copies, key=lambda one: one["workers"])
        return (
            f"{name(largest['case_name'])} on {size_of(largest)}: {verdicts.INDEPENDENT_COPIES} of the model, because "
            "no gradients are reduced over all ranks; so there is neither speedup nor efficiency."
        )
    if point is None:
        best = max(measured, key=lambda point: point["throughput"])
        unit = best["throughput_unit"]
        return (
            f"{name(best['case_name'])} on {size_of(best)} {'trains' if unit == 'examples/s' else 'completes'} "
            f"{_estimate(best, 'throughput')[0]} {unit}; nothing ran at a second size, so there is no speedup to "
            "report."
        )
    sentence = f"{name(point['case_name'])} on {size_of(point)}: "
    if verdicts.is_too_noisy(point):
        repeats = counted(point["repeats"] + point["slow_repeats"], "repeats")
        return f"{sentence}{verdicts.TOO_NOISY} how it scales after {repeats}.{_moved(points, point)}"
    sentence += _ratio(point, name)
    if point["efficiency"] is not None:
        efficiency, interval = _estimate(point, "efficiency", 100)
        sentence += f", efficiency {efficiency} %{interval and f' {interval}'}"
    elif unlike := _unlike(point, name):
        sentence += f"; {unlike}, so without efficiency"
    elif point["workload"] == SCRIPT and point["scaling_mode"] == "none":
        unknown = "the work grew with the ranks" if point["ranks_train"] else "the ranks train one model"
        sentence += f"; whether {unknown} is not known, so without efficiency (--scaling says it)"
    return f"{sentence}{_judgement(point)}.{_expected(point)}{_moved(points, point)}"


def most_telling(points: Sequence[Row]) -> Row | None:
    """The row that the sentence is about; None if nothing was compared. Rows with slots for all ranks win, then strong
    scaling, then the largest size, then the suite's order of cases."""
    compared = [
        point
        for point in points
        if point["throughput"] is not None and point["speedup"] is not None and not point["is_baseline"]
    ]
    return max(
        compared,
        key=lambda point: (not point["oversubscribed"], point["scaling_mode"] == "strong", point["workers"]),
        default=None,
    )


def _ratio(point: Row, name: Callable[[str], str]) -> str:
    """The speedup and its baseline. Workers of a larger baseline count as ideal, so the ratio is said too. Three
    repeats can show which runs are slow, so that the others are typical."""
    kind = "scaled speedup" if point["scaling_mode"] == "weak" else "speedup"
    is_tested = point["slow_share"] is not None and point["repeats"] + point["slow_repeats"] > 2
    typical = "typical " if is_tested else ""
    workers = point["baseline_workers"]
    over = counted(workers, point["baseline_axis"])
    if point["baseline_case"] != point["case_name"]:
        over = f"{name(point['baseline_case'])} on {over}"
    if workers == 1:
        return f"{typical}{kind} {' '.join(filter(None, _estimate(point, 'speedup')))} over {over}"
    ratio = " ".join(filter(None, _estimate(point, "speedup", 1 / workers)))
    counting = f"{kind} {_estimate(point, 'speedup')[0]} if these count as {workers:,}"
    return f"{typical and 'typically '}{ratio} times the throughput of {over} ({counting})"


def _unlike(point: Row, name: Callable[[str], str]) -> str:
    """The first thing besides the number of workers in which the row differs from its baseline; empty if nothing
    does."""
    batch = "global_batch" if point["scaling_mode"] == "strong" else "batch_per_rank"
    for key in ("device_type", "precision", "workload", batch):
        here, there = point[key], point[f"baseline_{key}"]
        if here is not None and there is not None and here != there:
            if key == batch:
                return f"a {batch.replace('_', ' ')} of {here:,} against {there:,}"
            return f"{word(here, name)} against {word(there, name)}"
    return ""


def _expected(point: Row) -> str:
    """A sentence on the long run if some runs were slow."""
    name = "speedup" if point["efficiency"] is None else "efficiency"
    if point[f"expected_{name}"] is None:
        return ""
    is_share = name == "efficiency"
    value, interval = _estimate(point, f"expected_{name}", 100 if is_share else 1)
    said = f"{value}{' %' if is_share else ''}{interval and f' {interval}'}"
    return f" The expected {name}, slow runs included, is {said}."


def _moved(points: Sequence[Row], point: Row) -> str:
    """A sentence if a smaller size should have been the baseline but has no ok run."""
    smaller = [
        other["workers"]
        for other in points
        if other["case_name"] == point["baseline_case"]
        and other["throughput"] is None
        and other["workers"] < point["baseline_workers"]
    ]
    if not smaller:
        return ""
    baseline = counted(point["baseline_workers"], point["baseline_axis"])
    return f" The baseline is {baseline} instead of {min(smaller):,}, because no run on fewer is ok."


def _estimate(point: Row, name: str, factor: float = 1) -> tuple[str, str]:
    ends = (point[f"{name}_{end}"] for end in ("lo", "hi"))
    low, high = (None if end is None else factor * end for end in ends)
    return estimate(factor * point[name], low, high)


def _judgement(point: Row) -> str:
    """The verdict, or the verdicts that the interval allows."""
    if point["oversubscribed"]:
        return "; no verdict, because ranks had to share slots or cores"
    if point["verdict"] == verdicts.DIFFERENT_TRAINING:
        other = f"the losses differ from those of fewer {point['axis']} by more than rounding"
        return f": {verdicts.DIFFERENT_TRAINING}, because {other}"
    verdict = f": {point['verdict']}" if point["verdict"] else ""
    if point["speedup_lo"] is None:
        reason = "the median run may be a slow one" if point["may_be_slow"] else "fewer than two repeats"
        return f"{verdict} ({reason}: no interval)"
    if point["verdict"] == verdicts.RETROGRADE:
        return f"{verdict}, slower than on fewer {point['axis']}"
    if point["verdict"] != verdicts.UNDECIDED:
        return verdict
    return f"{verdict} after {point['repeats'] + point['slow_repeats']} repeats"


def main_loss(points: Sequence[Row], losses: Sequence[Row]) -> str:
    """The main loss of the closing sentence's row, with its interval; empty if nothing was lost or nothing is known.
    `losses` are rows of efficiency_loss of the same session."""
    point = most_telling(points)
    if point is None:
        return ""
    place = ("case_name", "nodes", "ranks_per_node", "threads")
    terms = [
        loss for loss in losses if loss["share"] is not None and all(loss[key] == point[key] for key in place)
    ]
    return _main_loss(point, terms)


def main_loss_of(points: Sequence[Row], losses: Sequence[Row], name: Callable[[str], str] = str) -> str:
    """The same with the name and the size of its case."""
    point, said = most_telling(points), main_loss(points, losses)
    return f"{name(point['case_name'])} on {size_of(point)}: {said}" if point is not None and said else ""


def _main_loss(point: Row, terms: Sequence[Row]) -> str:
    if not terms or point["verdict"] == verdicts.DIFFERENT_TRAINING:
        return ""
    if is_loss_undecided(point):
        return f"{UNDECIDED_LOSS.capitalize()}."
    lost = 1 - terms[0]["efficiency"]
    largest, *others = sorted(terms, key=lambda term: term["share"], reverse=True)
    if lost < LEAST or largest["share"] < LEAST:
        return ""
    ends = (None if largest[end] is None else 100 * largest[end] for end in ("share_lo", "share_hi"))
    share, interval = estimate(100 * largest["share"], *ends)
    cause = f"{name_of(largest['term'])}: {share} %{interval and f' {interval}'}"
    is_remainder = largest["term"] == "remainder"
    if is_remainder and largest["known_by"] is None:
        cause += f" ({unknown()})"
    elif largest["known_by"] == "estimated" and largest["term"] in _ESTIMATED:
        cause += " (estimated)"
    said = f"{estimate(100 * lost, None, None)[0]} % of the ranks' time was lost"
    mainly = "the largest part" if is_remainder else "mainly to"
    gain = -sum(term["share"] for term in terms if term["share"] < 0)
    gained = ""
    if largest["share"] > lost and gain >= LEAST:  # otherwise a part would be larger than the whole
        gained = f"; other parts gained {estimate(100 * gain, None, None)[0]} %"
    if largest["share_lo"] is None:
        return f"{said}, by points alone {mainly} {cause}{gained}."
    if largest["share_lo"] <= 0 or any(_rivals(other, largest) for other in others):
        return f"{said}; main cause unclear, {'perhaps' if is_remainder else 'probably'} {cause}{gained}."
    return f"{said}, {mainly} {cause}{gained}."


def _rivals(other: Row, largest: Row) -> bool:
    """Whether, by its interval, the other term may be larger than the largest."""
    is_there: bool = other["share"] >= LEAST and other["share_hi"] is not None
    return is_there and other["share_hi"] >= largest["share_lo"]
