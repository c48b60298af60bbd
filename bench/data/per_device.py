"""A tensor that is made once on each device and then reused, such as the mean of all pictures."""

from __future__ import annotations

from collections.abc import Callable

import torch


class PerDevice:
    """Calls `make(device)` at the first use on a device and keeps the tensor.

    torch.compile takes the tensor as a constant. Compiled code that made and kept it would fail: with CUDA graphs, the
    next replay overwrites what an earlier one has made.
    """

    def __init__(self, make: Callable[[torch.device], torch.Tensor]) -> None:
        self._make = make
        self._made: dict[torch.device, torch.Tensor] = {}

    def on(self, device: torch.device) -> torch.Tensor:
        """The tensor on this device."""
        tensor: torch.Tensor = self._kept(device)
        return tensor

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _kept(self, device: torch.device) -> torch.Tensor:
        if device not in self._made:
            self._made[device] = self._make(device)
        return self._made[device]
