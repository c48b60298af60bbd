"""Records the training steps of a script, without a change to it: the way of a step from torch's hooks to a row.

    begin of a step     the end of the step before; the first is not recorded, because its beginning is unknown
    data, examples      `__next__` of torch's DataLoader, and the indices of its sampler      loaders.py
    forward             the outermost modules that hold the optimizers' parameters            models.py
    loss, backward      `backward`, with the scalars on which it is called                    losses.py
    optimizer           `step` of an optimizer, by torch's global optimizer hooks             hooks.py
    end of a step       where the `step` of the closing optimizer returns                     closing.py
    its kind, sums      of what was trained on, without validation                            counting.py
    its row             once the device has passed it                                         rows.py, step_file.py
    after the last one  self-check, profiled steps, the end of the script, its outcome        ending.py

The probe needs the standard library and torch 2.0. Nothing in a measured step waits for a GPU: there a mark in time is
an event (devices.py).
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback

import torch
from bench_probe import events
from bench_probe.closing import Closing
from bench_probe.counting import Counting
from bench_probe.devices import Cpu
from bench_probe.ending import Ending
from bench_probe.hooks import install
from bench_probe.loaders import Loaders
from bench_probe.models import Models
from bench_probe.rows import rows_of
from bench_probe.spans import Span, Step

_NOT_OURS = (MemoryError, torch.cuda.OutOfMemoryError)
RECORDER = None
"""This process's Recorder; null before torch is imported, and in a process that is not recorded."""


def begin():
    """Install the hooks; called once, when torch has been imported."""
    global RECORDER  # noqa: PLW0603 - one recorder for a process
    RECORDER = Recorder(json.loads(os.environ["BENCH_PROBE"]))
    install(RECORDER)
    if (
        signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    ):  # bench asks with it where a rank is that takes too long
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)


