"""When Python looks for garbage in cycles: `measure.garbage_collection`.

A collection stops one rank for as long as its living objects take to walk, and a parallel step then waits for that
rank. Garbage without cycles, tensors of a training step included, is freed at once under every policy.
"""

from __future__ import annotations

import gc

from bench.records.run_spec import GarbageCollection


class Garbage:
    """The policy of one rank's training; `automatic` is Python's own and does nothing here."""

    def __init__(self, policy: GarbageCollection) -> None:
        self._policy = policy

    def settle(self) -> None:
        """Before the last warm-up step, in which ranks that took unequally long find together again."""
        if self._policy == "automatic":
            return
        gc.collect()
        if self._policy == "frozen":
            gc.freeze()
        else:
            gc.disable()

    def pause(self) -> None:
        """Between two steps, where ranks meet before the next one."""
        if self._policy == "off":
            gc.collect()

    def release(self) -> None:
        """Python's own policy again."""
        if self._policy == "frozen":
            gc.unfreeze()
        elif self._policy == "off":
            gc.enable()
