"""The kind of a step, the examples that it was trained on, and the validations that it leaves out."""

from __future__ import annotations

from bench_probe.loaders import UNKNOWN_EXAMPLES
from bench_probe.pauses import VALIDATION
from bench_probe.step_file import MEASURED, PROFILED, WARMUP


class Counting:
    """Counts the steps of a script."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.warmup = recorder.job["warmup"]
        self.last = recorder.job["warmup"] + recorder.job["steps"]
        """Number of training steps after which the script is ended."""
        self.taken = self.validations = self.skipped = 0
        """Steps that were recorded, that held a validation, and that GradScaler skipped."""
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
        loaders = recorder.loaders
        if loaders.is_known and len(step.loads) > 1:
            step.validations += _loops([load for load in step.loads if not load[0].is_trained_on])
        has_pause = bool(step.validations) and self._has_pause(step)
        examples, tokens, trained = None, 0, []
        for source, begin, end, loaded_examples, loaded_tokens in step.loads:
            if source.is_trained_on or not (loaders.is_known or has_pause or source.loader is None):
                if begin is not None:
                    recorder.seen.add("data")
                    step.spans.append(("data", begin, end))
                if loaded_examples is None:
                    loaders.starts += step.kind == MEASURED and source.starts_again
                    continue
                if not trained:
                    trained.append(source)
                    examples, tokens = loaded_examples or None, loaded_tokens or 0
                    continue
                if source not in trained:
                    trained.append(source)
                if loaded_examples < 0 or examples == UNKNOWN_EXAMPLES:
                    examples = UNKNOWN_EXAMPLES
                elif loaded_examples:
                    examples = (examples or 0) + loaded_examples
                tokens += loaded_tokens or 0
            elif has_pause and begin is not None:  # the first batch of a validation, before its forward pass
                step.outside.append((VALIDATION, begin, end))
        if trained:
            if step.is_unsure or loaders.misses_one(trained):
                examples = UNKNOWN_EXAMPLES
            elif examples != UNKNOWN_EXAMPLES:
                for source in trained:
                    if source.loader.is_ahead:
                        examples = (examples or 0) + source.shift()
        if step.kind == MEASURED:
            said_examples, said_tokens = step.said
            given_examples, given_tokens = step.given or (None, 0)
            recorder.rows.count(
                (said_examples, examples, step.examples, given_examples),
                said_tokens or tokens or step.tokens or given_tokens or 0,
            )
        recorder.rows.add(step)

    def _has_pause(self, step):
        """Leave the step's validation out, unless it is a part of the training: in every other step, or more often."""
        self.validations += 1
        if self.validations * 2 >= self.taken:
            return False
        step.outside += [(VALIDATION, *span) for span in step.validations]
        return True


def _loops(loads):
    """Begin and end of each loop over a DataLoader whose batches are not trained on: two or more in a row."""
    spans = {}
    for source, begin, end, examples, _ in loads:
        if begin is not None:
            first, _, number = spans.get(id(source), (begin, end, 0))
            spans[id(source)] = (first, end, number + (examples is not None))
    return [(begin, end) for begin, end, number in spans.values() if number > 1]
