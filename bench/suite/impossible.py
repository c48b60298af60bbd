"""Combinations that torch cannot do: it would raise in every run, or quietly do something else than the row says.

Each was tried; docs/methodology.md has the table. What only concerns a strategy's own options stands with the
strategy (`conflicts` in its file); what needs the world size is asked when the plan is made (`misfit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bench import strategies, workloads

if TYPE_CHECKING:
    from bench.suite.check import Path
    from bench.suite.models import Case

Impossible = Iterator[tuple["Path", str]]
"""The place in the case, and why torch cannot do it, with the remedy."""


def impossible(case: Case) -> Impossible:
    """Every combination in the case that torch cannot do; pure data, no torch."""
    yield from _of_the_strategy(case)
    yield from _batch_norm_in_half(case)


def _of_the_strategy(case: Case) -> Impossible:
    asked = strategies.Asked(train=case.train, measure=case.measure)
    for key, why in strategies.conflicts(case.strategy.name, case.strategy.options, asked):
        yield ("strategy", key), why


def _batch_norm_in_half(case: Case) -> Impossible:
    if case.strategy.name != "fsdp" or not getattr(workloads.load(case.workload.name), "batch_norm", False):
        return
    gathered = case.strategy.options["param_dtype"] or case.train.precision
    if gathered in ("bf16", "fp16"):
        yield (
            ("strategy", "param_dtype"),
            f"fsdp gathers parameters in {gathered}, and BatchNorm, which {case.workload.name} has, takes none beside "
            "its running statistics in fp32: say strategy: {name: fsdp, param_dtype: fp32}, or take ddp or fsdp1",
        )
