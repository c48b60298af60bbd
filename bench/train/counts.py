"""Examples and tokens that a workload counts in each batch, because batches differ in them."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from bench.records.run_outcome import work_of_ranks
from bench.records.vocabulary import LARGEST_COUNT
from bench.train import process_group

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec
    from bench.workloads import Batch, Workload


def own_methods(workload: Workload) -> list[str]:
    """Those of `examples_in` and `tokens_in` that the workload has, because its batches differ."""
    return [name for name in ("examples_in", "tokens_in") if workload.has_own(name)]


def count_of(found: Any) -> int | None:
    """The answer of a method, as an int; null if it is not a whole number from 1 to 10^9."""
    try:
        count = operator.index(found)
    except (TypeError, RuntimeError):  # a tensor of several numbers, or of fractions
        return None
    return None if isinstance(found, bool) or not 1 <= count <= LARGEST_COUNT else count


class Counts:
    """Numbers that the workload's methods have counted, batch by batch."""

    def __init__(self, workload: Workload) -> None:
        self._methods = {name: getattr(workload, name) for name in own_methods(workload)}
        self._counted = {name: array("q") for name in self._methods}
        self._tokens_per_example = workload.tokens_per_example

    def counted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches, each counted when it is asked for. Raises TypeError if a method returns no count."""
        return self._each(batches) if self._methods else batches

    def _each(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            for name, method in self._methods.items():
                count = count_of(found := method(batch))
                if count is None:
                    raise TypeError(f"{name}() returned {found!r}: return a whole number, 1 or more")
                self._counted[name].append(count)
            yield batch

    def outcome(self, spec: RunSpec, steps: int, device: torch.device) -> dict[str, Any]:
        """Means of the measured steps: `examples_per_step` over all ranks, null if the workload counts no examples,
        `tokens_per_example`, and `work_of_ranks`. Every rank must call it, in the process group."""
        measured = steps - spec.measure.warmup
        of_ranks = {name: self._of_ranks(name, spec, steps, device) for name in self._methods}
        # ranks that share a batch count it once
        totals = {name: sum(counts) / spec.ranks_per_batch for name, counts in of_ranks.items()}
        per_step = totals["examples_in"] / measured if "examples_in" in totals else None
        tokens: float | None = self._tokens_per_example
        if "tokens_in" in totals:
            tokens = totals["tokens_in"] / measured / (per_step or spec.global_batch)
        return {
            "examples_per_step": per_step,
            "tokens_per_example": tokens,
            "work_of_ranks": work_of_ranks(
                tokens=[count / measured for count in of_ranks.get("tokens_in", [])],
                examples=[count / measured for count in of_ranks.get("examples_in", [])],
            ),
        }

    def _of_ranks(self, name: str, spec: RunSpec, steps: int, device: torch.device) -> list[int]:
        """The sum of each rank over the measured steps."""
        first, end = spec.measure.warmup * spec.train.accumulate, steps * spec.train.accumulate
        return process_group.gathered(sum(self._counted[name][first:end]), device)
