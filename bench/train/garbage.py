"""`measure.garbage_collection`: when Python collects garbage in reference cycles.

A collection pauses one rank while Python walks its objects, and a parallel step then waits for that rank. Garbage
without cycles, such as the tensors of a training step, is freed at once under every policy.
"""

from __future__ import annotations

import gc

from bench.records.run_spec import GarbageCollection


class Garbage:
    """Applies the policy to one rank's training; `automatic` leaves Python's own policy in place."""

    def __init__(self, policy: GarbageCollection) -> None:
        self._policy = policy

    def settle(self) -> None:
        """Call it before the last warm-up step, in which ranks that took unequally long synchronise again."""
        if self._policy == "automatic":
            return
        gc.collect()
        if self._policy == "frozen":
            gc.freeze()
        else:
            gc.disable()

    def pause(self) -> None:
        """Call it between two steps, if the ranks synchronise before the next one."""
        if self._policy == "off":
            gc.collect()

    def release(self) -> None:
        """Restore Python's own policy."""
        if self._policy == "frozen":
            gc.unfreeze()
        elif self._policy == "off":
            gc.enable()
