"""The works of one optimizer step on a rank: stretches of computation, and the messages in each.

A message says at which share of its stretch's computation it can begin, and at which share the computation waits for
its end; step_messages.py gives both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.predict.timeline import Computation, Group, Message, Work


@dataclass(frozen=True, kw_only=True)
class StretchMessage:
    """A message in a stretch of computation."""

    op: str
    message_bytes: float
    """As nccl-tests counts them."""
    group: Group
    ready: float
    """Share of the stretch's computation after which it can begin."""
    needed: float = 1.0
    """Share of the computation done when the rank starts to wait for it. Nothing hides a message whose `needed` is its
    `ready`."""
    follows: bool = False
    """Whether it also waits for the message before it in the stretch, of any group."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Computation of a phase or of a micro-batch in it."""

    name: str
    seconds: float
    messages: tuple[StretchMessage, ...] = ()
    """In the order of sending."""


def works(stretches: Sequence[Stretch], *, cores: float = 0.0) -> list[Work]:
    """The stretches one after the other, cut at the shares of their messages. `cores`: CPU cores that computation keeps
    busy."""
    found: list[Work] = []
    for stretch in stretches:
        cuts = sorted({0.0, 1.0, *(share for one in stretch.messages for share in (one.ready, one.needed))})

        def piece(share: float, name: str = stretch.name) -> str:
            """The computation that ends there."""
            return f"{name} to {share}"

        def message(number: int, name: str = stretch.name) -> str:
            return f"{name}: message {number}"

        sent = {message(number): one for number, one in enumerate(stretch.messages)}
        for begin, end in zip([0.0, *cuts], cuts, strict=False):
            found.append(
                Computation(
                    name=piece(end),
                    seconds=stretch.seconds * (end - begin),
                    cores=cores,
                    after=tuple(name for name, one in sent.items() if begin <= one.needed < end),
                )
            )
        found += (
            Message(
                name=name,
                op=one.op,
                message_bytes=one.message_bytes,
                group=one.group,
                after=(piece(one.ready), *([message(number - 1)] if one.follows else [])),
            )
            for number, (name, one) in enumerate(sent.items())
        )
        # a piece without computation: what follows waits for the last messages
        found.append(
            Computation(
                name=f"{stretch.name} done",
                seconds=0.0,
                after=tuple(name for name, one in sent.items() if one.needed >= 1.0),
            )
        )
    return found
