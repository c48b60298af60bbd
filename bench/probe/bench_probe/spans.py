"""A step that is under way, and the spans of time in it."""

from __future__ import annotations

from bench_probe.step_file import UNKNOWN, WARMUP


class Step:
    """What is known of the step that is under way."""

    def __init__(self, start):
        self.start = self.end = start
        """Mark of the end of the step before; null in the first step."""
        self.spans = []
        """Phase, begin and end of each span."""
        self.outside = []
        """Begin and end of spans that belong to no step."""
        self.validation = None
        """Begin of the first forward pass without gradients, end of the last."""
        self.loads = []
        """Each batch of a DataLoader: the flag of its iterator, its span, its examples, its tokens."""
        self.examples = self.tokens = 0
        """In the forward passes with gradients."""
        self.given = (0, 0)
        """Examples and tokens in the arguments of compiled functions."""
        self.losses = []
        self.said = {}
        """Figures that the script gave to bench_probe.step."""
        self.passes_in_optimizer = 0
        self.allocated = self.reserved = UNKNOWN
        self.kind = WARMUP
        self.digest = None


class Span:
    """A context whose time belongs to a phase, unless another span is open. (A generator would take twice as long.)"""

    def __init__(self, recorder, phase):
        self.recorder, self.phase = recorder, phase
        self.is_mine, self.begin = recorder.is_mine(), None

    def __enter__(self):
        if self.is_mine:
            self.recorder.depth += 1
            if self.recorder.depth == 1:
                self.step, self.begin = self.recorder.step, self.recorder.time.mark()

    def __exit__(self, *_raised):
        if not self.is_mine:
            return
        recorder = self.recorder
        recorder.depth = max(0, recorder.depth - 1)
        # of a span in which a step has ended, the part before belongs to a step whose row is stored
        if self.begin is not None and recorder.step is self.step:
            self.step.spans.append((self.phase, self.begin, recorder.time.mark()))
