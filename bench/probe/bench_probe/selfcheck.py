"""Measures the cost of the probe: pairs of steps after the measured ones, one recorded and one not, in random order.

In a step that is not recorded every hook returns at once, and only the end of the step is noticed. The host's clock
times both from outside: from an idle device to an idle device, and a recorded step with the storing of its row. The
rows of these steps go to a file that is deleted at once.
"""

from __future__ import annotations

import random
import time
from itertools import chain

from bench_probe.rows import Rows
from bench_probe.step_file import StepFile

_COUNTED = ("taken", "validations", "skipped")
"""Counts that steps of the check must not change."""


class SelfCheck:
    """The steps of the check, of one rank. All ranks of a run draw the same order."""

    def __init__(self, recorder, pairs, seed):
        self._recorder = recorder
        order = random.Random(seed)  # noqa: S311 - it protects no secret
        self._kinds = list(chain(*(order.sample(("bare", "instrumented"), 2) for _ in range(pairs))))
        self._kept = recorder.rows, recorder.closed
        self._counted = {name: getattr(recorder.counting, name) for name in _COUNTED}
        path = recorder.ending.scratch / f"selfcheck.rank{recorder.job['rank']}"
        recorder.rows = Rows(StepFile(path, pairs, {}), recorder.device, recorder.seen, recorder.named_phases)
        path.unlink()
        self.rows = []
        """Pair, kind and nanoseconds of each step."""
        self.is_done = False
        self._begin()

    def step_ended(self, step):
        """Note the time of this step."""
        recorder = self._recorder
        kind = self._kinds[len(self.rows)]
        if kind == "instrumented":
            recorder.counting.taken = recorder.counting.warmup
            recorder.counting.count(step)
            recorder.rows.store_all()
        else:
            recorder.device.wait()
        self.rows.append((len(self.rows) // 2, kind, time.perf_counter_ns() - self._began_ns))
        if len(self.rows) < len(self._kinds):
            self._begin()
        else:
            self.end()

    def _begin(self):
        recorder = self._recorder
        recorder.is_listening = self._kinds[len(self.rows)] == "instrumented"
        recorder.device.wait()
        self._began_ns = time.perf_counter_ns()

    def end(self):
        """Give the recorder back what the check has borrowed."""
        recorder = self._recorder
        recorder.rows, recorder.closed = self._kept
        vars(recorder.counting).update(self._counted)
        self.is_done = True
