"""Records every message of this rank as it asks its process groups for it, the same under gloo and the fake group.

DDP's reducer, FSDP and DTensor all call operations that torch dispatches, so one mode sees them all. It does
not see what a callback of gloo's own threads sends: under ddp the second half of a powersgd exchange."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.flop_counter import flop_registry

from bench.common.torch_private import (
    FakeTensor,
    TorchDispatchMode,
    current_graph_task_id,
    resolve_process_group,
    schema_of,
)
from bench.measure.profile.collective_names import op_of

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Tensors that replace no operation."""
_NAMESPACES = ("c10d", "_c10d_functional")


@dataclass(frozen=True, kw_only=True)
class RecordedMessage:
    """A message, and the number of marks before it."""

    mark: int
    phase: str
    """`forward` or `backward`, as autograd tells."""
    op: str
    group: dist.ProcessGroup
    message_bytes: int
    waits: bool
    """Whether the rank waits for its end at once."""
    flops_before: int
    """Floating-point operations since the mark in the same phase, as torch's counter knows them."""
    bytes_before: int
    """Bytes of the messages since the mark in the same phase."""


class MessageRecorder(TorchDispatchMode):
    """Inside, all messages of this thread are kept in `sent`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.restart()

    def restart(self) -> None:
        """Forget all messages and marks."""
        self.sent: list[RecordedMessage] = []
        self.marks = 0
        self._flops: Counter[tuple[int, str]] = Counter()
        self._bytes: Counter[tuple[int, str]] = Counter()

    def computed_before(self, one: RecordedMessage) -> float:
        """Share of the computation between two marks, in the message's phase, that came before it: by FLOPs if the
        model has any that torch counts, otherwise by message bytes; a message that the rank does not wait for includes
        its own."""
        flops, size = self._flops[one.mark, one.phase], self._bytes[one.mark, one.phase]
        if self._flops.total():
            return one.flops_before / flops if flops else 0.0
        return (one.bytes_before + one.message_bytes * (not one.waits)) / size if size else 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if unwraps_first(types):
            return NotImplemented
        made = func(*args, **kwargs)
        phase = "forward" if current_graph_task_id() == -1 else "backward"
        packet = getattr(func, "overloadpacket", None)
        if getattr(func, "namespace", None) in _NAMESPACES:
            names = [argument.name for argument in schema_of(func).arguments]
            given = dict(zip(names, args, strict=False)) | kwargs
            group = given.get("group_name", given.get("process_group"))
            if group is not None:  # a wait has none
                name = schema_of(func).name.partition("::")[2]
                size = _bytes(name, args, made)
                self.sent.append(
                    RecordedMessage(
                        mark=self.marks,
                        phase=phase,
                        op=op_of(name.removesuffix("_")),
                        group=_named(group),
                        message_bytes=size,
                        waits=_waits(func.namespace, name, given),
                        flops_before=self._flops[self.marks, phase],
                        bytes_before=self._bytes[self.marks, phase],
                    )
                )
                self._bytes[self.marks, phase] += size
        elif packet in flop_registry:
            self._flops[self.marks, phase] += flop_registry[packet](*args, **kwargs, out_val=made)
        return made


def _waits(namespace: str, name: str, given: dict[str, Any]) -> bool:
    """Whether the rank waits at once. It uses the result of a functional operation at once, and DDP the buffers that it
    receives before forward, although it asks for them by an asynchronous operation."""
    return namespace != "c10d" or name == "broadcast_" or not given.get("async_op", True)


def _named(group: Any) -> dist.ProcessGroup:
    if isinstance(group, str):
        group = resolve_process_group(group)
    return group if isinstance(group, dist.ProcessGroup) else dist.ProcessGroup.unbox(group)


def _bytes(name: str, args: Any, made: Any) -> int:
    """Bytes of the larger side: the first argument and the result, or the second argument."""
    if name == "barrier":
        return 0
    sides = [args[0], made, args[1] if len(args) > 1 else None]
    return max(sum(map(size_of, tensors_in(side))) for side in sides)


def unwraps_first(types: Any) -> bool:
    """Whether the arguments have a subclass, such as a DTensor, which replaces the operation by others of its own."""
    return any(one not in PLAIN and one is not FakeTensor and _unwraps(one) for one in types)


@cache
def _unwraps(kind: type[Any]) -> bool:
    return kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Those in the arguments or the result of an operation, also in lists, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)


def size_of(tensor: torch.Tensor) -> int:
    """Bytes of the tensor's elements."""
    return tensor.numel() * tensor.element_size()
