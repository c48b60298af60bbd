"""The kind of a step, the examples that it was trained on, and the validations that it leaves out."""

from __future__ import annotations

from bench_probe.step_file import MEASURED, PROFILED, WARMUP


class Counting:
    """Counts the steps of a script."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.warmup = recorder.job["warmup"]
        self.last = recorder.job["warmup"] + recorder.job["steps"]
        """Number of training steps after which the script is ended."""
        self._examples_per_step = recorder.job.get("examples_per_step")
        self.taken = self.validations = self.skipped = 0
        """Steps that were recorded, that held a validation, and that GradScaler skipped."""
        self.source = None
        """The Source that has loaded last."""
        self.is_source_known = False
        self.workers, self.starts = None, 0
        """Workers of the DataLoader that is trained on, and how often they have started again in the measured steps."""
        self.examples_from = None
        """The origin of the examples: bench_probe.step, loader, model, or compiled."""
        self.digest = None
        """Digest of the first recorded batch. It is read while `wants_digest`; that waits for a GPU."""
        self.wants_digest = True

    def restart(self):
        """Count from 0."""
        self.taken = self.validations = self.skipped = 0
        self.wants_digest = True

    def count(self, step):
        """Count the step, and hand it to the rows."""
        recorder, taken = self._recorder, self.taken
        if recorder.closed <= 5 and not recorder.models.were_all_called():
            recorder.models.look_deeper()
        step.kind = WARMUP if taken < self.warmup else MEASURED if taken < self.last else PROFILED
        self.taken = taken + 1
        if self.wants_digest:
            self.digest, self.wants_digest = step.digest, False
        if self.is_source_known and len(step.loads) > 1:
            step.validations += _loops([load for load in step.loads if not load[0].is_trained_on])
        has_pause = bool(step.validations) and self._has_pause(step)
        examples = tokens = 0
        for source, begin, end, loaded_examples, loaded_tokens in step.loads:
            if source.is_trained_on or not (self.is_source_known or has_pause):
                self.workers = source.workers
                self.starts += step.kind == MEASURED and loaded_examples is None and source.starts_again
                recorder.seen.add("data")
                step.spans.append(("data", begin, end))
                examples += loaded_examples or 0
                tokens += loaded_tokens or 0
            elif has_pause:  # the first batch of a validation comes before its first forward pass
                step.outside.append((begin, end))
        if step.kind == MEASURED:
            said_examples, said_tokens = step.said
            if self.examples_from is None:
                self.examples_from = _origin(said_examples, examples, step)
            recorder.rows.count(
                self._examples_per_step or said_examples or examples or step.examples or step.given[0],
                said_tokens or tokens or step.tokens or step.given[1],
            )
        recorder.rows.add(step)

    def _has_pause(self, step):
        """Leave the step's validation out, unless it is a part of the training: in every other step, or more often."""
        self.validations += 1
        if self.validations * 2 >= self.taken:
            return False
        step.outside += step.validations
        return True


def _loops(loads):
    """Begin and end of each loop over a DataLoader whose batches are not trained on: two or more in a row."""
    spans = {}
    for source, begin, end, examples, _ in loads:
        first, _, number = spans.get(id(source), (begin, end, 0))
        spans[id(source)] = (first, end, number + (examples is not None))
    return [(begin, end) for begin, end, number in spans.values() if number > 1]


def _origin(said, loaded, step):
    """The origin of the step's examples; null if they are not known."""
    origins = {"bench_probe.step": said, "loader": loaded, "model": step.examples, "compiled": step.given[0]}
    return next((origin for origin, number in origins.items() if number), None)
