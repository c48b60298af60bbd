"""Messages of `fully_shard` that are longer than they need to be: zeros or old values follow each rank's part.

torch calls these objects in the place of its own collectives. The number of messages stays the same. Those of the usual
length go through the same buffers, so that steps differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import distributed, nn

Factor = Callable[[], float]


def use(model: nn.Module, factor: Factor) -> None:
    """From now on each all-gather and reduce-scatter of the model has factor() times its bytes, 1 or more."""
    from torch.distributed.fsdp import FSDPModule

    for unit in model.modules():
        if isinstance(unit, FSDPModule):
            unit.set_custom_all_gather(_AllGather(factor))  # type: ignore[arg-type] # it has the same methods
            unit.set_custom_reduce_scatter(_ReduceScatter(factor))  # type: ignore[arg-type]


class _Lengthened:
    def __init__(self, factor: Factor) -> None:
        self._factor = factor
        self._buffers: dict[str, torch.Tensor] = {}

    def allocate(
        self, size: Sequence[int | torch.SymInt], *, dtype: torch.dtype, device: torch.device
    ) -> torch.Tensor:
        import torch

        return torch.empty(*size, dtype=dtype, device=device)

    def _buffer(self, name: str, elements: int, like: torch.Tensor) -> torch.Tensor:
        """[elements], the same memory in each step: to allocate it there would take time that no network takes."""
        kept = self._buffers.get(name)
        if kept is None or kept.numel() < elements or kept.dtype != like.dtype:
            kept = self._buffers[name] = like.new_zeros(elements)
        return kept[:elements]


class _AllGather(_Lengthened):
    def __call__(
        self,
        output_tensor: torch.Tensor,
        input_tensor: torch.Tensor,
        group: distributed.ProcessGroup,
        async_op: bool = False,
    ) -> None:
        from torch import distributed

        assert not async_op  # strategies do not ask for it
        part, ranks = input_tensor.numel(), group.size()
        sent = round(self._factor() * part)
        message = self._buffer("sent", sent, input_tensor)
        message[:part] = input_tensor
        received = self._buffer("received", ranks * sent, input_tensor)
        distributed.all_gather_into_tensor(received, message, group=group)
        output_tensor.view(ranks, part).copy_(received.view(ranks, sent)[:, :part])


class _ReduceScatter(_Lengthened):
    def __call__(
        self,
        output_tensor: torch.Tensor,
        input_tensor: torch.Tensor,
        group: distributed.ProcessGroup,
        op: Any,
        async_op: bool = False,
    ) -> None:
        from torch import distributed

        assert not async_op
        part, ranks = output_tensor.numel(), group.size()
        sent = round(self._factor() * part)
        message = self._buffer("sent", ranks * sent, input_tensor)
        message.view(ranks, sent)[:, :part] = input_tensor.view(ranks, part)
        received = self._buffer("received", sent, input_tensor)
        distributed.reduce_scatter_tensor(received, message, op=op, group=group)
        output_tensor.copy_(received[:part])
