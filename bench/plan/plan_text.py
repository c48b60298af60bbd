"""Show a plan as text: which runs it has, which are skipped and why, and how long it takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench import workloads
from bench.common.custom_file import label
from bench.common.terminal import cut_in_the_middle, wrapped
from bench.plan.estimate import Estimate, estimate
from bench.plan.find_batch import pending_sizes
from bench.plan.plan import by_size, repeats_of_cases
from bench.records.run_spec import PlannedRun
from bench.records.skip_reason import OVERSUBSCRIBE_HINT, common, kind_of

if TYPE_CHECKING:
    from bench.suite.models import Case, ResolvedSuite

_HEAD = ("case", "strategy", "scaling", "ranks", "threads", "batch/rank", "global batch", "runs")
_RIGHT = (False, False, False, True, True, True, True, True)
_LESS_NEEDED = ("threads", "scaling", "strategy")
"""Columns that a narrow terminal may leave out."""
_LEAST_NAME = 16
_WIDTH = 100


def plan_lines(plan: tuple[PlannedRun, ...], results: Path, width: int | None = None) -> list[str]:
    """A table with one line per case and size in the order of running, then counts, time limit and estimate.

    On a terminal of `width` columns skipped sizes are a line below the table, which is fitted to the width."""
    groups = by_size(plan)
    repeats = repeats_of_cases(plan)
    if width is not None:
        groups = [runs for runs in groups if not runs[0].skip_reason]
    rows = [_cells(runs, repeats[runs[0].spec.case_name].most) for runs in groups]
    reasons = [runs[0].skip_reason for runs in groups]
    table, notes = _table(rows, width)
    table[1:] = [
        f"{line}  skipped: {reason.removesuffix(OVERSUBSCRIBE_HINT)}" if reason else line
        for line, reason in zip(table[1:], reasons, strict=True)
    ]
    if width is not None:
        notes += skipped_sizes(plan)
    elif any(reason and reason.endswith(OVERSUBSCRIBE_HINT) for reason in reasons):
        notes.append(f"some sizes need more slots{OVERSUBSCRIBE_HINT}")
    closing = [*notes, *_closing(plan, estimate(plan, results))]
    return [*table, "", *(part for line in closing for part in wrapped(line, width, "  "))]


def _table(rows: list[tuple[str, ...]], width: int | None) -> tuple[list[str], list[str]]:
    """The lines of the table, its heading first, and what is said below it of columns that were left out.

    If the table is wider than `width`, columns with the same cell in every row are left out, and long names of cases
    lose their middle."""
    places, notes = list(range(len(_HEAD))), []
    widths = [max(len(cells[place]) for cells in [_HEAD, *rows]) for place in places]

    def total() -> int:
        return sum(widths[place] for place in places) + 2 * (len(places) - 1)

    for place in map(_HEAD.index, _LESS_NEEDED):
        same = {row[place] for row in rows}
        if width is not None and total() > width and len(same) == 1:
            places.remove(place)
            notes.append(f"{_HEAD[place]}: {same.pop()} in every run")
    if width is not None and total() > width:
        names = {row[0] for row in rows}
        room = max(widths[0] - (total() - width), _LEAST_NAME)
        for most in range(room, widths[0]):
            cut = {name: cut_in_the_middle(name, most) for name in names}
            if len(set(cut.values())) == len(names):
                rows = [(cut[row[0]], *row[1:]) for row in rows]
                widths[0] = most
                break
    return [_line([cells[i] for i in places], widths, places) for cells in [_HEAD, *rows]], notes


def skipped_sizes(plan: Iterable[PlannedRun]) -> list[str]:
    """A line for each kind of reason why sizes of the plan are skipped:
    `12 sizes skipped: they need more than 2 slots; --oversubscribe runs them`."""
    kinds: dict[str, list[str]] = {}
    for runs in by_size(plan):
        if reason := runs[0].skip_reason:
            kinds.setdefault(kind_of(reason), []).append(reason)
    return [
        f"{len(reasons)} size{'s' * (len(reasons) > 1)} skipped: {common(reasons)}"
        for reasons in kinds.values()
    ]


def suite_lines(suite: ResolvedSuite, width: int | None = None) -> list[str]:
    """A suite's title, its why, and the protocol of its cases, in lines of at most `width` columns."""
    width = min(width or _WIDTH, _WIDTH)
    quick = " (--quick)" if suite.quick else ""
    lines = wrapped(f"{suite.name}{quick}: {suite.title}", width)
    if suite.why:
        lines += ["", *wrapped(" ".join(suite.why.split()), width)]
    protocols: dict[str, list[str]] = {}
    for case in suite.cases:
        protocols.setdefault(_protocol(case), []).append(case.name)
    for protocol, names in protocols.items():
        whose = "" if len(protocols) == 1 else f"{', '.join(names)}: "
        lines += ["", *wrapped(whose + protocol, width)]
    return lines


