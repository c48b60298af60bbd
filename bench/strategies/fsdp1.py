"""fsdp1: PyTorch's first implementation of FSDP (FullyShardedDataParallel), to compare with `fsdp`. It shards the same
way, but flattens the parameters of each unit into one. On one rank torch neither shards nor gathers."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Le

from bench import strategies
from bench.common import torch_private
from bench.common.dtypes import narrow_dtype
from bench.strategies import _shard_groups

if TYPE_CHECKING:
    import torch
    from torch import nn

    from bench.records.vocabulary import DeviceType


@dataclass(frozen=True, kw_only=True)
class Fsdp1Options:
    """Options of torch.distributed.fsdp.FullyShardedDataParallel."""

    sharding_strategy: Literal["full_shard", "shard_grad_op"] = "full_shard"
    """`full_shard` frees gathered parameters after forward; `shard_grad_op` keeps them until backward is done."""
    shard_size: Annotated[int, Ge(2), Le(1_000_000)] | None = None
    """Hybrid sharding: shard within groups of this many ranks, ideally a node's, and replicate across groups. null:
    shard over all ranks."""
    use_orig_params: bool = True
    """Give the optimizer the model's own parameters instead of the flattened ones."""


class Strategy(strategies.Strategy):
    """FullyShardedDataParallel over the default process group, one unit per block and one for the rest."""

    Options = Fsdp1Options
    sharded_scaler = True

    def __init__(self, options: Fsdp1Options) -> None:
        super().__init__(options)
        self._synchronising = nullcontext()

    @staticmethod
    def misfit(options: Fsdp1Options, world_size: int, device_type: DeviceType) -> str | None:  # noqa: ARG004
        return _shard_groups.uneven(options.shard_size, world_size)

    @staticmethod
    def lacking(options: Fsdp1Options, device_type: DeviceType, *, wire: bool) -> str | None:  # noqa: ARG004
        from torch.distributed import fsdp

        if hasattr(fsdp, "FullyShardedDataParallel"):
            return None
        return "it no longer has FullyShardedDataParallel: use strategy fsdp"

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        import torch
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import CustomPolicy

        # by identity: a block's class may occur elsewhere in the model
        units = {id(block) for block in blocks}
        wrapped: nn.Module = FullyShardedDataParallel(
            model.to(device),
            device_mesh=_shard_groups.mesh(device, self.options.shard_size),
            sharding_strategy=self._sharding(torch.distributed.get_world_size()),
            auto_wrap_policy=CustomPolicy(lambda module: id(module) in units),
            mixed_precision=_mixed_precision(precision),
            device_id=device,
            use_orig_params=self.options.use_orig_params,
        )
        return wrapped

    def _sharding(self, world_size: int) -> Any:
        """The member of torch's ShardingStrategy."""
        from torch.distributed.fsdp import ShardingStrategy

        keeps = self.options.sharding_strategy == "shard_grad_op"
        if _shard_groups.is_hybrid(self.options.shard_size, world_size):
            return torch_private.HYBRID_SHARD_ZERO2 if keeps else ShardingStrategy.HYBRID_SHARD
        return ShardingStrategy.SHARD_GRAD_OP if keeps else ShardingStrategy.FULL_SHARD

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        if last:
            return self._synchronising
        synchronising_later: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
        return synchronising_later

    def clip(self, model: nn.Module, max_norm: float) -> None:
        # torch.nn.utils.clip_grad_norm_ would use the norm of this rank's shard only
        model.clip_grad_norm_(max_norm)  # type: ignore[operator]

    def validated(self, model: nn.Module) -> None:
        from torch.distributed.fsdp import FullyShardedDataParallel as Unit

        # One unit at a time, so that at most one is whole; leaving it frees the parameters that forward kept gathered.
        for unit in Unit.fsdp_modules(model):
            with Unit.summon_full_params(unit, recurse=False, writeback=False):
                pass


def _mixed_precision(precision: str) -> Any:
    """As under fsdp: parameters are gathered in the compute precision, gradients reduced in fp32."""
    import torch
    from torch.distributed.fsdp import MixedPrecision

    compute = narrow_dtype(precision)
    if compute is None:
        return None
    return MixedPrecision(
        param_dtype=compute,
        reduce_dtype=torch.float32,
        cast_forward_inputs=False,
        cast_root_forward_inputs=False,
    )
