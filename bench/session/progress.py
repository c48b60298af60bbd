"""Show the progress of a session: a bar with the remaining time on a terminal, plain lines in a log."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bench.common.terminal import cut_in_the_middle, wrapped
from bench.measure.recorder import LastStep
from bench.plan import estimate
from bench.plan.plan import in_running_order
from bench.plan.plan_text import percent, skipped_sizes
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec
from bench.session.remaining import Remaining, left_text


def display(stream: TextIO, done: Collection[str], results: Path) -> PlainLines:
    """A live line if `stream` is a terminal, else plain lines. `done`: the ids of runs that are done already.
    `results` has earlier sessions, for the remaining time."""
    return LiveLines(stream, done, results) if stream.isatty() else PlainLines(stream, done)


class PlainLines:
    """A line for each run that ends."""

    def __init__(self, stream: TextIO, done: Collection[str]) -> None:
        self._done = done
        self._console = Console(file=stream, highlight=False, soft_wrap=True, markup=False)
        self._runs = self._number = 0
        self._last: LastStep | None = None
        self._errors: set[str] = set()
        """Those that have been shown in full."""

    def session_begins(self, session_id: str, runs: Sequence[PlannedRun], at_most: int) -> None:
        """`runs` are in the order in which they take place; `at_most` counts further repeats, too."""
        self._runs = len(runs)
        text = f"session {session_id}: {len(runs)} run{'s' * (len(runs) != 1)}"
        if at_most > len(runs):
            text += f", up to {at_most} with further repeats"
        if self._done:
            text += f", {'all' if len(self._done) == len(runs) else len(self._done)} done before"
        self._console.print(text)

    def search_begins(self, sizes: int) -> None:
        what = "1 size" if sizes == 1 else f"{sizes} sizes"
        self._console.print(f"searching the largest micro-batch that fits first: {what} (find_batch)")

    def search_ends(self, sentences: list[str]) -> None:
        for sentence in sentences:
            self._console.print(sentence)

    def round_begins(self, runs: tuple[PlannedRun, ...]) -> None:
        self._runs += len(runs)
        asked = {
            "throughput": sorted({run.spec.measure.until for run in runs if run.spec.measure.until}),
            "efficiency": sorted(
                {run.spec.measure.until_efficiency for run in runs if run.spec.measure.until_efficiency}
            ),
        }
        wanted = " and ".join(
            f"{quantity} within {' or '.join(map(percent, widths))}"
            for quantity, widths in asked.items()
            if widths
        )
        counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        self._console.print(f"not yet known: {wanted}; another round of {counted}")

    def note(self, text: str) -> None:
        self._console.print(text)

    def run_begins(self, spec: RunSpec, number: int) -> None:  # noqa: ARG002 - a terminal shows the name
        self._number, self._last = number, None

    def step(self, last: LastStep) -> None:
        if last.memory_bytes is None and self._last is not None:
            last = dataclasses.replace(last, memory_bytes=self._last.memory_bytes)  # not read in every step
        self._last = last

    def run_ends(self, spec: RunSpec, outcome: RunOutcome) -> None:
        self._console.print(Text(self._ended(spec, outcome), style=_STYLES.get(outcome.status, "red")))

    def session_ends(self) -> None:
        """No live line to remove."""

    def _ended(self, spec: RunSpec, outcome: RunOutcome) -> str:
        head = f"[{self._place}] {spec.run_id:<28} {outcome.status:<8}"
        if outcome.status == "skipped":
            return f"{head} {outcome.error}"
        tail = f"{outcome.elapsed_s:6.2f} s"
        if self._last is not None:
            tail += f"  {_step_text(self._last)}"
        return f"{head} {tail}" + (f"  {self._reason(outcome.error)}" if outcome.error else "")

    def _reason(self, error: str) -> str:
        """The error. Its first line says enough if it has been shown in full: often all runs fail for one reason."""
        if error in self._errors:
            first, *more = error.splitlines()
            return f"{first}, as before" if more else first
        self._errors.add(error)
        return error

    @property
    def _place(self) -> str:
        """` 3/12`; `find` for probing runs, which have no number."""
        digits = len(str(self._runs))
        return f"{self._number:>{digits}}/{self._runs}" if self._number else "find"


class LiveLines(PlainLines):
    """A line for each run that was not skipped, at the terminal's width. Below them a bar with the runs done and, once
    something is known of it, the remaining time; below that the current run with step, loss, step time and memory."""

    def __init__(self, stream: TextIO, done: Collection[str], results: Path) -> None:
        super().__init__(stream, done)
        self._results = results
        self._plan: list[PlannedRun] = []
        """Every run, the skipped ones included, in the order in which they take place."""
        self._remaining = Remaining(earlier={})
        self._may_grow = False
        self._current: RunSpec | None = None
        self._begun_s = 0.0
        self._rest_s: float | None = None
        """Seconds that the runs after the current one take."""
        self._live = Live(
            console=self._console, transient=True, refresh_per_second=4, get_renderable=self._drawn
        )

    def session_begins(self, session_id: str, runs: Sequence[PlannedRun], at_most: int) -> None:
        self._plan = list(runs)
        self._may_grow = at_most > len(runs)
        self._remaining = Remaining(earlier=estimate.earlier(self._results, {run.spec.suite for run in runs}))
        hosted = [run for run in runs if run.skip_reason is None]
        super().session_begins(session_id, hosted, at_most - len(runs) + len(hosted))
        for line in skipped_sizes(runs):
            self._say(line)
        self._live.start()

    def search_ends(self, sentences: list[str]) -> None:
        for sentence in sentences:
            self._say(sentence)

    def round_begins(self, runs: tuple[PlannedRun, ...]) -> None:
        super().round_begins(runs)
        self._plan += in_running_order(runs)

    def note(self, text: str) -> None:
        self._say(text)

    def run_begins(self, spec: RunSpec, number: int) -> None:
        before, after = self._plan[:number], self._plan[number:]
        super().run_begins(spec, sum(run.skip_reason is None for run in before))
        left = [run.spec for run in after if run.skip_reason is None and run.spec.run_id not in self._done]
        self._rest_s = self._remaining.of_runs(left)
        self._begun_s = time.monotonic()
        self._current = spec if number == 0 or before[-1].skip_reason is None else None

    def run_ends(self, spec: RunSpec, outcome: RunOutcome) -> None:
        if self._current is None:  # planned to be skipped: said before
            return
        if outcome.status == "ok" and outcome.elapsed_s is not None:
            self._remaining.took(spec, outcome.elapsed_s)
        super().run_ends(spec, outcome)

    def session_ends(self) -> None:
        self._live.stop()

    def _say(self, text: str) -> None:
        for line in wrapped(text, self._console.width, "  "):
            self._console.print(line)

    def _ended(self, spec: RunSpec, outcome: RunOutcome) -> str:
        width = self._console.width
        figures = [] if self._last is None else _figures(self._last)
        if self._last is not None and outcome.status != "ok":
            figures.insert(0, f"step {self._last.rows}/{self._last.capacity}")
        longest = max((cell_len(run.spec.run_id) for run in self._plan), default=0)
        while True:
            took = "" if outcome.status == "skipped" else f" {outcome.elapsed_s:8.2f} s"
            tail = f"{outcome.status:<2}{took}  {', '.join(figures)}".rstrip()
            room = max(width - len(f"[{self._place}] ") - len(f"  {tail}"), _LEAST_NAME)
            if room > _LEAST_NAME or not figures:
                break
            figures.pop()  # the name says more than the memory
        name = cut_in_the_middle(spec.run_id, room)
        line = f"[{self._place}] {name}{' ' * (min(room, longest) - cell_len(name))}  {tail}"
        reason = wrapped(f"    {self._reason(outcome.error)}", width) if outcome.error else []
        return "\n".join([line, *reason])

    def _drawn(self) -> RenderableType:
        """The bar and the current run."""
        if self._current is None:
            return Text("")
        last = self._last
        part = last.rows / last.capacity if last is not None and last.capacity else 0.0
        done = max(self._number - 1, 0)
        row = Table.grid(padding=(0, 2, 0, 0))
        bar = ProgressBar(total=max(self._runs, 1), completed=done + part * bool(self._number), width=_BAR)
        row.add_row(bar, Text(f"{done}/{self._runs} runs"), Text(self._left_text()))
        if last is not None:
            step = f"step {last.rows}/{last.capacity}, {', '.join(_figures(last))}"
        elif (elapsed_s := time.monotonic() - self._begun_s) < _STARTS_S:
            step = "starting"
        else:
            step = f"starting, no step after {elapsed_s:.0f} s"
        name = cut_in_the_middle(self._current.run_id, max(self._console.width - len(step) - 2, _LEAST_NAME))
        return Group(row, Text(f"{name}  {step}", style="dim", no_wrap=True, overflow="ellipsis"))

    def _left_text(self) -> str:
        assert self._current is not None
        elapsed_s = time.monotonic() - self._begun_s
        begun_s = self._remaining.of_begun(self._current, elapsed_s, self._last)
        if begun_s is None or self._rest_s is None or not self._number:
            return ""
        return left_text(begun_s + self._rest_s, may_grow=self._may_grow)


_BAR = 30
"""Columns of the bar."""
_LEAST_NAME = 16
"""Columns of a run's name that are always shown."""
_STARTS_S = 10.0
"""A run that takes its first step later has its time shown, because compiling or reading data may take minutes."""
_STYLES = {"ok": "", "skipped": "dim", "interrupted": "yellow"}


def _step_text(last: LastStep) -> str:
    """Rank 0's last step: its own loss, and the time of one step."""
    return f"step {last.rows}/{last.capacity}, rank 0: {', '.join(_figures(last))}"


def _figures(last: LastStep) -> list[str]:
    """The loss of rank 0's last step, if it knows it, the time of the step and, if it was read, the memory in use."""
    step_ms = last.step_ns / 1e6
    took = f"{step_ms:,.0f} ms" if step_ms >= 1000 else f"{step_ms:.3g} ms"
    memory = [] if last.memory_bytes is None else [f"{last.memory_bytes / 2**20:,.0f} MiB"]
    loss = [] if last.loss is None else [f"loss {last.loss:.4g}"]
    return [*loss, took, *memory]
