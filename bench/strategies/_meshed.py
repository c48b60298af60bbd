"""The common part of mesh, tp, pp, ep and cp: a model on one DeviceMesh, by torch's own means for each dimension."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from bench.common.dtypes import narrow_dtype
from bench.common.errors import InputError
from bench.strategies import _clip, _fully_sharded
from bench.strategies._layout import Layout

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed.device_mesh import DeviceMesh

    from bench.records.run_spec import TrainSpec
    from bench.records.vocabulary import DeviceType
    from bench.strategies import Asked, Divisible
    from bench.train.context_parallel import DividedSequences


class MeshedStrategy(ABC):
    """Subclasses say which layout their options are."""

    Options: ClassVar[type[Any]]
    max_world_size: ClassVar[int | None] = None
    compiles_blocks = True
    """torch cannot compile an embedding whose rows are divided, nor what passes between the stages of a pipeline."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self._none = nullcontext()
        self._workload: Divisible | None = None
        self._mesh: DeviceMesh | None = None
        self._sequences: DividedSequences | None = None

    @staticmethod
    @abstractmethod
    def layout(options: Any, world_size: int) -> Layout:
        """The layout of that many ranks; one of another size if they do not fit."""

    @classmethod
    def misfit(cls, options: Any, world_size: int, device_type: DeviceType) -> str | None:
        return cls.layout(options, world_size).misfit(world_size, device_type)

    @classmethod
    def too_few(cls, options: Any, world_size: int, micro_batches: int) -> str | None:
        return cls.layout(options, world_size).too_few(micro_batches)

    @classmethod
    def ranks_per_batch(cls, options: Any, world_size: int) -> int:
        return cls.layout(options, world_size).ranks_per_batch

    @staticmethod
    @abstractmethod
    def asks_of_workload(options: Any) -> list[str]:
        """The methods that say how the workload's model is divided."""

    @classmethod
    def conflicts(cls, options: Any, asked: Asked) -> Iterator[tuple[str, str]]:
        yield from _fully_sharded.conflicts(asked.train)
        if asked.train.precision == "fp16":
            yield (
                "name",
                "under train.precision fp16 all ranks of a mesh would have to agree on the loss's scale, which torch "
                "cannot do for all dimensions: use bf16",
            )
        if getattr(options, "async_tp", False) and not asked.train.compile:
            yield (
                "async_tp",
                "torch.compile makes the pieces that overlap: give train.compile: true, or leave out async_tp",
            )
        if getattr(options, "schedule", None) != "zero_bubble":
            return
        if asked.train.compile:
            yield (
                "schedule",
                "zero_bubble computes the gradients of inputs and of weights one after the other, and torch cannot "
                "compile that: leave out train.compile, or use another schedule",
            )
        if asked.train.checkpointing in ("keep_attention", "keep_matmuls"):
            yield (
                "schedule",
                "zero_bubble uses recomputed activations twice, for the gradients of inputs and of weights, and torch "
                f"frees those that {asked.train.checkpointing} keeps after the first: use train.checkpointing: true, "
                "or another schedule",
            )

    @classmethod
    def suits(cls, options: Any, world_size: int, workload: Divisible, train: TrainSpec) -> None:
        """Raises InputError if the workload's model cannot be divided so. The workload is prepared."""
        import torch

        layout = cls.layout(options, world_size)
        with torch.device("meta"):
            model = workload.model()
        if layout.cp > 1:
            one = torch.zeros(1, dtype=torch.int64)
            workload.cp_batch(workload.batch(one, one), size=layout.cp)
        if isinstance(model, torch.nn.ModuleDict):
            raise InputError(
                "model() returned an nn.ModuleDict, and a mesh divides one model: use ddp or fsdp"
            )
        if layout.pp > 1 and hasattr(workload, "step"):
            raise InputError(
                "the workload makes its own steps, which cannot pass through a pipeline: use tp or fsdp"
            )
        if layout.cp > 1 and hasattr(workload, "step"):
            raise InputError(
                "the workload makes its own steps, whose sequences torch cannot divide: use tp or fsdp"
            )
        if layout.tp > 1:
            if train.fused_optimizer and layout.dp_replicate * layout.sharding == 1:
                raise InputError(
                    "torch's fused optimizers cannot update the layers that tp divides together with those that it "
                    "leaves whole: leave out train.fused_optimizer"
                )
            if train.compile and layout.dp_replicate * layout.sharding == 1:
                raise InputError(
                    "torch cannot compile the blocks of a model that tp alone divides: leave out train.compile, or add "
                    "data parallelism, as in strategy: {mesh: {tp: 2}} on 4 ranks"
                )
            _plan(workload, model, layout)
        if layout.pp > 1:
            _stages(workload, model, layout)
        if layout.ep > 1:
            _experts(workload, model, layout)

    def use(self, workload: Divisible) -> None:
        """The workload whose model is distributed; before `wrap`."""
        self._workload = workload

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.Module:
        import torch
        from torch.distributed.device_mesh import init_device_mesh

        assert self._workload is not None
        layout = self.layout(self.options, torch.distributed.get_world_size())
        sizes = {
            "dp_replicate": layout.dp_replicate,
            "dp_shard": layout.sharding,
            "pp": layout.pp,
            "tp": layout.tp,
        }
        mesh = self._mesh = init_device_mesh(device.type, tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        if layout.cp > 1:
            from bench.train.context_parallel import DividedSequences

            batches = layout.dp_replicate * layout.dp_shard
            by_sequence = init_device_mesh(
                device.type, (batches, layout.cp, layout.tp), mesh_dim_names=("batch", "cp", "tp")
            )
            self._sequences = DividedSequences(self._workload, by_sequence["cp"])
        if layout.tp > 1:
            if layout.async_tp:
                import torch._inductor.config as inductor

                inductor._micro_pipeline_tp = True  # of this process, which has one model
            _divide_layers(model, mesh["tp"], _plan(self._workload, model, layout))
        experts = _experts(self._workload, model, layout) if layout.ep > 1 else []
        if experts:
            self._share_experts(experts, layout, device, precision)
        roots: list[nn.Module] = [model]
        if layout.pp > 1:
            from bench.train.pipeline import Pipeline, Stage

            stages = _stages(self._workload, model, layout)
            own = range(mesh.get_local_rank("pp"), layout.stages, layout.pp)
            roots = [Stage(stages[index], index, layout.stages) for index in own]
            model = Pipeline(roots)  # type: ignore[arg-type] # they are stages
        model = model.to(device)
        if layout.dp_replicate * layout.sharding > 1:
            there = {id(part) for root in roots for part in root.modules()}
            self._shard([*(one for one in blocks if id(one) in there), *roots], layout, precision)
        if layout.pp > 1:
            model.connect(layout.stages, layout.schedule, device, mesh.get_group("pp"))  # type: ignore[operator]
            if torch.distributed.get_backend() == "fake":  # no neighbour tells a shadow rank any shapes
                every = [Stage(one, number, layout.stages) for number, one in enumerate(stages)]
                for number, root in zip(own, roots, strict=True):
                    every[number] = root  # type: ignore[call-overload]
                if layout.dp_replicate * layout.sharding > 1:
                    _compute_as_sharded([one for one in every if one not in roots], precision)
                model.imagine(every)  # type: ignore[operator]
        return model

    def _share_experts(
        self, experts: list[nn.Module], layout: Layout, device: torch.device, precision: str
    ) -> None:
        """Give each rank of a group some of the experts, and shard those over the groups."""
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor

        groups = layout.dp_shard // layout.ep
        mesh = init_device_mesh(
            device.type, (groups, layout.ep, layout.tp), mesh_dim_names=("dp_shard", "ep", "tp")
        )
        for module in experts:
            module.group = mesh.get_group("ep")  # type: ignore[assignment]
            for name, parameter in list(module.named_parameters(recurse=False)):
                # every rank has drawn the same weights, so that none has to be sent
                divided = distribute_tensor(parameter.data, mesh["ep"], [Shard(0)], src_data_rank=None)
                module.register_parameter(name, nn.Parameter(divided))
            self._sharded(module.to(device), mesh["dp_shard"], precision)

    def _shard(self, units: Sequence[nn.Module], layout: Layout, precision: str) -> None:
        assert self._mesh is not None
        mesh = self._mesh["dp_replicate", "dp_shard"] if layout.dp_replicate > 1 else self._mesh["dp_shard"]
        for unit in units:
            self._sharded(unit, mesh, precision)

    def _sharded(self, unit: nn.Module, mesh: DeviceMesh, precision: str) -> None:
        import torch
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = MixedPrecisionPolicy(
            param_dtype=narrow_dtype(precision), reduce_dtype=torch.float32, cast_forward_inputs=False
        )
        fully_shard(unit, mesh=mesh, mp_policy=policy)

    @property
    def makes_steps(self) -> bool:
        """Whether `forward_backward` takes the place of calling the model; known after `wrap`."""
        return self._sequences is not None or self._has_stages

    @property
    def _has_stages(self) -> bool:
        return self._mesh is not None and self._mesh["pp"].size() > 1

    def forward_backward(
        self,
        model: Any,
        loss: Callable[[nn.Module, Any], Any],
        batches: Sequence[Any],
        ended: Callable[[Any], None],
    ) -> torch.Tensor:
        """Forward and backward of a step's micro-batches. Returns the mean loss, or UNKNOWN_LOSS; with divided
        sequences the mean over this rank's part of them, whose mean over the ranks is that of whole ones."""
        if self._sequences is None:
            made: torch.Tensor = model.forward_backward(loss, batches, ended)
            return made
        losses = []
        for number, batch in enumerate(batches):
            with self._sequences.part_of(batch) as part, self.accumulating(model, number == len(batches) - 1):
                one = loss(model, part) / len(batches)
                ended("forward")
                one.backward()
                ended("backward")
            losses.append(one.detach())
        total: torch.Tensor = sum(losses[1:], start=losses[0])
        return total

    def evaluate(
        self, model: Any, evaluate: Callable[[nn.Module, Any], Any], batch: Any
    ) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """The workload's `evaluate`; null on a rank that does not see the model's output."""
        found: tuple[torch.Tensor, torch.Tensor | None] | None
        if self._sequences is None:
            found = model.evaluate(evaluate, batch)
        else:
            with self._sequences.part_of(batch) as part:
                found = evaluate(model, part)
        return found

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        if hasattr(model, "set_requires_gradient_sync"):
            _fully_sharded.synchronise(model, last)
        return self._none

    def clip(self, model: nn.Module, max_norm: float) -> None:
        assert self._mesh is not None
        _clip.clip(model, max_norm, self._mesh.get_group("pp") if self._has_stages else None)

    def validated(self, model: nn.Module) -> None:
        _fully_sharded.reshard(model)


def _compute_as_sharded(stages: Sequence[nn.Module], precision: str) -> None:
    """Give these stages' parameters the dtype in which FSDP would gather them, because that is their output's."""
    from torch import nn
    from torch.distributed.fsdp import FSDPModule

    dtype = narrow_dtype(precision)
    if dtype is None:
        return
    for stage in stages:
        units = [module for module in stage.modules() if isinstance(module, FSDPModule)]
        sharded = {parameter for unit in units for parameter in unit.parameters()}
        for module in stage.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                if parameter not in sharded:
                    module.register_parameter(name, nn.Parameter(parameter.detach().to(dtype)))


def _plan(workload: Divisible, model: nn.Module, layout: Layout) -> dict[str, Any]:
    from torch.distributed.tensor.parallel import ParallelStyle

    made: Any = workload.tp_plan(model, size=layout.tp, sequence_parallel=layout.sequence_parallel)
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


def _stages(workload: Divisible, model: nn.Module, layout: Layout) -> list[nn.Module]:
    from torch import nn

    made: Any = workload.stages(model, layout.stages)
    if not isinstance(made, list | tuple | nn.ModuleList) or not all(
        isinstance(one, nn.Module) for one in made
    ):
        raise InputError(f"stages() returned {type(made).__name__}: give a list of torch.nn.Module")
    if len(made) != layout.stages:
        raise InputError(f"stages() returned {len(made)} modules for {layout.stages} stages")
    stages: list[nn.Module] = list(made)
    _check_parameters(model, stages)
    return stages


def _check_parameters(model: nn.Module, stages: Sequence[nn.Module]) -> None:
    """Raises InputError unless each parameter of the model is in one stage and there are no others. A rank updates only
    those of its own stages, so a shared one would diverge."""
    names = {id(one): name for name, one in model.named_parameters()}
    stage_of: dict[int, int] = {}
    for number, stage in enumerate(stages):
        for name, one in stage.named_parameters():
            if id(one) not in names:
                raise InputError(
                    f"stages() returned a stage {number} with a parameter {name} that the model does not have: "
                    "use the model's own modules"
                )
            first = stage_of.setdefault(id(one), number)
            if first != number:
                raise InputError(
                    f"stages() gives the parameter {names[id(one)]} to the stages {first} and {number}, which would "
                    "train it apart: give it to one of them"
                )
    if left := [name for key, name in names.items() if key not in stage_of]:
        raise InputError(f"stages() gives the parameter {left[0]} to no stage: give it to one")
    if empty := set(range(len(stages))) - set(stage_of.values()):
        raise InputError(
            f"stages() returned a stage {min(empty)} without parameters: give each stage some of the layers, or use "
            "fewer stages"
        )


def _experts(workload: Divisible, model: nn.Module, layout: Layout) -> list[nn.Module]:
    made: list[Any] = workload.experts(model)
    for module in made:
        if module.count % layout.ep:
            raise InputError(
                f"{module.count} experts do not divide among {layout.ep} ranks of the dimension ep: "
                f"{module.count} / {layout.ep} = {module.count / layout.ep:g}"
            )
    return made


def _divide_layers(model: nn.Module, mesh: DeviceMesh, plan: dict[str, Any]) -> None:
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
