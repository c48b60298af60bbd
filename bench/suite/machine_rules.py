"""Rules of cases whose workload measures the machine: no key that only training uses.

A key without effect is refused: its value would be believed.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import strategies, workloads
from bench.suite.check import Path
from bench.suite.models import Case

_USED = {
    "data": {"source"},
    "train": {"precision", "seed"},
    "measure": {"warmup", "steps", "repeats", "timeout_s"},
}
"""Keys of each section that have an effect."""
_OF_TRAINING = ("batch_per_rank", "global_batch", "find_batch", "baseline")


def machine_rules(case: Case) -> Iterator[tuple[Path, str]]:
    """Every rule that the case breaks. Workloads that measure the machine need `process_group`, and only they do."""
    workload, strategy = case.workload.name, case.strategy.name
    if not workloads.measures_machine(workload):
        if not strategies.load(strategy).trains:
            yield (
                ("strategy", "name"),
                f"{strategy} does not distribute a model, but {workload} is trained: use single, ddp or fsdp",
            )
        return
    if strategy != "process_group":
        yield (
            ("strategy", "name"),
            f"strategy is {strategy}, and {workload} has no model to distribute: use process_group",
        )
    if case.scaling != "none":
        yield (
            ("scaling",),
            f"scaling is {case.scaling}, and {workload} has no batch: use none",
        )
    yield from _without_effect(case)
    yield from _precision(case)


def _without_effect(case: Case) -> Iterator[tuple[Path, str]]:
    for key in _OF_TRAINING:
        if getattr(case, key) is not None:
            yield (key,), _useless(case, key)
    for section, key in case.set_keys():
        if key not in _USED[section]:
            yield (section, key), _useless(case, f"{section}.{key}")


def _useless(case: Case, key: str) -> str:
    return f"{case.workload.name} measures the machine and trains nothing: {key} has no effect, leave it out"


def _precision(case: Case) -> Iterator[tuple[Path, str]]:
    known = workloads.load_machine(case.workload.name).precisions
    if case.train.precision not in known:
        yield (
            ("train", "precision"),
            f"train.precision is {case.train.precision}: {case.workload.name} takes {', '.join(known)}",
        )
