"""A workload's model and batches as shapes: on PyTorch's meta device, without memory and without arithmetic.

Properties that depend only on shapes can be found this way for a model of any size, in seconds and without its device.
The tensors are FakeTensors: meta tensors that claim to be on another device, since autocast, for example, does not
accept `meta`. Code that needs values (`.item()`, an `if` on a tensor) raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

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
        moved: dict[int, torch.Tensor | None] = {id(None): None}
        for module in model.modules():
            for tensors in (module._parameters, module._buffers):
                for name, tensor in tensors.items():
                    if id(tensor) not in moved and tensor is not None:
                        moved[id(tensor)] = self._like(tensor)
                    tensors[name] = moved[id(tensor)]  # type: ignore[assignment] # a parameter's is a parameter
        return model

    def _like(self, tensor: torch.Tensor) -> torch.Tensor:
        # not empty_like: for a constant, such as BatchNorm's count of batches, it would make a real tensor
        same = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device=self.device)
        if isinstance(tensor, nn.Parameter):
            return nn.Parameter(same, requires_grad=tensor.requires_grad)
        return same


def _built(workload: Workload) -> nn.Module:
    """The model built as shapes; else on `meta`, where drawing a truncated normal needs no values; else in memory."""
    try:
        return workload.model()
    except RuntimeError:
        pass
    with unset_fake_temporarily():
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
    with unset_fake_temporarily(), torch.device("cpu"):
        yield
