"""The findings of a shadow rank: messages and memory of one step. Without torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ShadowMessage:
    """One message of a rank in a step."""

    op: str
    """As in the table `profile_collectives`: `all_reduce`, `all_gather`, ...; also `send` and `recv`."""
    group: str
    """The dimension of the mesh, such as `tp`. Without such a name, `world` if the group has all ranks, else which
    ones, as in `ranks 0-6 by 2`."""
    group_size: int
    group_nodes: int
    """Nodes that the group's ranks are on."""
    phase: str
    """`data`, `forward`, `backward` or `optimizer`."""
    micro_batch: int
    """0-based; that of the last one in the phase optimizer."""
    message_bytes: int
    """The larger of the rank's input and output, as nccl-tests counts."""
    computed_before: float
    """Share of the computation of its phase and micro-batch that came before it, 0 to 1: by FLOPs, or by the bytes
    of messages if the model has no FLOPs."""
    waits: bool
    """Whether the rank waits for its end at once; else it computes on."""


@dataclass(frozen=True, kw_only=True)
class MessageSum:
    """The messages of a step that differ only in size or micro-batch."""

    phase: str
    group: str
    group_size: int
    group_nodes: int
    op: str
    messages: int
    message_bytes: int
    """Bytes of all of them."""


@dataclass(frozen=True, kw_only=True)
class PeakMemory:
    """Bytes that torch has allocated for tensors at the peak of a step, by kind."""

    parameters: int
    """This rank's part."""
    buffers: int
    gradients: int
    optimizer: int
    """The optimizer's state, and the average of the parameters."""
    kept: int = 0
    """Tensors that a command keeps between steps: a data set, a copy of the model."""
    activations: int
    """All else: results that backward needs, the batch, temporary tensors."""
    communication: int
    """Gathered parameters, and what process groups read and write."""

    @property
    def total(self) -> int:
        return sum(dataclasses.asdict(self).values())


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """A shadow rank's step, after the first ones, in which torch learns the order of gradients."""

    parameters: int
    """Elements of the model's parameters on this rank."""
    model_parameters: int | None
    """Those of the whole model; null for a command."""
    flops_per_example: float | None = None
    """FLOPs of forward and backward of the whole model; null if they were not asked for, or cannot be counted."""
    flops_problem: str | None = None
    """Why they cannot be counted."""
    messages: tuple[ShadowMessage, ...]
    """In the order in which the rank started them."""
    memory: PeakMemory
    notes: tuple[str, ...]
    """Assumptions of the shadow."""

    @property
    def sent(self) -> list[ShadowMessage]:
        """The messages that need a network: a group of one rank needs none."""
        return [one for one in self.messages if one.group_size > 1]

    def sums(self) -> tuple[MessageSum, ...]:
        """Those messages by phase, group and operation, in the order of their first one."""
        found: dict[tuple[Any, ...], list[ShadowMessage]] = {}
        for one in self.sent:
            found.setdefault((one.phase, one.group, one.group_size, one.group_nodes, one.op), []).append(one)
        return tuple(
            MessageSum(
                phase=phase,
                group=group,
                group_size=size,
                group_nodes=nodes,
                op=op,
                messages=len(alike),
                message_bytes=sum(one.message_bytes for one in alike),
            )
            for (phase, group, size, nodes, op), alike in found.items()
        )

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Shadow:
        return cls(
            **{
                **value,
                "messages": tuple(ShadowMessage(**one) for one in value["messages"]),
                "memory": PeakMemory(**value["memory"]),
                "notes": tuple(value["notes"]),
            }
        )


def total_bytes(messages: Iterable[ShadowMessage | MessageSum]) -> int:
    """Bytes of all these messages."""
    return sum(one.message_bytes for one in messages)
