"""A step that is under way, and the spans of time in it."""

from __future__ import annotations

from bench_probe.step_file import UNKNOWN, WARMUP


class Step:
    """The facts about a step. Its times are marks of the device."""

    end = passed = None
    """Marks: where the step has ended, and where the device has passed all that belongs to it."""
    is_unsure = False
    """Whether a batch may have been trained on or not."""
    is_validating = False
    """Whether the last forward pass had no gradients."""
    examples = tokens = 0
    """In the forward passes with gradients; null if a call does not tell."""
    given = None
    """Examples and tokens in the arguments of a compiled function."""
    said = (None, None)
    """Examples and tokens that the script gave to bench_probe.step."""
    in_optimizer = ()
    """Spans within the optimizer's `step`, in which a closure runs."""
    passes_in_optimizer = 0
    late_steps = 0
    """Steps of optimizers that the script has made after the warm-up."""
    is_scaled = False
    """Whether a GradScaler has scaled a loss."""
    allocated = reserved = UNKNOWN
    kind = WARMUP
    digest = None

    def __init__(self, start):
        self.start = start
        """Where the step before has ended; null in the first step."""
        self.spans = []
        """Phase, begin and end of each span."""
        self.validations = []
        """Begin of the first forward pass without gradients, end of the last, of those that follow each other."""
        self.outside = []
        """Kind, begin and end of spans that belong to no step."""
        self.loads = []
        """Each batch of a DataLoader: its Source, begin, end, examples, tokens; see loaders.py. Begin and end are null
        within a phase that the script marks, examples for the start of an iterator, tokens if they are unknown."""
        self.losses = []
        self.inputs = []
        """The first tensor of each forward pass with gradients, as a weak reference with its version."""


class Span:
    """A context whose time belongs to a phase, unless another span is open. (A generator would take twice as long.)"""

    def __init__(self, recorder, phase):
        self.recorder, self.phase = recorder, phase
        self.is_mine, self.begin = recorder.is_mine(), None

    def __enter__(self):
        if self.is_mine:
            recorder = self.recorder
            try:
                if recorder.owes_ending:
                    recorder.go_on()
                recorder.depth += 1
                if recorder.depth == 1:
                    recorder.open, self.begin = self, recorder.device.mark()
            except Exception:
                recorder.turn_off(self.phase)

    def __exit__(self, *_raised):
        if self.is_mine:
            recorder = self.recorder
            try:
                recorder.depth = max(0, recorder.depth - 1)
                if recorder.open is self:
                    recorder.open = None
                    recorder.step.spans.append((self.phase, self.begin, recorder.device.mark()))
            except Exception:
                recorder.turn_off(self.phase)


def covered_ns(spans, origin, elapsed_ns):
    """Time that is in at least one of the spans; `origin` is a mark before them."""
    total_ns = passed_ns = 0
    for begin_ns, end_ns in sorted(
        (elapsed_ns(begin, origin), elapsed_ns(end, origin)) for begin, end in spans
    ):
        total_ns += max(0, end_ns - max(begin_ns, passed_ns))
        passed_ns = max(passed_ns, end_ns)
    return total_ns
