"""The head of a session's page: title, facts, why, the verdict, and what to keep in mind beside the numbers."""

from __future__ import annotations

import html
from collections.abc import Iterator

from analysis.report import units
from analysis.report.markup import Row, text, unordered
from analysis.sentence import closing_sentence


def opening(session: Row, points: list[Row]) -> str:
    """`session` of queries/session.sql, `points` rows of `scaling`."""
    why = f'<p class="why">{text(session["why"])}</p>' if session["why"] else ""
    return (
        '<header class="page"><p class="crumb screen-only"><a href="index.html">All sessions</a></p>'
        f"<h1>{text(session['title'] or session['suite'])}</h1>"
        f'<p class="facts">{" · ".join(_facts(session))}</p>{why}'
        f'<p class="verdict">{text(_sentence(points))}</p>'
        f"{_others(points)}</header>"
    )


def _facts(session: Row) -> Iterator[str]:
    yield f"suite {text(session['suite'])}{' (quick)' if session['quick'] else ''}"
    yield f"session {text(session['session_id'])}"
    if session["created_at"] is not None:
        yield f"{session['created_at']:%Y-%m-%d %H:%M} UTC"
    if session["devices"]:
        yield text(session["devices"])
    yield f"{session['ok']} of {session['runs']} runs ok"
    if session["elapsed_s"]:
        yield f"{units.seconds(session['elapsed_s'])} of runs"
    yield from (f"tag {text(tag)}" for tag in session["tags"] or [])


def _sentence(points: list[Row]) -> str:
    """No line ends between a number and its percent sign."""
    return closing_sentence(points).replace(" %", "\u00a0%")


def _others(points: list[Row]) -> str:
    """The largest size of every case but the one that the verdict names."""
    lead = _sentence(points)
    by_case: dict[str, list[Row]] = {}
    for point in points:
        if point["scaling"] != "none":
            by_case.setdefault(point["case_name"], []).append(point)
    sentences = [_sentence(case) for case in by_case.values() if _compared(case)]
    return unordered(text(sentence) for sentence in sentences if sentence != lead)


def _compared(points: list[Row]) -> bool:
    return any(point["speedup"] is not None and not point["is_baseline"] for point in points)


def notes(session: Row, points: list[Row]) -> str:
    """What limits the numbers of this session; HTML list."""
    return f'<div class="notes">{unordered(html.escape(note) for note in _notes(session, points))}</div>'


def _notes(session: Row, points: list[Row]) -> Iterator[str]:
    yield "Placement 2x4 means 2 nodes with 4 ranks each. Efficiency is speedup ÷ workers."
    if any(point["throughput_lo"] is not None for point in points):
        yield (
            "Intervals are 95 % over repeats, Student's t on log throughput. Repeats of one allocation do not contain "
            "what differs between allocations: other nodes, other neighbours, another day."
        )
    elif any(point["throughput"] is not None for point in points):
        yield "There are no intervals: they need at least two ok repeats of a size and of its baseline."
    if session["fsdp_on_cpu"]:
        yield (
            "On CPUs the ranks talk through gloo, which performs reduce-scatter as all-reduce: the FSDP figures here "
            "say nothing about NCCL on GPUs."
        )
    if session["oversubscribed"]:
        yield (
            "Rows marked oversubscribed had more ranks than slots: ranks shared cores or devices, so they are measured "
            "and never judged. In the charts their points are hollow."
        )
    if any(point["nodes"] > 1 for point in points):
        yield "Points with a ring lie across several nodes, the others within one."
    if session["synthetic"]:
        yield "The examples are synthetic: generated, learnable, and no statement about a real data set."
