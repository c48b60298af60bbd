"""Pauses of a training, in which it validates or saves.

A validation goes from the end of a training call to the start of the next one. The calls that show it are only a part:
the script may fetch batches before it, or sample from a copy of the model, which no hook knows. Saving is the time of
the call. Training calls are the spans of a step's phases.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from bench_probe.spans import covered_ns

SAVING, VALIDATION = "saving", "validation"


def pauses_of(step, ordinary, elapsed_ns):
    """Kind and nanoseconds of each pause in a step, in order; together at most the step.

    `ordinary`: steps without a pause. The time that they take between the same two calls belongs to the training."""
    calls = _calls(step, elapsed_ns)
    usual = [_calls(other, elapsed_ns) for other in ordinary]
    gaps = {}
    for kind, begin, end in step.outside:
        begin_ns, end_ns = elapsed_ns(begin, step.start), elapsed_ns(end, step.start)
        gap = _gap_around(calls, begin_ns, end_ns)
        gaps.setdefault(gap, []).append((kind, begin, end))
    for number, marked in gaps.items():
        marked_ns = covered_ns([span[1:] for span in marked], step.start, elapsed_ns)
        if number is None:  # a training call goes on in it
            spans = [span[1:] for span in step.spans]
            both_ns = covered_ns([*spans, *(span[1:] for span in marked)], step.start, elapsed_ns)
            yield marked[0][0], both_ns - covered_ns(spans, step.start, elapsed_ns)
            continue
        (before, _, begin_ns), (after, end_ns, _) = calls[number], calls[number + 1]
        pause_ns = max(marked_ns, end_ns - begin_ns - _usual_ns(usual, before, after))
        saving = [span[1:] for span in marked if span[0] == SAVING]
        saving_ns = covered_ns(saving, step.start, elapsed_ns)
        if len(saving) == len(marked):  # the rest may be the work of the script's own loader
            yield SAVING, saving_ns
        else:
            yield VALIDATION, pause_ns - saving_ns
            if saving:
                yield SAVING, saving_ns


def _calls(step, elapsed_ns):
    """Phase, begin and end of the training calls, by time, between the begin and the end of the step."""
    spans = sorted(
        (elapsed_ns(begin, step.start), elapsed_ns(end, step.start), phase)
        for phase, begin, end in step.spans
    )
    last_ns = elapsed_ns(step.end, step.start)
    return [("begin", 0, 0), *((phase, begin, end) for begin, end, phase in spans), ("end", last_ns, last_ns)]


def _gap_around(calls, begin_ns, end_ns):
    """The number of the last call before this time; null if a call goes on in it."""
    number = max(place for place, (_, begin, _) in enumerate(calls[:-1]) if begin <= begin_ns)
    return number if calls[number][2] <= begin_ns and calls[number + 1][1] >= end_ns else None


def _usual_ns(usual, before, after):
    """Time between two such calls of one after the other, in the middle of other steps; 0 if there is no such place."""
    found = [
        following[1] - call[2]
        for calls in usual
        for call, following in pairwise(calls)
        if (call[0], following[0]) == (before, after)
    ]
    return max(0, round(median(found))) if found else 0
