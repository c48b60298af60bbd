"""Records the training steps of a script that knows nothing of it. Two functions are for a script that says more.

Without `bench run` both functions do nothing, so they may stay in the script:

    import bench_probe

    with bench_probe.phase("data"):
        batch = queue.get()
    ...
    bench_probe.step(loss=loss, examples=len(batch))
"""

from __future__ import annotations

import contextlib
import sys

PHASES = ("data", "forward", "backward", "optimizer")
"""The phases of a step, in the order of their columns."""
__all__ = ["PHASES", "phase", "step"]


def step(loss=None, examples=None, tokens=None):
    """End a training step here, instead of where an optimizer's `step` returns.

    Call it once in every step. `loss`: a scalar tensor, or a number. `examples` and `tokens`: how many this process has
    trained on in the step; null: what the probe counts itself."""
    recorder = _recorder()
    if recorder is not None:
        recorder.closing.own_step(loss, examples, tokens)


def phase(name):
    """A context whose time belongs to the phase `name` of the step: data, forward, backward or optimizer.

    Raises ValueError for another name. Only the outermost of nested phases counts."""
    if name not in PHASES:
        raise ValueError(f"phase {name!r}: there are {', '.join(PHASES)}")
    recorder = _recorder()
    return contextlib.nullcontext() if recorder is None else recorder.span(name)


def _recorder():
    """The recorder of this process; null if `bench run` did not start it."""
    record = sys.modules.get("bench_probe.record")
    return None if record is None else record.RECORDER
