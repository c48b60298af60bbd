"""What must fit together in a case that is right key by key."""

from __future__ import annotations

from collections.abc import Iterator

from bench import workloads
from bench.suite.check import Path
from bench.suite.impossible import impossible
from bench.suite.machine import machine_rules
from bench.suite.models import Case
from bench.suite.nearest import did_you_mean

Broken = Iterator[tuple[Path, str]]
"""The place in the case, and what is wrong there."""


def broken_rules(case: Case) -> Broken:
    """Every rule that the case breaks."""
    yield from machine_rules(case)
    if workloads.measures_machine(case.workload.name):
        yield from _span(case)
        yield from _repeats(case)
        yield from _source(case)
        return
    yield from _batch(case)
    yield from _find_batch(case)
    yield from _span(case)
    yield from _repeats(case)
    yield from _threads_axis(case)
    yield from _source(case)
    yield from _schedule(case)
    yield from _momentum(case)
    yield from impossible(case)
    yield from _compiled_loss(case)
    yield from _warmup(case)
    yield from _average(case)


def _batch(case: Case) -> Broken:
    if case.scaling == "strong" and (case.global_batch is None or case.batch_per_rank is not None):
        yield ("scaling",), "strong scaling fixes global_batch: give it, and no batch_per_rank"
    elif case.scaling == "weak" and (case.batch_per_rank is None or case.global_batch is not None):
        yield ("scaling",), "weak scaling fixes batch_per_rank: give it, and no global_batch"
    elif case.batch_per_rank is not None and case.global_batch is not None:
        yield ("scaling",), "give batch_per_rank or global_batch, one of them"
    elif case.batch_per_rank is None and case.global_batch is None and case.find_batch is None:
        yield ("scaling",), "give batch_per_rank or global_batch, one of them; or find_batch: true"


def _find_batch(case: Case) -> Broken:
    find = case.find_batch
    if find is None:
        return
    if case.train.accumulate != 1:
        yield (
            ("train", "accumulate"),
            f"train.accumulate is {case.train.accumulate}: find_batch finds it, leave it out",
        )
    if find.smallest > find.largest:
        sizes = f"find_batch.smallest is {find.smallest}, find_batch.largest {find.largest}"
        yield ("find_batch", "smallest"), f"{sizes}: it must not be larger"


def _span(case: Case) -> Broken:
    if (case.measure.steps is None) == (case.measure.epochs is None):
        yield ("measure",), "give measure.steps or measure.epochs, one of them"


def _repeats(case: Case) -> Broken:
    measure = case.measure
    if measure.until is None:
        if measure.max_repeats is not None:
            yield (
                ("measure", "max_repeats"),
                "measure.max_repeats bounds what measure.until adds: give until too",
            )
    elif measure.max_repeats is None:
        yield ("measure", "until"), "measure.until needs measure.max_repeats: how many repeats it may lead to"
    elif measure.repeats < 2:
        yield (
            ("measure", "repeats"),
            "measure.until needs repeats: 2 or more, since one repeat has no interval",
        )
    elif measure.max_repeats < measure.repeats:
        counts = f"measure.max_repeats is {measure.max_repeats}, measure.repeats {measure.repeats}"
        yield ("measure", "max_repeats"), f"{counts}: it must not be smaller"


def _threads_axis(case: Case) -> Broken:
    if case.threads is None or len(case.threads) == 1:
        return
    if len(case.world) > 1 or case.world == ("auto",):
        sizes = f"{len(case.threads)} thread counts over {len(case.world)} world sizes"
        yield (
            ("threads",),
            f"{sizes}: a case is scaled over one axis; give one world size, or one thread count",
        )
    if case.scaling == "weak":
        yield ("scaling",), "weak scaling fixes the batch of a rank, not of a thread: over threads use strong"


def _source(case: Case) -> Broken:
    known = workloads.load(case.workload.name).sources
    source = case.data.source
    if source not in known:
        near = did_you_mean(source, known)
        yield (
            ("data", "source"),
            f"data.source is {source!r}: {case.workload.name} reads {', '.join(known)}{near}",
        )


def _schedule(case: Case) -> Broken:
    train = case.train
    if train.total_steps is not None and train.warmup_steps > train.total_steps:
        counts = f"train.warmup_steps is {train.warmup_steps}, train.total_steps {train.total_steps}"
        yield ("train", "warmup_steps"), f"{counts}: the learning rate would never come down"


def _momentum(case: Case) -> Broken:
    train = case.train
    if train.momentum and train.optimizer != "sgd":
        yield (
            ("train", "momentum"),
            f"train.momentum is {train.momentum:g}: it is sgd's, and the optimizer is {train.optimizer}",
        )


def _compiled_loss(case: Case) -> Broken:
    if not case.train.compile_loss:
        return
    place = ("train", "compile_loss")
    if not case.train.compile:
        yield place, "train.compile_loss compiles the loss together with the model: give train.compile: true"
    if case.strategy.name != "single":
        yield (
            place,
            f"train.compile_loss under strategy {case.strategy.name}: backward would be one graph, whose gradients all "
            "come at its end, with nothing left to hide their communication behind; leave it out, or take single",
        )


def _warmup(case: Case) -> Broken:
    if case.measure.warmup:
        return
    if case.train.compile:
        yield (
            ("measure", "warmup"),
            "train.compile compiles in the first steps, which must not be measured: give measure.warmup: 3 or more",
        )
    if case.measure.garbage_collection != "automatic":
        policy = f"measure.garbage_collection: {case.measure.garbage_collection}"
        yield (
            ("measure", "warmup"),
            f"{policy} collects before the last warm-up step: give measure.warmup: 1 or more",
        )


def _average(case: Case) -> Broken:
    if case.train.ema_validation and case.train.ema_decay is None:
        yield (
            ("train", "ema_validation"),
            "train.ema_validation validates the averaged parameters: give train.ema_decay, as in 0.9999",
        )
