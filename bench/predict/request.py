"""The command's work: a suite and what is known of a machine become predictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache

from bench.predict.ask import ask, key
from bench.predict.place import memory_at_hand, placed
from bench.predict.prediction import Machine, Prediction, predict, sharded
from bench.records.run_spec import PlannedRun, RunSpec, Slots
from bench.suite.models import ResolvedSuite


def predictions(
    suite: ResolvedSuite, here: Slots, machine: Machine, data_root: str | None
) -> list[Prediction]:
    """Of every case and size. Raises InputError where the suite cannot be planned."""
    runs = [_with_a_batch(run) for run in placed(suite, here, data_root)]
    hosted = [run.spec for run in runs if run.skip_reason is None]
    answers = ask(hosted, counts_flops=any(machine.flops_per_s(spec) for spec in hosted)) if hosted else {}
    found = [predict(run, answers, machine) for run in runs]
    return _with_a_remedy(found, machine)


def _with_a_batch(run: PlannedRun) -> PlannedRun:
    if run.spec.batch_per_rank or run.skip_reason is not None:
        return run
    if not run.pending:
        return dataclasses.replace(run, skip_reason="it trains nothing: there is no step to predict")
    name = run.spec.case_name.partition("~")[0]
    return dataclasses.replace(
        run,
        skip_reason="its batch is what find_batch will find: give one to look at, as in "
        f"--set cases.{name}.batch_per_rank=32",
    )


def _with_a_remedy(found: list[Prediction], machine: Machine) -> list[Prediction]:
    """Those that do not fit, with what fsdp would take."""
    large = {index: sharded(one.spec) for index, one in enumerate(found) if _may_shard(one)}
    if not large:
        return found
    answers = ask(large.values(), counts_flops=False)
    for index, spec in large.items():
        if answers[key(spec)].size is not None:
            memory = predict(PlannedRun(spec=spec), answers, machine).memory
            found[index] = dataclasses.replace(found[index], sharded_bytes=memory.total if memory else None)
    return found


def _may_shard(one: Prediction) -> bool:
    return one.fits is False and one.spec.strategy == "ddp" and one.spec.world_size > 1


def memory_of(given_bytes: int | None) -> Callable[[RunSpec], int | None]:
    """What a rank has: as given, else what this machine has for it."""
    if given_bytes is not None:
        return lambda _: given_bytes
    at_hand = cache(memory_at_hand)
    return lambda spec: at_hand(spec.device_type, spec.ranks_per_node)