class Recorder:
    """Records one process of the script."""

    def __init__(self, job):
        self.job = job
        self.device = Cpu()
        """The device that the script trains on, as soon as it has taken a step."""
        self.thread = None
        """The thread that trains; what other threads call is not counted."""
        self.rows = None
        """The rows, in the process that takes the first step."""
        self.seen, self.named_phases = set(), set()
        """The phases that the hooks have seen in this script, and those that it marks with bench_probe.phase."""
        self.models, self.loaders = Models(self), Loaders(self)
        self.closing, self.counting, self.ending = Closing(self), Counting(self), Ending(self)
        self.errors = {}
        """By figure that is turned off: the traceback of the probe's own error."""
        self.closed = 0
        """Steps that have ended, of every kind."""
        self.is_listening = True
        """Whether the hooks record: not in the bare steps of the self-check, and not after the last step."""
        self.is_capturing = self.is_copy = self.is_done = False
        """Whether a CUDA graph is being captured; whether this process is a fork of the one that is recorded."""

        # the step that is under way
        self.step = Step(None)
        self.depth, self.open = 0, None
        """Number of spans inside of each other, and the outermost one, if it is a Span."""
        self.in_backward = self.close_after_backward = False
        self.has_backward = False
        """Whether a backward pass has begun since the last step ended."""
        self.ends_in_parts = self.owes_ending = False
        """Whether steps end with several calls of `step`; whether one of the last has ended, perhaps not with all."""
        self.stepping = self.optimizer_began = None
        """The optimizer whose `step` runs, and where it began. An optimizer that it calls is a part of it."""

    def is_mine(self):
        """Whether a call belongs to the training that is recorded."""
        is_on = self.is_listening and not self.is_capturing
        return is_on and (self.thread is None or self.thread == threading.get_ident())

    def is_elsewhere(self):
        """Whether a call comes from another thread than the one that trains."""
        return self.is_listening and self.thread not in (None, threading.get_ident())

    def guarded(self, figure, own):
        """`own`, a part of a hook, as a function that never raises into the script: an error of ours turns the figure
        off. The end of the script passes."""

        def call(*arguments):
            if figure in self.errors:
                return None
            try:
                return own(*arguments)
            except Exception:
                self.turn_off(figure)
                return None

        return call

    def turn_off(self, figure):
        """In the handler of an error: remember it, and record this figure no longer. An error that is not ours, such as
        memory that runs out, is raised again."""
        if isinstance(sys.exc_info()[1], _NOT_OURS):
            raise  # noqa: PLE0704 - called in a handler
        self.errors[figure] = traceback.format_exc()

    def fall_silent(self):
        """In a fork of the process: a worker of a DataLoader must not use the device."""
        self.is_listening, self.is_copy = False, True

    def before_optimizer(self, optimizer, _arguments, _options):
        """Hook of torch."""
        if "step" not in self.errors:
            try:
                self._before_optimizer(optimizer)
            except Exception:
                self.turn_off("step")

    def after_optimizer(self, optimizer, _arguments, _options):
        """Hook of torch."""
        if "step" not in self.errors:
            try:
                self._after_optimizer(optimizer)
            except Exception:
                self.turn_off("step")

    def _before_optimizer(self, optimizer):
        if self.is_copy:
            self.ending.note_other_process()
        if self.stepping is None or self.stepping is optimizer or not self.is_stepping():
            self.stepping, self.optimizer_began = optimizer, None
            if self.is_listening and not self.is_capturing:
                self.closing.know(optimizer)
                self.optimizer_began = (self.device.mark(), len(self.step.spans))

    def is_stepping(self):
        """Whether the `step` of `stepping` runs: it may have raised."""
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "wrapper" and frame.f_locals.get("self") is self.stepping:
                return True
            frame = frame.f_back
        return False

    def _after_optimizer(self, optimizer):
        if self.stepping is not optimizer:
            return
        began, self.stepping, self.optimizer_began = self.optimizer_began, None, None
        if began is not None and self.depth == 0:  # in a span its time belongs to that, as in backward
            (begin, first), spans = began, self.step.spans
            if len(spans) > first:  # a closure has run forward and backward inside of the optimizer's step
                self.step.in_optimizer = [*self.step.in_optimizer, *spans[first:]]
            spans.append(("optimizer", begin, self.device.mark()))
            self.seen.add("optimizer")
        if not self.closing.closes(optimizer):
            self.closing.follow(optimizer)
        elif not self.has_backward and self.continues():
            self.extend()
        elif self.in_backward:
            self.close_after_backward = True
        else:
            self.close()

    def continues(self):
        """Whether the `step` that returns belongs to the step that has just ended, as those of DeepSpeed's parameter
        groups do: it follows no backward pass, in a script that has them."""
        return (
            self.closed > 0
            and not self.has_backward
            and "backward" in self.seen
            and not self.closing.has_news
        )

    def extend(self):
        """The step that has ended ends here."""
        self.ends_in_parts = True
        part, part.end = self.step, self.device.mark()
        if self.rows is not None and self.ending.check is None:
            self.rows.extend(part)
        self.step = Step(part.end)

    def go_on(self):
        """A training call begins after a step that ends in parts: the end of the recording, which waits for it."""
        self.owes_ending = False
        self.ending.go_on()
        self.step = Step(self.device.mark())

    def span(self, phase):
        """For bench_probe.phase."""
        if self.is_mine():
            self.named_phases.add(phase)
        return Span(self, phase)

    def may_be_forward(self):
        """Whether a call of a model is a forward pass here: in no span, or in one that the script calls so."""
        return self.depth == 0 or (self.depth == 1 and self.open is not None and self.open.phase == "forward")

    def close(self):
        """End the step here. Ends the script after the last one."""
        if self.is_done or self.is_copy or self.is_capturing:
            return
        step = self.step
        step.end = self.device.mark()
        self.closed += 1
        self.has_backward = False
        if self.open is not None:  # the part of the span that follows belongs to the next step
            step.spans.append((self.open.phase, self.open.begin, step.end))
        is_settled = self.rows is not None and not self.closing.has_news
        if self.ending.check is not None:
            self.ending.check.step_ended(step)
        elif is_settled:
            self.counting.count(step)
        else:
            self._settle(step)
        if self.ending.has_begun():
            if self.ends_in_parts:
                self.owes_ending = True
            else:
                self.ending.go_on()
            is_settled = False
        self.step = Step(step.end if is_settled else self.device.mark())
        # a forward pass that raised has not been left
        self.depth, self.models.depth = 0, 0
        if self.open is not None:
            self.depth, self.open.begin = 1, self.step.start

    def _settle(self, step):
        """A step that the script began before the recorder knew what its steps are."""
        if self.rows is None:
            self.thread = threading.get_ident()
            self.rows = rows_of(self)
        elif self.closing.is_new:  # the steps so far were parts of steps
            self.rows.restart()
            self.counting.restart()
        else:
            self.counting.count(step)
        self.ending.world_size = events.world_size() or self.ending.world_size
        self.closing.settle()
