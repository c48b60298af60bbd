"""The private names of torch that bench uses; no other file of it may use one. The probe has a module of its own.

A name is looked up when a file imports it from here: this module itself imports no torch. Names that are only compared
with the name of an operation, such as `_c10d_functional`, are not here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.probe.bench_probe.torch_private import Name

# ruff: noqa: PLC0414 - so mypy lets other files import them from here
if TYPE_CHECKING:  # those that annotations and base classes name
    from torch._ops import OpOverload as OpOverload
    from torch._subclasses.fake_tensor import DataDependentOutputException as DataDependentOutputException
    from torch._subclasses.fake_tensor import DynamicOutputShapeException as DynamicOutputShapeException
    from torch._subclasses.fake_tensor import FakeTensor as FakeTensor
    from torch._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode


def _aten(operator: str, use: str) -> Name:
    return Name(f"torch:ops.aten.{operator}.default", use)


NAMES = {
    "BatchNorm": Name("torch.nn.modules.batchnorm:_BatchNorm", "whether examples of a batch meet"),
    "DataDependentOutputException": Name(
        "torch._subclasses.fake_tensor:DataDependentOutputException", "a model that needs values"
    ),
    "DynamicOutputShapeException": Name(
        "torch._subclasses.fake_tensor:DynamicOutputShapeException", "a model that needs values"
    ),
    "FakeStore": Name(
        "torch.testing._internal.distributed.fake_pg:FakeStore", "the process group of a shadow"
    ),
    "FakeTensor": Name("torch._subclasses.fake_tensor:FakeTensor", "shapes that torch makes inside a shadow"),
    "FakeTensorMode": Name("torch._subclasses.fake_tensor:FakeTensorMode", "FLOPs, counted on shapes"),
    "HYBRID_SHARD_ZERO2": Name(
        "torch.distributed.fsdp:ShardingStrategy._HYBRID_SHARD_ZERO2", "fsdp1: shard_grad_op with shard_size"
    ),
    "MultiProcessingDataLoaderIter": Name(
        "torch.utils.data.dataloader:_MultiProcessingDataLoaderIter", "why a loader process has ended"
    ),
    "OpOverload": Name("torch._ops:OpOverload", "an operation that is not of higher order"),
    "TorchDispatchMode": Name("torch.utils._python_dispatch:TorchDispatchMode", "every operation, seen"),
    "avx_py_load": Name(
        "torch._inductor.cpu_vec_isa:VecISA._avx_py_load",
        "safe imports where torch tries vector instructions",
    ),
    "callback_handler": Name("torch._dynamo.callback:callback_handler", "time and number of compilations"),
    "chunk_with_empty": Name(
        "torch.distributed.fsdp._fully_shard._fsdp_param:_chunk_with_empty", "FSDP over thousands of ranks"
    ),
    "create_work_from_future": Name(
        "torch._C._distributed_c10d:_create_work_from_future", "the answer to a message of a shadow"
    ),
    "cuda_device_count": Name("torch._C:_cuda_getDeviceCount", "CUDA's GPUs; only a torch for GPUs has it"),
    "current_graph_task_id": Name("torch._C:_current_graph_task_id", "whether autograd is in backward"),
    "disable_current_modes": Name(
        "torch.utils._python_dispatch:_disable_current_modes", "real data while tensors have no values"
    ),
    "foreach_lerp_": Name("torch:_foreach_lerp_", "the moving average; torch's public function takes longer"),
    "get_cpp_compiler": Name("torch._inductor.cpp_builder:get_cpp_compiler", "train.compile on CPUs"),
    "has_triton": Name("torch.utils._triton:has_triton", "train.compile on GPUs"),
    "item": _aten("_local_scalar_dense", "a read of a value inside a shadow"),
    "math_attention": _aten("_scaled_dot_product_attention_math", "attention of a shadow"),
    "cudnn_attention": _aten("_scaled_dot_product_cudnn_attention", "train.checkpointing"),
    "efficient_attention": _aten(
        "_scaled_dot_product_efficient_attention", "train.checkpointing, and a shadow"
    ),
    "flash_attention": _aten("_scaled_dot_product_flash_attention", "train.checkpointing"),
    "flash_attention_on_cpu": _aten("_scaled_dot_product_flash_attention_for_cpu", "train.checkpointing"),
    "overflow_check": _aten("_amp_foreach_non_finite_check_and_unscale_", "GradScaler inside a shadow"),
    "resolve_process_group": Name(
        "torch.distributed.distributed_c10d:_resolve_process_group", "the group of a functional collective"
    ),
    "scaled_mm": Name("torch:_scaled_mm", "products in float8"),
    "upsample_nearest_exact1d": _aten("_upsample_nearest_exact1d", "CUDA's autocast, for a shadow"),
    "upsample_nearest_exact2d": _aten("_upsample_nearest_exact2d", "CUDA's autocast, for a shadow"),
    "upsample_nearest_exact3d": _aten("_upsample_nearest_exact3d", "CUDA's autocast, for a shadow"),
}
"""By the name under which this module has it."""


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMES[name].load()


def replace(name: str, value: object) -> None:
    """Let torch use `value` in place of what has this name in the table."""
    import pkgutil

    module, _, attributes = NAMES[name].place.partition(":")
    owner, _, attribute = attributes.rpartition(".")
    setattr(pkgutil.resolve_name(f"{module}:{owner}"), attribute, value)


def schema_of(operation: OpOverload) -> Any:
    """The name, arguments and returns of an operation."""
    return operation._schema


def loaders_of(iterator: Any) -> Any:
    """The loader processes of a MultiProcessingDataLoaderIter."""
    return iterator._workers
