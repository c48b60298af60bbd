"""fsdp: parameters, gradients and optimizer state are sharded over the ranks (PyTorch's FSDP2, `fully_shard`), one unit
per block of the model and one for the rest."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    import torch
    from torch import nn


@dataclass(frozen=True, kw_only=True)
class FsdpOptions:
    """Options of torch.distributed.fsdp.fully_shard."""

    reshard: Literal["full", "grad_op"] = "full"
    """`full` frees gathered parameters after forward and gathers them again for backward; `grad_op` keeps them."""


class Strategy:
    """fully_shard over the default process group, one unit per block and one for the rest."""

    Options: ClassVar[type[FsdpOptions]] = FsdpOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: FsdpOptions) -> None:
        self.options = options
        self._context = nullcontext()

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
        compute = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        # Gathering in the compute precision halves the traffic; gradients are reduced in fp32 as DDP does.
        policy = MixedPrecisionPolicy(
            param_dtype=compute, reduce_dtype=torch.float32 if compute else None, cast_forward_inputs=False
        )
        reshard = self.options.reshard == "full"
        model = model.to(device)
        for unit in [*blocks, model]:
            fully_shard(unit, mesh=mesh, reshard_after_forward=reshard, mp_policy=policy)
        return model

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        model.set_requires_gradient_sync(last)  # type: ignore[operator]
        return self._context

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)

    def validated(self, model: nn.Module) -> None:
        from torch.distributed.fsdp import FSDPModule

        # backward frees what forward gathered; without it the next step would find parameters that it need not gather
        for unit in model.modules():
            if isinstance(unit, FSDPModule):
                unit.reshard()
