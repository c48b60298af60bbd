"""Show a plan as text: which runs it has, which are skipped and why, and how long it takes."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bench import workloads
from bench.common.own_part import label
from bench.plan.estimate import Estimate, estimate
from bench.plan.find_batch import pending_sizes
from bench.plan.plan import by_size, repeats_of_cases
from bench.records.run_spec import PlannedRun
from bench.records.skip_reason import OVERSUBSCRIBE_HINT, common, kind_of

if TYPE_CHECKING:
    from bench.suite.models import Case, ResolvedSuite

_HEAD = ("case", "strategy", "scaling", "ranks", "threads", "batch/rank", "global batch", "runs")
_RIGHT = (False, False, False, True, True, True, True, True)
_WIDTH = 100


def plan_lines(plan: tuple[PlannedRun, ...], results: Path) -> list[str]:
    """A table with one line per case and size in the order of running, then counts, time limit and estimate."""
    groups = by_size(plan)
    repeats = repeats_of_cases(plan)
    rows = [(_cells(runs, repeats[runs[0].spec.case_name].most), runs[0].skip_reason) for runs in groups]
    widths = [max(len(cells[i]) for cells in [_HEAD, *(row for row, _ in rows)]) for i in range(len(_HEAD))]
    table = [_line(_HEAD, widths)]
    for cells, skip_reason in rows:
        skipped = f"  skipped: {skip_reason.removesuffix(OVERSUBSCRIBE_HINT)}" if skip_reason else ""
        table.append(_line(cells, widths) + skipped)
    return [*table, "", *_closing(plan, estimate(plan, results))]


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


def suite_lines(suite: ResolvedSuite) -> list[str]:
    """A suite's title, its why, and the protocol of its cases."""
    quick = " (--quick)" if suite.quick else ""
    lines = [f"{suite.name}{quick}: {suite.title}"]
    if suite.why:
        lines += ["", *_wrapped(" ".join(suite.why.split()))]
    protocols: dict[str, list[str]] = {}
    for case in suite.cases:
        protocols.setdefault(_protocol(case), []).append(case.name)
    for protocol, names in protocols.items():
        whose = "" if len(protocols) == 1 else f"{', '.join(names)}: "
        lines += ["", *_wrapped(whose + protocol)]
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
    if workloads.runs_a_script(name):
        return f"{shlex.join(case.workload.options['command'])}: {measure.steps} steps {repeats}" + (
            f" until {' and '.join(narrow)}" if narrow else ""
        )
    span = f"{measure.steps} steps" if measure.steps is not None else f"{measure.epochs} epochs"
    return (
        f"{label(name)} on {_data(case.data.source)}, {train.precision}, {label(train.optimizer)}: {span} {repeats}"
        + (f" until {' and '.join(narrow)}" if narrow else "")
        + (f", validated every {measure.validate_every} steps" if measure.validate_every else "")
    )


def _data(source: str) -> str:
    return label(source) if ":" in source else f"{source} data"


def repeats_text(fewest: int, most: int) -> str:
    """`5`, or `5-20` if a stopping rule may add some."""
    return f"{fewest}-{most}" if most > fewest else str(fewest)


def percent(fraction: float) -> str:
    """`±1 %`."""
    return f"±{100 * fraction:.4g} %"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_on_hyphens=False)


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
    ranks = str(spec.world_size) if spec.nodes == 1 else f"{spec.nodes}x{spec.ranks_per_node}"
    unknown = "largest"
    if workloads.measures_machine(spec.workload):
        unknown = "-"
    elif spec.runs_a_script:
        unknown = "counted"
    batches = tuple(str(examples or unknown) for examples in (spec.batch_per_rank, spec.global_batch))
    marked = " oversubscribed" if spec.oversubscribed else ""
    return (
        spec.case_name,
        label(spec.strategy),
        spec.scaling,
        ranks,
        str(spec.threads),
        *batches,
        (str(repeats) if runs[0].skip_reason else repeats_text(repeats, most_repeats)) + marked,
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    aligned = zip(cells, widths, _RIGHT, strict=True)
    return "  ".join(
        cell.rjust(width) if right else cell.ljust(width) for cell, width, right in aligned
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
    hints = [run for run in plan if run.skip_reason and run.skip_reason.endswith(OVERSUBSCRIBE_HINT)]
    lines = [f"some sizes need more slots{OVERSUBSCRIBE_HINT}"] if hints else []
    if time.probes_at_most:
        sizes = len(pending_sizes(plan))
        counts += (
            f", after up to {time.probes_at_most} that search the largest micro-batch of {sizes} "
            f"size{'s' * (sizes > 1)} (find_batch)"
        )
    lines += [f"{counts}; at most {duration(time.limit_s)}{limit} by their timeouts"]
    if time.known:
        share = "all" if time.known == time.runs else f"{time.known} of {time.runs}"
        hours = f" and {time.gpu_hours:.2g} GPU-hours" if gpus else ""
        lines.append(f"{share} were measured here before: about {duration(time.known_s)}{hours} for those")
    return lines
