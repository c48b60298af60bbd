"""A workload's model and batches as shapes: on PyTorch's meta device, without memory and without arithmetic.

Properties that depend only on shapes can be found this way for a model of any size, in seconds and without its device.
The tensors are FakeTensors: meta tensors that claim to be on another device, since autocast, for example, does not
accept `meta`. Code that needs values (`.item()`, an `if` on a tensor) raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from bench.common.torch_private import FakeTensorMode, disable_current_modes
from bench.workloads import first_batch

if TYPE_CHECKING:
    from bench.workloads import Batch, Workload


@contextmanager
def shapes(device: str = "cpu") -> Iterator[Shapes]:
    """Inside, all computation is on shapes. They claim to be on `device`, which need not exist.

    `meta` itself is several times as fast, if the model accepts it."""
    with torch.device(device) if device == "meta" else FakeTensorMode(allow_non_fake_inputs=True):
        yield Shapes(device=torch.device(device))


@dataclass(frozen=True, kw_only=True)
class Shapes:
    """Makes models and batches of prepared workloads."""

    device: torch.device

    def model(self, workload: Workload) -> nn.Module:
        """A fresh model in training mode. A model that can only be built from values needs its memory for a moment."""
        return self._moved(_built(workload))

    def batch(self, workload: Workload, examples: int) -> Batch:
        """A training batch; if the workload has fewer examples, some are repeated."""
        with _values():
            made = first_batch(workload, examples)
        return {name: self._like(tensor) for name, tensor in made.items()}

    def _moved(self, model: nn.Module) -> nn.Module:
        """The model with all tensors on the device; a shared parameter stays shared."""
        moved: dict[int, torch.Tensor] = {}
        for module in model.modules():
            for name, tensor in [*_own(module.named_parameters), *_own(module.named_buffers)]:
                if id(tensor) not in moved:
                    moved[id(tensor)] = self._like(tensor)
                setattr(module, name, moved[id(tensor)])
        return model

    def _like(self, tensor: torch.Tensor) -> torch.Tensor:
        # not empty_like: for a constant, such as BatchNorm's count of batches, it would make a real tensor
        same = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=self.device)
        if isinstance(tensor, nn.Parameter):
            return nn.Parameter(same, requires_grad=tensor.requires_grad)
        return same


def _own(
    named: Callable[..., Iterator[tuple[str, torch.Tensor]]],
) -> Iterator[tuple[str, torch.Tensor]]:
    """A module's own parameters or buffers, those that it shares each time."""
    return named(recurse=False, remove_duplicate=False)


def _built(workload: Workload) -> nn.Module:
    """The model built as shapes; else on `meta`, where drawing a truncated normal needs no values; else in memory."""
    try:
        return workload.model()
    except RuntimeError:
        pass
    with disable_current_modes():
        try:
            with torch.device("meta"):
                return workload.model()
        except RuntimeError:
            pass
    with _values():
        return workload.model()


@contextmanager
def _values() -> Iterator[None]:
    """Inside, new tensors are real ones on the CPU."""
    with disable_current_modes(), torch.device("cpu"):
        yield
