"""script: the ranks and nothing else, for a command that distributes its model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class ScriptOptions:
    """No options."""


class Strategy:
    """A strategy without `wrap`: the script distributes the model."""

    Options: ClassVar[type[ScriptOptions]] = ScriptOptions
    max_world_size: ClassVar[int | None] = None

    def __init__(self, options: ScriptOptions) -> None:
        self.options = options
