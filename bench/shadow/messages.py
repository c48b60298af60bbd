"""Messages of a shadow or of a real rank without torch's objects."""

from __future__ import annotations

from functools import cache

import torch.distributed as dist

from bench.measure.messages import RecordedMessage
from bench.shadow.records import ShadowMessage


@cache
def _ranks(group: dist.ProcessGroup) -> tuple[int, ...]:
    return tuple(dist.get_process_group_ranks(group))


def as_message(
    sent: RecordedMessage, ranks_per_node: int, *, phase: str, computed_before: float, micro_batch: int = 0
) -> ShadowMessage:
    """The message without torch's objects."""
    return ShadowMessage(
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
    """The dimension of the mesh; without a name `world` for all ranks, else which ones, as in `ranks 0-6 by 2`."""
    name = group.group_desc.removeprefix("mesh_")
    if name not in ("default_pg", "default", "undefined", ""):
        return name
    ranks = _ranks(group)
    if len(ranks) == dist.get_world_size():
        return "world"
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    apart = ranks[1] - ranks[0]
    if ranks != tuple(range(ranks[0], ranks[-1] + 1, apart)):
        return f"ranks {', '.join(map(str, ranks))}"
    return f"ranks {ranks[0]}-{ranks[-1]}" + f" by {apart}" * (apart > 1)
