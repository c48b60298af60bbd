"""What a model is and keeps, in numbers: found by a process with torch, used by those without."""

from __future__ import annotations

from dataclasses import dataclass

READY = "ready"
"""What probe.py says before its first answer."""


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """Of the model, before any strategy."""

    parameters: int
    parameter_bytes: int
    buffer_bytes: int
    largest_parameter_bytes: int
    block_parameters: list[int]
    """Of each unit that is sharded or recomputed; what is in none of them, if anything, is one unit more."""

    @property
    def units(self) -> int:
        return len(self.block_parameters) + (self.rest_parameters > 0)

    @property
    def rest_parameters(self) -> int:
        """In no block."""
        return self.parameters - sum(self.block_parameters)


@dataclass(frozen=True, kw_only=True)
class WorkingSet:
    """Of forward and backward of one micro-batch on one rank, the batch included, the parameters not."""

    kept_bytes: int
    """After forward, for backward."""
    peak_bytes: int
    """The most at once, without gradients."""
    peak_with_gradients_bytes: int
    """The most at once while gradients come and activations go."""
