"""bench suite: Run a suite; the same command as `bench run`."""

from __future__ import annotations

from bench.cli.run import command

__all__ = ["command"]
