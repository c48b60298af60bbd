"""process_group: the ranks and their process group alone, for workloads that measure the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class ProcessGroupOptions:
    """No options."""


class Strategy:
    """No model is laid over the ranks: it has no `wrap`."""

    Options: ClassVar[type[ProcessGroupOptions]] = ProcessGroupOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: ProcessGroupOptions) -> None:
        self.options = options
