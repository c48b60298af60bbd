"""Show the progress of a session: a live line on a terminal, plain lines in a log."""

from __future__ import annotations

import dataclasses
import time
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bench.measure.recorder import LastStep
from bench.plan.view import percent
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec


def display(stream: TextIO, done: int) -> PlainLines:
    """A live line if `stream` is a terminal, else plain lines. `done`: runs of the plan that are done already."""
    return LiveLine(stream, done) if stream.isatty() else PlainLines(stream, done)


class PlainLines:
    """A line for each run that ends."""

    def __init__(self, stream: TextIO, done: int = 0) -> None:
        self._done = done
        self._console = Console(file=stream, highlight=False, soft_wrap=True, markup=False)
        self._runs = self._number = self._hosted = 0
        self._begun_s = time.monotonic()
        self._last: LastStep | None = None

    def session_begins(self, session_id: str, runs: int, at_most: int) -> None:
        self._runs = runs
        text = f"session {session_id}: {runs} run{'s' * (runs != 1)}"
        if at_most > runs:
            text += f", up to {at_most} with further repeats"
        if self._done:
            text += f", {'all' if self._done == runs else self._done} done before"
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

    def run_begins(self, spec: RunSpec, number: int) -> None:  # noqa: ARG002 - the live line shows the name
        self._number, self._last = number, None

    def step(self, last: LastStep) -> None:
        if last.memory_bytes is None and self._last is not None:
            last = dataclasses.replace(last, memory_bytes=self._last.memory_bytes)  # not read in every step
        self._last = last

    def run_ends(self, spec: RunSpec, outcome: RunOutcome) -> None:
        self._hosted += outcome.status != "skipped"
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
        return f"{head} {tail}" + (f"  {outcome.error}" if outcome.error else "")

    @property
    def _place(self) -> str:
        """`3/8`; `find` for probing runs, which have no number."""
        return f"{self._number}/{self._runs}" if self._number else "find"

    def _eta_text(self) -> str:
        if not self._hosted:
            return "ETA -:--"
        left_s = (time.monotonic() - self._begun_s) / self._hosted * (self._runs - self._number + 1)
        return f"ETA {int(left_s) // 60}:{int(left_s) % 60:02d}"


class LiveLine(PlainLines):
    """The same lines, and a live one below them: runs done, step, loss, step time, memory, ETA."""

    def __init__(self, stream: TextIO, done: int = 0) -> None:
        super().__init__(stream, done)
        self._live = Live(console=self._console, transient=True, refresh_per_second=8)
        self._run = ""

    def session_begins(self, session_id: str, runs: int, at_most: int) -> None:
        super().session_begins(session_id, runs, at_most)
        self._live.start()

    def run_begins(self, spec: RunSpec, number: int) -> None:
        if not self._hosted:
            self._begun_s = time.monotonic()
        super().run_begins(spec, number)
        self._run = spec.run_id
        self._live.update(Text(f"{self._place}  {self._run}  starting  {self._eta_text()}", style="dim"))

    def step(self, last: LastStep) -> None:
        super().step(last)
        assert self._last is not None
        line = f"{self._place}  {self._run}  {_step_text(self._last)}  {self._eta_text()}"
        self._live.update(Text(line, style="dim", no_wrap=True, overflow="ellipsis"))

    def session_ends(self) -> None:
        self._live.stop()


_STYLES = {"ok": "", "skipped": "dim", "interrupted": "yellow"}


def _step_text(last: LastStep) -> str:
    """Rank 0's last step: its own loss, and the time of one step."""
    step_ms = last.step_ns / 1e6
    took = f"{step_ms:,.0f} ms" if step_ms >= 1000 else f"{step_ms:.3g} ms"
    text = f"step {last.rows}/{last.capacity}, rank 0: loss {last.loss:.4g}, {took}"
    return text if last.memory_bytes is None else f"{text}, {last.memory_bytes / 1e6:,.0f} MB"
