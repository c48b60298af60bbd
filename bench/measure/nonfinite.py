"""`measure.nonfinite: fail`: a run ends at its first loss that is NaN or infinite.

The loss is looked at when its row is stored, which is when the clock has read it anyway: on CUDA some steps later, so
that nothing waits for the device.
"""

from __future__ import annotations

import math

from bench.measure.recorder import TRAINING, StepFile


class NonFiniteLossError(ArithmeticError):
    """A loss that no training comes back from."""


class StrictStepFile(StepFile):
    """Stores every row, and raises at the first whose loss is not finite; later ones are stored without a word."""

    _refused = False

    def store(self, *row: float) -> None:
        super().store(*row)  # type: ignore[arg-type]
        loss = row[6]
        if row[0] in TRAINING and not math.isfinite(loss) and not self._refused:
            self._refused = True
            raise NonFiniteLossError(f"loss of step {self._rows - 1} is not finite: {loss}")