def _protocol(case: Case) -> str:
    measure, train, name = case.measure, case.train, case.workload.name
    widths = {
        "throughput": measure.until,
        "efficiency": measure.until_efficiency if case.has_efficiency else None,
    }
    narrow = [f"{quantity} is within {percent(width)}" for quantity, width in widths.items() if width]
    times = repeats_text(measure.fewest_repeats, measure.most_repeats) if narrow else str(measure.repeats)
    repeats = f"after {measure.warmup} of warm-up, {times} repeat{'' if times == '1' else 's'}"
    if workloads.measures_machine(name):
        return f"{name}, {train.precision}: {measure.steps} iterations of each {repeats}"
    if workloads.runs_a_command(name):
        return f"{shlex.join(case.workload.options['command'])}: {measure.steps} steps {repeats}" + (
            f" until {' and '.join(narrow)}" if narrow else ""
        )
    span = f"{measure.steps} steps" if measure.steps is not None else f"{measure.epochs} epochs"
    return (
        f"{label(name)} on {case.data.source} data, {train.precision}, {train.optimizer}: {span} {repeats}"
        + (f" until {' and '.join(narrow)}" if narrow else "")
        + (f", validated every {measure.validate_every} steps" if measure.validate_every else "")
    )


def repeats_text(fewest: int, most: int) -> str:
    """`5`, or `5-20` if a stopping rule may add some."""
    return f"{fewest}-{most}" if most > fewest else str(fewest)


def percent(fraction: float) -> str:
    """`±1 %`."""
    return f"±{100 * fraction:.4g} %"


def duration(seconds: float) -> str:
    """Such as 45 s, 3 min 10 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _cells(runs: list[PlannedRun], most_repeats: int) -> tuple[str, ...]:
    spec, repeats = runs[0].spec, len(runs)
    unknown = "largest"
    if workloads.measures_machine(spec.workload):
        unknown = "-"
    elif spec.runs_a_command:
        unknown = "counted"
    batches = tuple(str(examples or unknown) for examples in (spec.batch_per_rank, spec.global_batch))
    marked = " oversubscribed" if spec.oversubscribed else ""
    return (
        spec.case_name,
        label(spec.strategy),
        spec.scaling,
        spec.world_text,
        str(spec.threads),
        *batches,
        (str(repeats) if runs[0].skip_reason else repeats_text(repeats, most_repeats)) + marked,
    )


def _line(cells: Sequence[str], widths: Sequence[int], places: Sequence[int]) -> str:
    """The cells of the columns at these places."""
    aligned = zip(cells, places, strict=True)
    return "  ".join(
        cell.rjust(widths[place]) if _RIGHT[place] else cell.ljust(widths[place]) for cell, place in aligned
    ).rstrip()


def _stopping_rules(plan: tuple[PlannedRun, ...]) -> str:
    """The keys that may add repeats."""
    keys = ("until", "until_efficiency")
    return " and ".join(
        f"measure.{key}" for key in keys if any(getattr(run.spec.measure, key) for run in plan)
    )


def _closing(plan: tuple[PlannedRun, ...], time: Estimate) -> list[str]:
    skipped = len(plan) - time.runs
    counts = f"{time.runs} runs" + (f", {skipped} skipped" if skipped else "")
    if time.runs_at_most > time.runs:
        counts += f", up to {time.runs_at_most} with the repeats that {_stopping_rules(plan)} may add"
    gpus = any(run.spec.device_type == "cuda" and run.skip_reason is None for run in plan)
    limit = f", {time.gpu_hours_limit:.1f} GPU-hours" if gpus else ""
    if time.probes_at_most:
        sizes = len(pending_sizes(plan))
        counts += (
            f", after up to {time.probes_at_most} that search the largest micro-batch of {sizes} "
            f"size{'s' * (sizes > 1)} (find_batch)"
        )
    lines = [f"{counts}; at most {duration(time.limit_s)}{limit} by their timeouts"]
    if time.known:
        share = "all" if time.known == time.runs else f"{time.known} of {time.runs}"
        hours = f" and {time.gpu_hours:.2g} GPU-hours" if gpus else ""
        lines.append(f"{share} were measured here before: about {duration(time.known_s)}{hours} for those")
    return lines
