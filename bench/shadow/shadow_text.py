"""Shadows as text, in 80 columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from bench.common.byte_sizes import size_text, three_digits
from bench.common.terminal import aligned
from bench.shadow.records import Shadow


def lines(title: str, shadows: Sequence[Shadow]) -> list[str]:
    """The messages and the memory of one run; with a pipeline one shadow for each stage."""
    found = [title]
    for one in shadows:
        found += ["", *_one(one)]
    for note in dict.fromkeys(note for one in shadows for note in one.notes):
        found.append(f"assumed: {note}")
    seconds, ram_bytes = max(one.seconds for one in shadows), max(one.ram_bytes for one in shadows)
    each = "each took at most" if len(shadows) > 1 else "took"
    return [*found, f"{each} {three_digits(seconds)} s and {size_text(ram_bytes)} of RAM"]


def _one(shadow: Shadow) -> list[str]:
    stages = "" if shadow.stages is None else f", stage {' and '.join(map(str, shadow.stages))}"
    head = f"rank {shadow.rank}{stages}: {shadow.parameters:,} parameters"
    sums = shadow.sums()
    rows = [
        [
            one.phase,
            one.group,
            one.op,
            f"{one.group_size:,}",
            f"{one.group_nodes:,}",
            f"{one.messages:,}",
            size_text(one.message_bytes),
        ]
        for one in sums
    ]
    table = aligned([["phase", "group", "operation", "ranks", "nodes", "messages", "bytes"], *rows], left=3)
    memory = [f"{kind} {size_text(size)}" for kind, size in dataclasses.asdict(shadow.memory).items() if size]
    return [
        head,
        *(table if sums else ["it sends nothing"]),
        f"peak memory {size_text(shadow.memory.total)}:",
        *(f"  {', '.join(memory[first : first + 3])}" for first in range(0, len(memory), 3)),
    ]
