"""process_group: only the ranks and their process group, for workloads that measure the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class ProcessGroupOptions:
    """No options."""


class Strategy:
    """A strategy without `wrap`: there is no model to distribute."""

    Options: ClassVar[type[ProcessGroupOptions]] = ProcessGroupOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: ProcessGroupOptions) -> None:
        self.options = options
