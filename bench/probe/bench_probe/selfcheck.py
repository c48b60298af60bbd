"""Measures the cost of the probe: pairs of steps after the measured ones, one recorded and one not, in random order.

In a step that is not recorded every hook returns at once, and only the end of the step is noticed. The host's clock
times both from outside: from an idle device to an idle device, and a recorded step with the storing of its row. The
rows of these steps go to a file that is deleted at once.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import chain

import torch
from bench_probe.step_file import StepFile

_KEPT = ("file", "taken", "closed", "validations", "counts", "batches", "pauses", "own_ns")
"""Attributes of the recorder that steps of the check must not change."""


class SelfCheck:
    """The steps of the check, of one rank. All ranks of a run draw the same order."""

    def __init__(self, recorder, pairs, seed):
        self._recorder = recorder
        order = random.Random(seed)  # noqa: S311 - it protects no secret
        self._kinds = list(chain(*(order.sample(("bare", "instrumented"), 2) for _ in range(pairs))))
        self._kept = {name: getattr(recorder, name) for name in _KEPT}
        path = recorder.scratch / f"selfcheck.rank{recorder.job['rank']}"
        recorder.file = StepFile(path, pairs, {})
        path.unlink()
        recorder.counts, recorder.batches, recorder.pauses = dict(recorder.counts), Counter(), []
        self._taken = recorder.job["warmup"]
        self.rows = []
        """Pair, kind and nanoseconds of each step."""
        self._begin()

    def step_ended(self, step):
        """Note the time of this step; returns whether it was the last one."""
        recorder = self._recorder
        kind = self._kinds[len(self.rows)]
        if kind == "instrumented":
            step.end = recorder.time.mark()
            recorder.taken = self._taken
            recorder.step_ended(step)
        if recorder.device.type == "cuda":
            torch.cuda.synchronize(recorder.device)
        if kind == "instrumented":
            recorder.store_passed(wait=True)
        self.rows.append((len(self.rows) // 2, kind, time.perf_counter_ns() - self._began_ns))
        if len(self.rows) < len(self._kinds):
            self._begin()
            return False
        self.end()
        return True

    def _begin(self):
        recorder = self._recorder
        recorder.is_listening = self._kinds[len(self.rows)] == "instrumented"
        if recorder.device.type == "cuda":
            torch.cuda.synchronize(recorder.device)
        self._began_ns = time.perf_counter_ns()

    def end(self):
        """Give the recorder back what the check has borrowed."""
        vars(self._recorder).update(self._kept)
        self._recorder.is_listening = True
