"""Which optimizer's `step` ends a training step: the one that the user names, else the one that took its first step
last, as the generator's in a GAN. A script may end its steps itself, with bench_probe.step."""

from __future__ import annotations

import weakref

import torch
from bench_probe import losses
from bench_probe.spans import Step


class Closing:
    """The optimizers of a script, and the one that closes the steps."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._wanted = recorder.job.get("step_optimizer")
        """Class or number of the optimizer that the user names."""
        self.optimizers = weakref.WeakSet()
        self.names = []
        """Class of each optimizer, in the order of their first steps."""
        self.late = []
        """Numbers of the optimizers that took their first steps after the warm-up."""
        self._number = None
        """Number of the optimizer that took its first step last, in the warm-up."""
        self.has_news = False
        """Whether an optimizer has taken its first step in the step that is under way, or another one closes it."""
        self.is_new = False
        """Whether another one closes it."""
        self.has_own_steps = False
        """Whether the script ends its steps itself."""
        self.has_own_loss = False

    @property
    def name(self):
        """Name of the closing optimizer; null if none has taken a step."""
        return self._wanted or (None if self._number is None else self.names[self._number])

    def know(self, optimizer):
        if getattr(optimizer, "_bench_number", None) is None:
            recorder = self._recorder
            optimizer._bench_number = len(self.names)
            self.optimizers.add(optimizer)
            self.names.append(type(optimizer).__name__)
            self.has_news = True
            if recorder.counting.taken < recorder.counting.warmup:
                self._number = optimizer._bench_number
                self.is_new = self._wanted is None
            else:
                self.late.append(optimizer._bench_number)

    def closes(self, optimizer):
        """Whether this optimizer's step ends the training step."""
        if self.has_own_steps:
            return False
        number, wanted = getattr(optimizer, "_bench_number", None), self._wanted
        return number == self._number if wanted is None else wanted in (type(optimizer).__name__, str(number))

    def follow(self, optimizer):
        """Let an optimizer from after the warm-up end the steps, if it takes two steps while the closing one takes
        none. The time in between belongs to no row."""
        number, recorder = getattr(optimizer, "_bench_number", None), self._recorder
        if self.has_own_steps or self._wanted is not None or number not in self.late:
            return
        recorder.step.late_steps += 1
        if recorder.step.late_steps > 1:
            self._number, self.has_news = number, False
            recorder.models.find()
            recorder.step = Step(recorder.device.mark())

    def settle(self):
        """The step that brought the news has ended: look for the models whose parameters a new optimizer holds."""
        if self.has_news:
            self._recorder.models.find()
        self.has_news = self.is_new = False

    def own_step(self, loss, examples, tokens):
        """For bench_probe.step."""
        recorder = self._recorder
        if not self.has_own_steps:
            if recorder.counting.taken > recorder.counting.warmup:
                raise RuntimeError(
                    "bench: bench_probe.step was called for the first time after "
                    f"{recorder.counting.taken} steps of an optimizer: ask for more warm-up steps than that (--warmup; "
                    f"now {recorder.counting.warmup})"
                )
            self.has_own_steps = self.is_new = self.has_news = True
        recorder.step.said = (_whole("examples", examples), _whole("tokens", tokens))
        if loss is not None and recorder.is_listening:
            self.has_own_loss = True
            recorder.step.losses = []
            losses.note(recorder.step, loss)
        recorder.guarded("step", recorder.close)()


def _whole(name, number):
    """The number. Raises TypeError if it is not a whole one; a tensor would make each step wait for the device."""
    if number is None or isinstance(number, int):
        return number
    if isinstance(number, torch.Tensor) or not hasattr(number, "__index__"):
        raise TypeError(
            f"bench_probe.step: {name} is a {type(number).__name__}: give a whole number, as in len(batch)"
        )
    return number.__index__()
