"""What measuring costs a step: `measure.selfcheck` steps after the measured ones, alternately with stamps and without.

A pair is a step with the clock and its recorder, as measured steps have them, and one with neither; which of the two
comes first is drawn for each pair, from the run's seed, so that all ranks agree. Blocks of steps would hide what is
below 100 µs behind drift. Both are timed by the host's clock from outside, since a step without stamps has no inside.

Nothing of it reaches a loss, a validation or another figure; what is recorded goes to a file that is thrown away.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench.measure import rank_tables
from bench.measure.rank_tables import TABLES, Writer
from bench.measure.recorder import MEASURED, StepFile

if TYPE_CHECKING:
    import torch

    from bench.records.run_spec import RunSpec
    from bench.train.loop import Clock, Training

BARE, INSTRUMENTED = "bare", "instrumented"
_STEPS_PER_PAIR = 100
"""Of a size's runs, where the suite says no number: the pair's two steps are 2 % of them, start-up not counted."""
_MOST_PAIRS = 100
"""Unless the suite says more."""
_FEWEST_PAIRS = 6
"""Fewer have no interval: nothing could be said of them."""


class NoClock:
    """A clock's calls, doing nothing: what is left is the loop itself."""

    def barrier(self) -> int:
        return 0

    def mark(self) -> None: ...
    def step_done(self, marks: list[None], loss: torch.Tensor, kind: int) -> None: ...
    def flush(self) -> None: ...
    def resume(self) -> None: ...
    def abandon(self) -> None: ...


class Timed(NamedTuple):
    """A step from outside, by perf_counter_ns."""

    pair: int
    kind: str
    begin_ns: int
    asked_ns: int
    """When the host had asked for all of it."""
    done_ns: int
    """When it was done, on the device too."""


def pairs_of(spec: RunSpec, trained: int) -> int:
    """Of the run `spec`, all of whose steps that train are `trained`. Only the first repeat of a size has any."""
    if spec.probe or spec.repeat > 0:
        return 0
    if spec.measure.selfcheck is not None:
        return -(-spec.measure.selfcheck // 2)
    pairs = min(spec.measure.repeats * trained // _STEPS_PER_PAIR, _MOST_PAIRS)
    return pairs if pairs >= _FEWEST_PAIRS else 0


def run(training: Training, pairs: int, scratch: Path, writer: Writer) -> None:
    """All of it; rows of the table `selfcheck` lie in `scratch` then."""
    with _clock(training.device, scratch / f"selfcheck.rank{writer.rank}", pairs) as clock:
        steps = list(alternate(training, clock, pairs, training.spec.seed))
    rows = [
        (training.steps + number, step.pair, step.kind, step.done_ns - step.begin_ns)
        for number, step in enumerate(steps)
    ]
    rank_tables.append(scratch, "selfcheck", writer, np.array(rows, TABLES["selfcheck"]))


def alternate(training: Training, clock: Clock, pairs: int, seed: int) -> Iterator[Timed]:
    """Take the steps, from an idle device to an idle device each."""
    order, bare = random.Random(seed), NoClock()  # noqa: S311 - no secret hangs on it
    wait = _wait(training.device)
    for pair in range(pairs):
        for kind in order.sample((BARE, INSTRUMENTED), 2):
            chosen: Clock = clock if kind == INSTRUMENTED else bare
            begin = perf_counter_ns()
            training.step(chosen, MEASURED)
            asked = perf_counter_ns()
            wait()
            yield Timed(pair, kind, begin, asked, perf_counter_ns())


def _wait(device: torch.device) -> Callable[[], None]:
    if device.type == "cpu":
        return lambda: None
    import torch

    return lambda: torch.cuda.synchronize(device)


@contextmanager
def _clock(device: torch.device, path: Path, rows: int) -> Iterator[Clock]:
    """As that of the measured steps, with a recorder of its own, which nobody reads."""
    file = StepFile(path, rows, {})
    try:
        clock = clock_on(device, file)
        clock.barrier()
        yield clock
        clock.flush()
    finally:
        path.unlink()


def clock_on(device: torch.device, file: StepFile, *, peaks: bool = False) -> Clock:
    """The device's clock, which stores to `file`; `peaks` as CpuClock has it."""
    if device.type == "cuda":
        from bench.measure.clock_cuda import CudaClock

        return CudaClock(file, device)
    from bench.measure.clock_cpu import CpuClock

    return CpuClock(file, peaks=peaks)
