"""fsdp: parameters, gradients and optimizer state are sharded over the ranks (PyTorch's FSDP2, `fully_shard`), with one
unit per block of the model and one for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le

from bench import strategies
from bench.common.dtypes import dtype_of, narrow_dtype
from bench.strategies import _fully_sharded, _shard_groups

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.records.vocabulary import DeviceType
    from bench.strategies import Asked


@dataclass(frozen=True, kw_only=True)
class FsdpOptions:
    """Options of torch.distributed.fsdp.fully_shard."""

    reshard: Literal["full", "grad_op"] = "full"
    """`full` frees gathered parameters after forward and gathers them again for backward; `grad_op` keeps them."""
    shard_size: Annotated[int, Ge(2), Le(1_000_000)] | None = None
    """Hybrid sharding: shard within groups of this many ranks, ideally a node's, and replicate across groups. null:
    shard over all ranks."""
    param_dtype: Literal["fp32", "bf16", "fp16"] | None = None
    """dtype of gathered parameters. null: that of train.precision, which halves the traffic in bf16 and fp16."""
    reduce_dtype: Literal["fp32", "bf16", "fp16"] = "fp32"
    """dtype in which gradients are reduced."""
    cpu_offload: bool = False
    """Keep the shards and the optimizer in pinned host memory; CUDA only. Written from documentation, untested."""


class Strategy(strategies.Strategy):
    """fully_shard over the default process group, one unit per block and one for the rest."""

    Options = FsdpOptions

    def __init__(self, options: FsdpOptions) -> None:
        super().__init__(options)
        self._context = nullcontext()

    @staticmethod
    def conflicts(options: FsdpOptions, asked: Asked) -> Iterator[tuple[str, str]]:
        yield from _fully_sharded.conflicts(asked.train)
        precision = asked.train.precision
        computes = precision if precision in ("bf16", "fp16") else "fp32"
        if options.param_dtype not in (None, "fp32", computes):
            either = "fp32" if computes == "fp32" else f"{computes} or fp32"
            yield (
                "param_dtype",
                f"param_dtype gathers {options.param_dtype}, but train.precision {precision} computes in {computes}: "
                f"layers would get two types; use {either}, or another train.precision",
            )

        if not asked.measure.wire:
            return
        if min(asked.measure.wire) < 1:
            yield (
                "name",
                f"measure.wire has {min(asked.measure.wire):g}, and fsdp cannot compute with a part of the parameters: "
                "give factors of 1 or more, or use ddp",
            )
        if options.shard_size is not None:
            yield (
                "shard_size",
                "measure.wire cannot lengthen the all-reduce between the groups of shard_size: remove one of them",
            )

    @staticmethod
    def misfit(options: FsdpOptions, world_size: int, device_type: DeviceType) -> str | None:
        if options.cpu_offload and device_type == "cpu":
            return (
                "cpu_offload on device cpu: parameters are in host memory already; set device: cuda in the case, "
                "which is then skipped on machines without a GPU"
            )
        return _shard_groups.uneven(options.shard_size, world_size)

    @staticmethod
    def lacking(options: FsdpOptions, device_type: DeviceType, *, wire: bool) -> str | None:  # noqa: ARG004
        from torch.distributed.fsdp import FSDPModule

        if wire and not hasattr(FSDPModule, "set_custom_all_gather"):
            return "FSDP2 lets no one replace its collectives, which measure.wire needs; torch 2.10 does"
        return _fully_sharded.lacking(device_type)

    @staticmethod
    def needs_cpu_group(options: FsdpOptions) -> bool:
        """Norms and overflows of offloaded gradients are reduced in host memory, which NCCL cannot do."""
        return options.cpu_offload

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        from torch.distributed.fsdp import (
            CPUOffloadPolicy,
            MixedPrecisionPolicy,
            OffloadPolicy,
            fully_shard,
        )

        mesh = _shard_groups.mesh(device, self.options.shard_size)
        policy = MixedPrecisionPolicy(
            param_dtype=narrow_dtype(
                self.options.param_dtype or precision
            ),  # null leaves parameters as they are
            reduce_dtype=dtype_of(self.options.reduce_dtype),  # by default fp32, as under DDP
            cast_forward_inputs=False,
        )
        offload = CPUOffloadPolicy() if self.options.cpu_offload else OffloadPolicy()
        reshard = self.options.reshard == "full"
        if not self.options.cpu_offload:  # with it the whole model need not fit the device
            model = model.to(device)
        for unit in [*blocks, model]:
            fully_shard(
                unit, mesh=mesh, reshard_after_forward=reshard, mp_policy=policy, offload_policy=offload
            )
        return model

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        _fully_sharded.synchronise(model, last)
        return self._context

    def scale_messages(self, model: nn.Module, factor: Callable[[], float]) -> None:
        """Each all-gather and reduce-scatter has factor() times its bytes: zeros follow each rank's part."""
        from bench.strategies import _scaled_messages

        _scaled_messages.use(model, factor)

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)
