"""The rows of recorded steps. A row is stored once the device has passed its step."""

from __future__ import annotations

import math
import time
from collections import Counter, deque

import torch
from bench_probe import PHASES
from bench_probe.devices import Cuda
from bench_probe.pauses import pauses_of
from bench_probe.spans import covered_ns
from bench_probe.step_file import UNKNOWN_LOSS, UNKNOWN_PHASE, StepFile

ORIGINS = ("said", "loader", "model", "compiled")
"""Origins of the examples of a step: bench_probe.step, DataLoaders, a model's input, that of a compiled function."""

_ORDINARY = 5
"""Steps by which the usual time between two training calls is known."""


def rows_of(recorder):
    """The rows of a process that takes its first step, on the device that holds the optimizers' parameters."""
    optimizers, job = recorder.closing.optimizers, recorder.job
    used = {p.device for o in optimizers for group in o.param_groups for p in group["params"]}
    gpus = [device for device in used if device.type == "cuda"]
    if gpus:
        recorder.device = Cuda(min(gpus, key=lambda gpu: gpu.index))
    elif not used and torch.cuda.is_initialized():  # a script without an optimizer of torch
        recorder.device = Cuda(torch.device("cuda", torch.cuda.current_device()))
    path = recorder.ending.scratch / f"steps.rank{job['rank']}.raw"
    try:
        file = StepFile(path, recorder.counting.last, job["identity"], further=job["profiled"])
    except FileExistsError:
        recorder.ending.note_other_process()
        recorder.is_done, recorder.is_listening = True, False
        raise SystemExit(
            f"bench: another process of rank {job['rank']} takes steps, too: bench starts the ranks, so the script "
            "must not start processes that train"
        ) from None
    return Rows(file, recorder.device, recorder.seen, recorder.named_phases)


class Rows:
    """Stores steps in a file, and counts what was trained on."""

    def __init__(self, file, device, seen, named):
        """`seen` and `named`: the phases that are known in this script, by the hooks and by its own marks."""
        self.file, self._device, self._seen, self._named = file, device, seen, named
        self.steps = self.tokens = 0
        """Measured steps, and the tokens in them."""
        self.batches = Counter()
        """Number of measured steps by their examples, from each of `ORIGINS`."""
        self.pauses = []
        """Each pause: the number of the step that follows it, its kind, and its nanoseconds."""
        self._ordinary = deque(maxlen=_ORDINARY)
        """The last steps without a pause."""
        self._waiting = deque()
        """Steps that the device has not passed."""
        device.wait()  # the host's time and the device's begin together
        self._origin, self._origin_ns = device.mark(), 0
        file.barrier(time.perf_counter_ns())

    def restart(self):
        """Forget all rows."""
        self.file.restart()
        self._waiting.clear()
        self.batches.clear()
        self.steps = self.tokens = 0
        self.pauses = []

    def count(self, examples, tokens):
        """A measured step. `examples`: from each of `ORIGINS`."""
        self.steps += 1
        self.tokens += tokens
        self.batches[examples] += 1

    def examples(self):
        """By origin: the examples of all measured steps, and the most frequent number in a step. Both are null if a
        step has none, as when a script trains on the batches of a loader again."""
        found = {}
        for place, origin in enumerate(ORIGINS):
            steps = Counter()
            for examples, number in self.batches.items():
                steps[examples[place] or 0] += number
            is_known = min(steps, default=0) > 0
            total = sum(number * examples for examples, number in steps.items()) if is_known else None
            found[origin] = {"total": total, "batch": steps.most_common(1)[0][0] if is_known else None}
        return found

    def add(self, step):
        """Store the step as soon as the device has passed it."""
        self._device.read(step)
        if not self._waiting and self._device.has_passed(step):
            self._store(step)
        else:
            self._waiting.append(step)
            self.store_passed()

    def extend(self, part):
        """The step that was added last goes on to the end of `part`."""
        if self._waiting:
            last = self._waiting[-1]
            last.end = part.end
            last.spans += part.spans
            last.outside += part.outside
            return
        if self.file.rows == 0:
            return
        elapsed_ns = self._device.elapsed_ns
        outside_ns = covered_ns([span[1:] for span in part.outside], part.start, elapsed_ns)
        if outside_ns:
            self.pauses.append((self.file.rows - 1, part.outside[0][0], outside_ns))
        phases = dict.fromkeys(PHASES, 0)
        for phase, begin, end in part.spans:
            phases[phase] += elapsed_ns(end, begin)
        self._origin_ns += elapsed_ns(part.end, self._origin)
        self._origin = part.end
        self.file.extend(
            max(0, elapsed_ns(part.end, part.start) - outside_ns), [phases[phase] for phase in PHASES]
        )

    def store_all(self):
        """Wait for the device, and store every row."""
        self._device.wait()
        while self._waiting:
            self._store(self._waiting.popleft())

    def store_passed(self):
        waiting, has_passed = self._waiting, self._device.has_passed
        while waiting and has_passed(waiting[0]):
            self._store(waiting.popleft())

    def _store(self, step):
        elapsed_ns = self._device.elapsed_ns
        phases = dict.fromkeys(PHASES, 0)
        for phase, begin, end in step.spans:
            phases[phase] += elapsed_ns(end, begin)
        for _, begin, end in step.in_optimizer:
            phases["optimizer"] -= elapsed_ns(end, begin)
        for phase in PHASES:
            if phases[phase] == 0 and not (phase in self._seen or phase in self._named):
                phases[phase] = UNKNOWN_PHASE
        step_ns = elapsed_ns(step.end, step.start)
        if step.outside:
            for kind, pause_ns in pauses_of(step, self._ordinary, elapsed_ns):
                self.pauses.append((self.file.rows, kind, pause_ns))
                step_ns = max(0, step_ns - pause_ns)
        else:
            self._ordinary.append(step)
        self._origin_ns += elapsed_ns(step.end, self._origin)
        self._origin = step.end
        losses = step.losses
        self.file.store(
            step.kind,
            self._origin_ns - step_ns,
            phases["data"],
            phases["forward"],
            phases["backward"],
            phases["optimizer"],
            float(losses[0])
            if len(losses) == 1
            else math.fsum(map(float, losses))
            if losses
            else UNKNOWN_LOSS,
            step.allocated,
            step.reserved,
            step_ns,
        )
