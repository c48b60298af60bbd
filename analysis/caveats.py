"""What limits the numbers of a session, in sentences: below the report's charts and below every exported table."""

from __future__ import annotations

from collections.abc import Iterator

from analysis import verdicts
from analysis.fetched import Row
from analysis.widths import wider_than_asked


def caveats(session: Row, points: list[Row], *, shows_throughput_intervals: bool = True) -> Iterator[str]:
    """`session` of analysis/report/queries/session.sql, `points` rows of `scaling`. Every word is ours. Exported tables
    show the intervals of efficiency alone."""
    yield from _of_an_import(session["imported"], points)
    if was_compared(points):
        yield "Efficiency is speedup ÷ workers."
    if any(point["verdict"] for point in points):
        yield _limits()
    has_intervals = any(point["throughput_lo"] is not None for point in points)
    if has_intervals and (shows_throughput_intervals or any(map(_has_efficiency_interval, points))):
        yield (
            "Intervals are 95 % over repeats, Student's t on log throughput. Repeats of one allocation do not contain "
            "what differs between allocations: other nodes, other neighbours, another day."
        )
    elif not has_intervals and any(point["throughput"] is not None for point in points):
        yield "There are no intervals: they need at least two ok repeats of a size and of its baseline."
    if wider := wider_than_asked(points):
        yield wider
    yield from _of_gloo(session)
    if session["oversubscribed"]:
        yield "In rows marked oversubscribed ranks had to share slots or cores: they are measured and never judged."
    if session["recompiled"]:
        yield (
            f"torch.compile still compiled among measured steps of {', '.join(session['recompiled'])}: their times "
            "contain it. More warm-up steps, or batches of one shape, keep it out."
        )
    if session["synthetic"] and any(point["throughput"] is not None for point in points):
        yield "The examples are synthetic: generated, and no statement about a real data set."


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


def _of_an_import(imported: str | None, points: list[Row]) -> Iterator[str]:
    if imported is None:
        return
    if not any(point["throughput"] is not None for point in points):
        yield (
            "These times were not measured by scalebench: each is the mean over the iterations that whoever ran it "
            "chose, so nothing is known of how they varied within a run."
        )
        return
    yield (
        "These times were not measured by scalebench: each run is one whole training, timed by whoever ran it. There "
        "are no steps, so nothing is known of warm-up, of variation within a run, or of what a step spent its time on."
    )
    if any(point["throughput_unit"] == "trainings/s" for point in points):
        yield (
            "How many examples a training processes is not known, so throughput counts whole trainings: speedup and "
            "efficiency are ratios of times."
        )


def _has_efficiency_interval(point: Row) -> bool:
    """A baseline is its own measure."""
    return point["efficiency_lo"] is not None and not point["is_baseline"]


def was_compared(points: list[Row]) -> bool:
    """Whether anything has a speedup over something else."""
    return any(point["speedup"] is not None and not point["is_baseline"] for point in points)


def _limits() -> str:
    first, *others = (f"{name} {{}} {100 * least:.0f} %" for name, least in verdicts.limits().items())
    said = [f"{first.format('above')} efficiency", *(other.format("from") for other in others)]
    return (
        f"Verdicts: {', '.join(said)}, poor below; retrograde where throughput is lower than at the next smaller "
        "number of workers, beyond what repeats vary."
    )
