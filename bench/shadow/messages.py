"""Records every message of this rank as it asks its process groups for it, the same under gloo and the fake group.

DDP's reducer, FSDP, DTensor and pipelines all call operations that torch dispatches, so one mode sees them all. It does
not see what a callback of gloo's own threads sends: under ddp the second half of a powersgd exchange."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from bench.measure.profile.collective_names import op_of
from bench.shadow.hollow import size_of, unwraps_first
from bench.shadow.records import Message

_NAMESPACES = ("c10d", "_c10d_functional")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message, and the number of marks before it."""

    mark: int
    phase: str
    """`forward` or `backward`, as autograd tells."""
    op: str
    group: dist.ProcessGroup
    message_bytes: int


class MessageRecorder(TorchDispatchMode):
    """Inside, all messages of this thread are kept in `sent`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sent: list[Sent] = []
        self.marks = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if unwraps_first(types):
            return NotImplemented
        made = func(*args, **kwargs)
        if getattr(func, "namespace", None) in _NAMESPACES:
            group = _group(func, args, kwargs)
            if group is not None:
                name = func._schema.name.partition("::")[2]
                self.sent.append(
                    Sent(
                        mark=self.marks,
                        phase="forward" if torch._C._current_graph_task_id() == -1 else "backward",
                        op=op_of(name.removesuffix("_")),
                        group=group,
                        message_bytes=_bytes(name, args, made),
                    )
                )
        return made


def _group(func: Any, args: Any, kwargs: Any) -> dist.ProcessGroup | None:
    """The process group of the operation; null if it has none, as a wait."""
    names = [argument.name for argument in func._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    group = given.get("group_name", given.get("process_group"))
    return None if group is None else _named(group)


def _named(group: Any) -> dist.ProcessGroup:
    if isinstance(group, str):
        return dist.distributed_c10d._resolve_process_group(group)  # type: ignore[arg-type,attr-defined]
    return group if isinstance(group, dist.ProcessGroup) else dist.ProcessGroup.unbox(group)


def _bytes(name: str, args: Any, made: Any) -> int:
    """Bytes of the larger side: the first argument and the result, or the second argument."""
    if name == "barrier":
        return 0
    sides = [args[0], made, args[1] if len(args) > 1 else None]
    return max(
        sum(size_of(one) for one in tree_iter(side) if isinstance(one, torch.Tensor)) for side in sides
    )


@cache
def _ranks(group: dist.ProcessGroup) -> tuple[int, ...]:
    return tuple(dist.get_process_group_ranks(group))


def as_message(sent: Sent, ranks_per_node: int, *, phase: str, micro_batch: int = 0) -> Message:
    """The message without torch's objects."""
    return Message(
        op=sent.op,
        group=_name(sent.group),
        group_size=sent.group.size(),
        group_nodes=len({rank // ranks_per_node for rank in _ranks(sent.group)}),
        phase=phase,
        micro_batch=micro_batch,
        message_bytes=sent.message_bytes,
    )


def _name(group: dist.ProcessGroup) -> str:
    """The dimension of the mesh; `world` for the default group and for the only dimension of a mesh without names."""
    name = group.group_desc.removeprefix("mesh_")
    return "world" if name in ("default_pg", "default", "undefined", "") else name
