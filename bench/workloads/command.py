"""command: a user's training program, run unchanged; the probe (bench/probe) records its steps."""

from __future__ import annotations

from typing import ClassVar

from bench.command.options import CommandOptions


class Workload:
    """Not trained by bench: the ranks run the command."""

    Options: ClassVar[type[CommandOptions]] = CommandOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic",)
    measures_machine: ClassVar[bool] = False

    def __init__(self, options: CommandOptions, source: str, data_root: str | None, seed: int) -> None:  # noqa: ARG002
        self.options = options

    def prepare(self) -> None:
        """Nothing: the command reads its data itself."""
