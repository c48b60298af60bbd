"""ddp: every rank holds the whole model (PyTorch's DistributedDataParallel); an all-reduce averages gradients during
backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from bench import strategies

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    from bench.strategies import Asked


@dataclass(frozen=True, kw_only=True)
class DdpOptions:
    """Options of torch.nn.parallel.DistributedDataParallel and of its communication hooks."""

    static_graph: bool = False
    """Promise that every step uses the same parameters in the same order."""
    find_unused_parameters: bool = False
    """Search the graph in every step for parameters without a gradient; costs time."""
    gradient_as_bucket_view: bool = True
    """Keep gradients in the communication buckets; saves one copy of the gradients."""
    bucket_cap_mb: Annotated[int, Gt(0), Le(1_048_576)] = 25
    """Gradients in one all-reduce, in MiB."""
    broadcast_buffers: bool = True
    """Send rank 0's buffers (BatchNorm's statistics) to all ranks before each forward."""
    gradient_compression: Literal["none", "fp16", "bf16", "powersgd"] = "none"
    """Form in which gradients are sent: half precision, or two thin matrices each (powersgd), which is lossy."""
    powersgd_rank: Annotated[int, Ge(1), Le(1024)] = 1
    """Columns of PowerSGD's matrices; more columns cost more time and lose less."""
    powersgd_start_step: Annotated[int, Ge(2), Le(1_000_000)] = 2
    """Uncompressed synchronisations before PowerSGD begins, which must be during the warm-up."""


class Strategy(strategies.Strategy):
    """DistributedDataParallel over the default process group."""

    Options = DdpOptions

    def __init__(self, options: DdpOptions) -> None:
        super().__init__(options)
        # made once: a context manager per micro-batch would be garbage in measured steps
        self._synchronising = nullcontext()
        # DDP learns a static graph in the first step; no_sync would hide it, so all micro-batches synchronise there
        self._learning = options.static_graph

    @staticmethod
    def conflicts(options: DdpOptions, asked: Asked) -> Iterator[tuple[str, str]]:
        if options.static_graph and options.find_unused_parameters:
            yield (
                "find_unused_parameters",
                "torch ignores find_unused_parameters under static_graph, which finds them once: remove one of them",
            )
        if asked.measure.wire and options.gradient_compression != "none":
            yield (
                "gradient_compression",
                "measure.wire sends the gradients by a communication hook, and torch allows one, which "
                "gradient_compression has: remove one of them",
            )
        if options.gradient_compression != "powersgd":
            return
        if asked.train.precision == "fp16":
            yield (
                "gradient_compression",
                "powersgd carries its error over to the next step, so after the first overflow of fp16 every step is "
                "skipped: use precision bf16, or the compression fp16",
            )
        start, warmup = options.powersgd_start_step, asked.measure.warmup
        if start >= warmup:
            yield (
                "gradient_compression",
                f"powersgd begins after {start} uncompressed steps (powersgd_start_step), and measure.warmup is "
                f"{warmup}: uncompressed steps, or its first one, which allocates memory, would be measured; "
                f"use {start + 1} or more warm-up steps",
            )

    def wrap(
        self,
        model: nn.Module,
        blocks: list[nn.Module],  # noqa: ARG002 - the base class's signature
        *,
        device: torch.device,
        precision: str,  # noqa: ARG002 - the base class's signature
    ) -> DistributedDataParallel:
        from torch.nn.parallel import DistributedDataParallel

        wrapped = DistributedDataParallel(
            model.to(device),
            device_ids=[device.index] if device.type == "cuda" else None,
            static_graph=self.options.static_graph,
            find_unused_parameters=self.options.find_unused_parameters,
            gradient_as_bucket_view=self.options.gradient_as_bucket_view,
            bucket_cap_mb=self.options.bucket_cap_mb,
            **{_buffers_keyword(DistributedDataParallel): self.options.broadcast_buffers},
        )
        self._compress(wrapped)
        return wrapped

    def _compress(self, model: DistributedDataParallel) -> None:
        from torch import distributed
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

        compression = self.options.gradient_compression
        if compression == "powersgd":
            # None means the default process group; all its ranks start with the same matrices
            state = powerSGD_hook.PowerSGDState(
                process_group=None,
                matrix_approximation_rank=self.options.powersgd_rank,
                start_powerSGD_iter=self.options.powersgd_start_step,
            )
            # gloo matches all-reduces by their order; two buckets at once would mix it up among ranks
            hook = (
                _one_at_a_time(powerSGD_hook.powerSGD_hook)
                if distributed.get_backend() == "gloo"  # also if ranks share a GPU
                else powerSGD_hook.powerSGD_hook
            )
            model.register_comm_hook(state, hook)
        elif compression != "none":
            hooks = {"fp16": default_hooks.fp16_compress_hook, "bf16": default_hooks.bf16_compress_hook}
            model.register_comm_hook(None, hooks[compression])

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        if last or self._learning:
            self._learning = self._learning and not last
            return self._synchronising
        synchronising_later: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
        return synchronising_later

    def unsynchronised(self, model: nn.Module) -> AbstractContextManager[None]:
        alone: AbstractContextManager[None] = model.no_sync()  # type: ignore[operator]
        return alone

    def scale_messages(self, model: nn.Module, factor: Callable[[], float]) -> None:
        """Each all-reduce has factor() times its bucket's bytes. Above 1 zeros follow the gradients; below 1 only the
        first gradients are averaged."""
        model.register_comm_hook(None, _scaled(factor))  # type: ignore[operator]

    def clip(self, model: nn.Module, max_norm: float) -> None:
        from torch.nn.utils import clip_grad_norm_

        clip_grad_norm_(model.parameters(), max_norm)


def _buffers_keyword(wrapper: Callable[..., Any]) -> str:
    """torch 2.13 renamed the keyword and warns of the old name."""
    new = "forward_sync_buffers"
    return new if new in signature(wrapper).parameters else "broadcast_buffers"


def _one_at_a_time(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The communication hook with one bucket in transit at a time, not hidden behind backward."""

    def waiting(state, bucket):  # type: ignore[no-untyped-def] # torch takes no annotation that is text
        future = hook(state, bucket)
        future.wait()
        return future

    return waiting


def _scaled(factor: Callable[[], float]) -> Callable[[Any, Any], Any]:
    """The communication hook that averages as DDP itself does, in a message of factor() times the bytes. Each factor
    has the same copies, so that steps differ in nothing but the message."""
    from torch import distributed

    buffers: dict[int, torch.Tensor] = {}
    """By bucket: the longest message, in which zeros follow the gradients. The same memory in each step, since to
    allocate it there would take time that no network takes."""

    def scaled(_state, bucket):  # type: ignore[no-untyped-def] # torch takes no annotation that is text
        gradients = bucket.buffer()
        whole = gradients.numel()
        sent = max(1, round(factor() * whole))
        buffer = buffers.get(bucket.index())
        if buffer is None or buffer.numel() < max(whole, sent):
            buffer = buffers[bucket.index()] = gradients.new_zeros(max(whole, sent))
        buffer[:whole] = gradients.div_(distributed.get_world_size())
        future = distributed.all_reduce(buffer[:sent], async_op=True).get_future()
        return future.then(lambda _: gradients.copy_(buffer[:whole]))

    return scaled
