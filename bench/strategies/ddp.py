"""ddp: every rank holds the whole model (PyTorch's DistributedDataParallel); gradients are averaged by all-reduce while
backward still runs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import annotated_types

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, kw_only=True)
class DdpOptions:
    """Options of torch.nn.parallel.DistributedDataParallel."""

    static_graph: bool = False
    """Promise that every step uses the same parameters in the same order."""
    find_unused_parameters: bool = False
    """Walk the graph in every step for parameters without a gradient; costs time."""
    gradient_as_bucket_view: bool = True
    """Let gradients live in the communication buckets; saves one copy of the gradients."""
    bucket_cap_mb: Annotated[int, annotated_types.Gt(0)] = 25
    """Size of the gradients that one all-reduce takes, in MiB."""


class Strategy:
    """DistributedDataParallel over the default process group."""

    Options: ClassVar[type[DdpOptions]] = DdpOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: DdpOptions) -> None:
        self.options = options
        # made once: a context manager per micro-batch would be garbage on the measured path
        self._synchronising = nullcontext()
        # a static graph is learnt in the first step, which no_sync would hide: its micro-batches all synchronise
        self._learning = options.static_graph

    def wrap(
        self,
        model: nn.Module,
        blocks: list[nn.Module],  # noqa: ARG002 - the protocol's signature
        *,
        device: torch.device,
        precision: str,  # noqa: ARG002 - the protocol's signature
    ) -> DistributedDataParallel:
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(
            model.to(device),
            device_ids=[device.index] if device.type == "cuda" else None,
            static_graph=self.options.static_graph,
            find_unused_parameters=self.options.find_unused_parameters,
            gradient_as_bucket_view=self.options.gradient_as_bucket_view,
            bucket_cap_mb=self.options.bucket_cap_mb,
        )

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        if last or self._learning:
            self._learning = self._learning and not last
            return self._synchronising
        synchronising_later: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
        return synchronising_later

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)

    def validated(self, model: nn.Module) -> None:
        """Forward passes leave nothing behind."""
