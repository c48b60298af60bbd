"""Messages of a shadow or of a real rank without torch's objects."""

from __future__ import annotations

from functools import cache

import torch.distributed as dist

from bench.measure.messages import Recorded
from bench.shadow.records import Message


@cache
def _ranks(group: dist.ProcessGroup) -> tuple[int, ...]:
    return tuple(dist.get_process_group_ranks(group))


def as_message(
    sent: Recorded, ranks_per_node: int, *, phase: str, computed_before: float, micro_batch: int = 0
) -> Message:
    """The message without torch's objects."""
    return Message(
        op=sent.op,
        group=_name(sent.group),
        group_size=sent.group.size(),
        group_nodes=len({rank // ranks_per_node for rank in _ranks(sent.group)}),
        phase=phase,
        micro_batch=micro_batch,
        message_bytes=sent.message_bytes,
        computed_before=computed_before,
        waits=sent.waits,
    )


def _name(group: dist.ProcessGroup) -> str:
    """The dimension of the mesh; `world` for the default group and for the only dimension of a mesh without names."""
    name = group.group_desc.removeprefix("mesh_")
    return "world" if name in ("default_pg", "default", "undefined", "") else name
