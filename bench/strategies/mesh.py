"""mesh: data and tensor parallelism together, as the dimensions of one DeviceMesh. Their product is the number of
ranks. It uses torch's fully_shard and torch.distributed.tensor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from annotated_types import Ge, Le

from bench import strategies
from bench.common.dtypes import narrow_dtype
from bench.common.errors import InputError
from bench.strategies import _fully_sharded

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor.parallel import ParallelStyle

    from bench.records.run_spec import TrainSpec
    from bench.records.vocabulary import DeviceType
    from bench.strategies import Asked, Divisible

_Size = Annotated[int, Ge(1), Le(1_000_000)]

_DIMENSIONS = ("dp_replicate", "dp_shard", "tp")
"""Outermost first: ranks that share a batch are consecutive, and those of `tp`, which send most, are neighbours."""


@dataclass(frozen=True, kw_only=True)
class MeshOptions:
    """Sizes of the mesh's dimensions. One of dp_replicate and dp_shard may be null."""

    dp_replicate: _Size | None = 1
    """Copies of the model, or of its shards, that train different batches. null: as many as the other dimensions
    leave."""
    dp_shard: _Size | None = None
    """Ranks that train different batches and share one copy of the parameters, as under fsdp. null: as many as the
    other dimensions leave."""
    tp: _Size = 1
    """Ranks that divide each layer (tensor parallelism). The workload says how, by its method tp_plan."""
    sequence_parallel: bool = False
    """Also shard the activations between the layers that tp divides, along the sequence."""

    def __post_init__(self) -> None:
        if self.dp_replicate is None and self.dp_shard is None:
            raise InputError(
                "mesh: dp_replicate and dp_shard are both null: give one of them, as in dp_shard: 1"
            )
        if self.sequence_parallel and self.tp == 1:
            raise InputError("mesh: sequence_parallel needs tp: 2 or more")

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each of _DIMENSIONS, of which none may be null."""
        return tuple(getattr(self, name) for name in _DIMENSIONS)

    @property
    def has_data_parallelism(self) -> bool:
        """Whether ranks train different batches."""
        return self.dp_replicate != 1 or self.dp_shard != 1


class Strategy(strategies.Strategy):
    """A model on a mesh with all dimensions. A subclass says which sizes its options are."""

    Options: ClassVar[type[Any]] = MeshOptions
    compiles_blocks = True
    """torch cannot compile an embedding whose rows are divided."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._none = nullcontext()
        self._workload: Divisible | None = None

    @staticmethod
    def sizes(options: Any, world_size: int) -> MeshOptions:
        """The mesh of that many ranks, without nulls; one of another size if they do not fit."""
        left = max(1, world_size // (options.tp * (options.dp_replicate or 1) * (options.dp_shard or 1)))
        filled: MeshOptions = replace(
            options, dp_replicate=options.dp_replicate or left, dp_shard=options.dp_shard or left
        )
        return filled

    @classmethod
    def misfit(cls, options: Any, world_size: int, device_type: DeviceType) -> str | None:  # noqa: ARG003
        shape = cls.sizes(options, world_size).shape
        ranks = prod(shape)
        if ranks == world_size:
            return None
        return (
            f"a mesh of {' x '.join(_DIMENSIONS)} = {' x '.join(map(str, shape))} has {ranks} rank{'s' * (ranks > 1)}, "
            f"but world is {world_size}: choose a world that the dimensions divide, and leave out dp_shard, which then "
            "gets the ranks that the others leave"
        )

    @classmethod
    def ranks_per_batch(cls, options: Any, world_size: int) -> int:
        return cls.sizes(options, world_size).tp

    @staticmethod
    def needs_tp_plan(options: Any) -> bool:
        return bool(options.tp > 1)

    @classmethod
    def lacking(cls, options: Any, device_type: DeviceType, *, wire: bool) -> str | None:  # noqa: ARG003
        from torch.distributed.tensor.parallel import parallelize_module

        if cls.needs_tp_plan(options) and "src_data_rank" not in signature(parallelize_module).parameters:
            return "its parallelize_module has no src_data_rank, which tensor parallelism needs; torch 2.8 has it"
        shards = cls.sizes(options, world_size=2).has_data_parallelism
        return _fully_sharded.lacking(device_type) if shards else None

    @staticmethod
    def conflicts(options: Any, asked: Asked) -> Iterator[tuple[str, str]]:  # noqa: ARG004
        yield from _fully_sharded.conflicts(asked.train)
        if asked.train.precision == "fp16":
            yield (
                "name",
                "under train.precision fp16 all ranks of a mesh would have to agree on the loss's scale, which torch "
                "cannot do for all dimensions: use bf16",
            )

    @classmethod
    def suits(cls, options: Any, world_size: int, workload: Divisible, train: TrainSpec) -> None:
        import torch

        sizes = cls.sizes(options, world_size)
        if sizes.tp == 1:
            return
        if train.fused_optimizer and not sizes.has_data_parallelism:
            raise InputError(
                "torch's fused optimizers cannot update the layers that tp divides together with those that it "
                "leaves whole: leave out train.fused_optimizer"
            )
        if train.compile and not sizes.has_data_parallelism:
            raise InputError(
                "torch cannot compile the blocks of a model that tp alone divides: leave out train.compile, or add "
                "data parallelism, as in strategy: {mesh: {tp: 2}} on 4 ranks"
            )
        with torch.device("meta"):
            model = workload.model()
        _plan(workload, model, sizes)

    def use(self, workload: Divisible) -> None:
        self._workload = workload

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        assert self._workload is not None
        sizes = self.sizes(self.options, torch.distributed.get_world_size())
        mesh = init_device_mesh(device.type, sizes.shape, mesh_dim_names=_DIMENSIONS)
        if sizes.tp > 1:
            _divide_layers(model, mesh["tp"], _plan(self._workload, model, sizes))
        model = model.to(device)
        if sizes.has_data_parallelism:
            sharding = mesh["dp_replicate", "dp_shard"] if sizes.dp_replicate != 1 else mesh["dp_shard"]
            policy = MixedPrecisionPolicy(
                param_dtype=narrow_dtype(precision), reduce_dtype=torch.float32, cast_forward_inputs=False
            )
            for unit in [*blocks, model]:
                fully_shard(unit, mesh=sharding, mp_policy=policy)
        return model

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        if hasattr(model, "set_requires_gradient_sync"):
            _fully_sharded.synchronise(model, last)
        return self._none


def _plan(workload: Divisible, model: nn.Module, sizes: MeshOptions) -> dict[str, ParallelStyle]:
    from torch.distributed.tensor.parallel import ParallelStyle

    made: Any = workload.tp_plan(model, size=sizes.tp, sequence_parallel=sizes.sequence_parallel)
    if not isinstance(made, dict):
        raise InputError(
            f"tp_plan() returned {type(made).__name__}: give a dict of torch's styles by the names of submodules"
        )
    names = {name for name, _ in model.named_modules()}
    for name, style in made.items():
        if name not in names:
            raise InputError(f"tp_plan() names {name}, which is no submodule of the model")
        if not isinstance(style, ParallelStyle):
            raise InputError(
                f"tp_plan() gives {name} {type(style).__name__}: give a style of torch.distributed.tensor.parallel, as "
                "ColwiseParallel()"
            )
    return made


def _divide_layers(model: nn.Module, mesh: DeviceMesh, plan: dict[str, ParallelStyle]) -> None:
    """Divide the layers of the plan. A weight that several layers share stays one: torch would divide it for each."""
    from torch.distributed.tensor.parallel import parallelize_module

    places: dict[int, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            places.setdefault(id(parameter), []).append((module, name))
    # every rank has drawn the same weights, so that none has to be sent
    parallelize_module(model, mesh, plan, src_data_rank=None)
    for (first, first_name), *others in places.values():
        for module, name in others:
            setattr(module, name, getattr(first, first_name))
