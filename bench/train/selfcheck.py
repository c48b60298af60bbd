"""Measures the cost of measuring: `measure.selfcheck` steps after the measured ones, with and without time stamps.

A pair is one step with the clock and recorder of measured steps, and one step with neither. Their order is drawn for
each pair from the run's seed, so that all ranks agree. Larger blocks of equal steps would hide differences below 100 µs
behind drift. The host's clock times both from outside, since a step without stamps has no times of its own.

These steps do not affect losses, validations or other figures; their recorder file is deleted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
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
"""Training steps of a world size's runs per pair, if the suite gives no number: the two steps add 2 %, without
start-up."""
_MOST_PAIRS = 100
"""Unless the suite asks for more."""
_FEWEST_PAIRS = 6
"""Fewer pairs have no interval and would prove nothing."""


class NoClock:
    """A clock that does nothing, so that only the loop itself is timed."""

    completed = 0

    def barrier(self) -> int:
        return 0

    def mark(self) -> None: ...
    def step_done(self, marks: list[None], loss: torch.Tensor, kind: int) -> None: ...
    def flush(self) -> None: ...
    def resume(self) -> None: ...
    def abandon(self) -> None: ...


class Timed(NamedTuple):
    """A step timed from outside, by perf_counter_ns."""

    pair: int
    kind: str
    begin_ns: int
    asked_ns: int
    """The host had submitted all of the step's work."""
    done_ns: int
    """All of it was done, on the device too."""


def pairs_of(spec: RunSpec, trained: int) -> int:
    """Number of pairs in the run `spec` with `trained` training steps. Only the first repeat of a size has any."""
    if spec.probe or spec.repeat > 0:
        return 0
    if spec.measure.selfcheck is not None:
        return -(-spec.measure.selfcheck // 2)
    pairs = min(spec.measure.repeats * trained // _STEPS_PER_PAIR, _MOST_PAIRS)
    return pairs if pairs >= _FEWEST_PAIRS else 0


def run(training: Training, pairs: int, scratch: Path, writer: Writer) -> None:
    """Take all pairs; writes rows of the table `selfcheck` to `scratch`."""
    with _clock(training.device, scratch / f"selfcheck.rank{writer.rank}", pairs) as clock:
        steps = list(alternate(training, clock, pairs, training.spec.seed))
    rows = [
        (training.steps + number, step.pair, step.kind, step.done_ns - step.begin_ns)
        for number, step in enumerate(steps)
    ]
    rank_tables.append(scratch, "selfcheck", writer, np.array(rows, TABLES["selfcheck"]))


def alternate(training: Training, clock: Clock, pairs: int, seed: int) -> Iterator[Timed]:
    """Take the steps; before and after each one the device is idle."""
    order, bare = random.Random(seed), NoClock()  # noqa: S311 - it protects no secret
    wait: Callable[[], None] = lambda: None  # noqa: E731
    if training.device.type == "cuda":
        import torch

        wait = partial(torch.cuda.synchronize, training.device)
    for pair in range(pairs):
        for kind in order.sample((BARE, INSTRUMENTED), 2):
            chosen: Clock = clock if kind == INSTRUMENTED else bare
            begin = perf_counter_ns()
            training.step(chosen, MEASURED)
            asked = perf_counter_ns()
            wait()
            yield Timed(pair, kind, begin, asked, perf_counter_ns())


@contextmanager
def _clock(device: torch.device, path: Path, rows: int) -> Iterator[Clock]:
    """The clock of measured steps with a separate recorder file, which is deleted at the end."""
    file = StepFile(path, rows, {})
    try:
        clock = clock_on(device, file)
        clock.barrier()
        yield clock
        clock.flush()
    finally:
        path.unlink()


def clock_on(device: torch.device, file: StepFile, *, peaks: bool = False) -> Clock:
    """The device's clock, which stores to `file`; `peaks` as in CpuClock."""
    if device.type == "cuda":
        from bench.measure.clock_cuda import CudaClock

        return CudaClock(file, device)
    from bench.measure.clock_cpu import CpuClock

    return CpuClock(file, peaks=peaks)
