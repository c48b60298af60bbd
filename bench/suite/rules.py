"""Rules for keys that must fit together: in the suite's terms, in torch's, and for options named like secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bench import strategies, workloads
from bench.command.rules import command_rules
from bench.common.custom_file import label
from bench.common.nearest import did_you_mean
from bench.suite.check import Path
from bench.suite.machine_rules import machine_rules

if TYPE_CHECKING:
    from bench.records.run_spec import TrainSpec
    from bench.suite.models import Case


_KEYS_OF_ARGUMENTS = {
    "lr": "learning_rate",
    "weight_decay": "weight_decay",
    "fused": "fused_optimizer",
    "momentum": "momentum",
}
"""Keys of `train` by the name of torch's argument."""
Broken = Iterator[tuple[Path, str]]
"""The place in the case, and the problem there."""


def broken_rules(case: Case) -> Broken:
    """Every rule that the case breaks."""
    if workloads.runs_a_command(case.workload.name):
        yield from command_rules(case)
        yield from _repeats(case)
        yield from _threads_axis(case)
        return
    if case.scaling == "counted":
        yield ("scaling",), "counted is for commands, whose batch is not known: use strong, weak or none"
    yield from machine_rules(case)
    if workloads.measures_machine(case.workload.name):
        yield from _span(case)
        yield from _repeats(case)
        yield from _source(case)
        return
    yield from _batch(case)
    yield from _find_batch(case)
    yield from _span(case)
    yield from _until_loss(case)
    yield from _wire(case)
    yield from _repeats(case)
    yield from _threads_axis(case)
    yield from _source(case)
    yield from _training(case)
    yield from _warmup(case)
    yield from _impossible_in_torch(case)


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
    if case.train.micro_batch is not None:
        yield (
            ("train", "micro_batch"),
            f"train.micro_batch is {case.train.micro_batch}: find_batch finds it, leave it out",
        )
    if find.smallest > find.largest:
        sizes = f"find_batch.smallest is {find.smallest}, find_batch.largest {find.largest}"
        yield ("find_batch", "smallest"), f"{sizes}: it must not be larger"


def _span(case: Case) -> Broken:
    if (case.measure.steps is None) == (case.measure.epochs is None):
        yield ("measure",), "give measure.steps or measure.epochs, one of them"


def _until_loss(case: Case) -> Broken:
    measure = case.measure
    if measure.until_loss is not None and measure.validate_every == 0:
        yield (
            ("measure", "until_loss"),
            "measure.until_loss is reached at a validation: give measure.validate_every, the steps between two",
        )


def _wire(case: Case) -> Broken:
    factors = case.measure.wire
    if not factors:
        return
    if len(set(factors)) < len(factors):
        yield ("measure", "wire"), "measure.wire names a factor twice: name each once"
    if not strategies.load(case.strategy.name).has_own("scale_messages"):
        able = " or ".join(
            name for name in strategies.names() if strategies.load(name).has_own("scale_messages")
        )
        yield (
            ("measure", "wire"),
            f"measure.wire needs a strategy whose messages can be longer or shorter, and "
            f"{label(case.strategy.name)} has none that can: use {able}, or leave it out",
        )


def _repeats(case: Case) -> Broken:
    measure = case.measure
    asked = [key for key in ("until", "until_efficiency") if getattr(measure, key) is not None]
    if measure.max_repeats is None:
        for key in asked:
            yield (
                ("measure", key),
                f"measure.{key} needs measure.max_repeats: how many repeats it may lead to",
            )
    elif not asked:
        yield (
            ("measure", "max_repeats"),
            "measure.max_repeats bounds what measure.until and until_efficiency add: give one of them too",
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
    source, sources = case.data.source, workloads.load(case.workload.name).sources
    if source not in sources:
        reads = f"{label(case.workload.name)} reads {', '.join(sources)}{did_you_mean(source, sources)}"
        yield ("data", "source"), f"data.source is {source!r}: {reads}"


def _training(case: Case) -> Broken:
    train = case.train
    if train.total_steps is not None and train.warmup_steps > train.total_steps:
        counts = f"train.warmup_steps is {train.warmup_steps}, train.total_steps {train.total_steps}"
        yield ("train", "warmup_steps"), f"{counts}: the learning rate would never come down"
    yield from _optimizer(train)
    yield from _schedule(train)
    if train.micro_batch is not None and train.accumulate != 1:
        yield (
            ("train", "micro_batch"),
            f"train.micro_batch is {train.micro_batch}, train.accumulate {train.accumulate}: each determines the "
            "other; give one of them",
        )
    if train.compile_loss and not train.compile:
        yield (
            ("train", "compile_loss"),
            "train.compile_loss compiles the loss together with the model: give train.compile: true",
        )
    if train.compile_loss and case.strategy.name != "single":
        yield (
            ("train", "compile_loss"),
            f"train.compile_loss under strategy {label(case.strategy.name)}: backward would be one graph, whose "
            "gradients all come at its end, with nothing left to hide their communication behind; leave it out, or use "
            "single",
        )
    if train.ema_validation and train.ema_decay is None:
        yield (
            ("train", "ema_validation"),
            "train.ema_validation validates the averaged parameters: give train.ema_decay, as in 0.9999",
        )


def _optimizer(train: TrainSpec) -> Broken:
    if train.momentum and train.optimizer != "sgd":
        yield (
            ("train", "momentum"),
            f"train.momentum is {train.momentum:g}: only sgd has it, and the optimizer is {train.optimizer}",
        )
    for key, instead in _KEYS_OF_ARGUMENTS.items():
        if key in train.optimizer_options:
            yield (
                ("train", "optimizer_options", key),
                f"train.optimizer_options.{key} has a key of its own: give train.{instead}",
            )


def _schedule(train: TrainSpec) -> Broken:
    if train.lr_schedule != "MultiStepLR":
        if train.lr_schedule_options:
            yield (
                ("train", "lr_schedule_options"),
                f"train.lr_schedule_options are for MultiStepLR, and train.lr_schedule is {train.lr_schedule}: it "
                "has warmup_steps and total_steps",
            )
        return
    for key in ("warmup_steps", "total_steps"):
        if getattr(train, key):
            yield (
                ("train", key),
                f"train.{key} is not for lr_schedule MultiStepLR: give its arguments in train.lr_schedule_options",
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


def _impossible_in_torch(case: Case) -> Broken:
    """Combinations that torch cannot do: every run would raise, or silently do something else than its row says.

    Each was tried; docs/suites.md has the table. Conflicts of a strategy's own options are in the strategy's file
    (`conflicts`); those that depend on the world size are checked when the plan is made (`misfit`)."""
    asked = strategies.Asked(train=case.train, measure=case.measure)
    for key, reason in strategies.conflicts(case.strategy.name, case.strategy.options, asked):
        yield ("strategy", key), reason
    needs_tp_plan = strategies.needs_tp_plan(case.strategy.name, case.strategy.options)
    if case.train.float8 and case.train.precision != "bf16":
        yield (
            ("train", "float8"),
            f"float8 takes the place of products in bf16, but train.precision is {case.train.precision}: use bf16",
        )
    if case.train.float8 and needs_tp_plan:
        yield (
            ("train", "float8"),
            "float8 scales whole tensors, and tp gives each rank a part of them: leave one of both out",
        )
    if needs_tp_plan and not workloads.load(case.workload.name).has_own("tp_plan"):
        yield (
            ("strategy", "name"),
            f"strategy {label(case.strategy.name)} divides a model as its workload says, and "
            f"{label(case.workload.name)} has no method tp_plan: use another strategy, or add the method",
        )
    is_fused_in_fp16 = case.train.precision == "fp16" and case.train.fused_optimizer
    if is_fused_in_fp16 and strategies.load(case.strategy.name).sharded_scaler:
        yield (
            ("train", "fused_optimizer"),
            f"torch's loss scaler for {case.strategy.name} cannot tell a fused optimizer about overflows on other "
            "ranks: use train.precision bf16, or leave out fused_optimizer",
        )
    if case.strategy.name != "fsdp" or not workloads.load(case.workload.name).batch_norm:
        return
    gathered = case.strategy.options["param_dtype"] or case.train.precision
    if gathered in ("bf16", "fp16"):
        yield (
            ("strategy", "param_dtype"),
            f"fsdp gathers parameters in {gathered}, and BatchNorm, which {case.workload.name} has, accepts none "
            "with running statistics in fp32: use strategy: {name: fsdp, param_dtype: fp32}, or ddp or fsdp1",
        )


_SECRET = re.compile(
    r"secret|passw(or)?d|passphrase|pwd$|credential|api_?key|access_?key|private_?key|(^|_)(token|key|auth)s?$"
)
_HARMLESS = re.compile(
    r"(^|_)((bos|cls|eos|mask|pad|sep|special|unk)_token|(cache|dict|foreign|group|input|map|output|primary|sort|state|target)_key)s?$"
)
"""Names from text processing and from tables."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def secrets(case: Case) -> Iterator[tuple[tuple[str, ...], str]]:
    """Options that are named like secrets: a suite is stored whole and printed in reports. Each with its remedy."""
    sections: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
        (("workload",), case.workload.options),
        (("strategy",), case.strategy.options),
        (("train", "optimizer_options"), case.train.optimizer_options),
        (("train", "lr_schedule_options"), case.train.lr_schedule_options),
    )
    for section, options in sections:
        for path in named(options, section):
            yield (
                path,
                f"{'.'.join(path)} is named like a secret, and suites are stored with the results: leave it out and "
                "let the program read it from its environment; if it is not a secret, rename it",
            )


def named(options: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of texts, and lists of texts, that are named like secrets; a number, as in token_dropout, is none."""
    for key, item in options.items():
        for part in item if isinstance(item, list) else [item]:
            if isinstance(part, Mapping):
                yield from named(part, (*path, str(key)))
            elif isinstance(part, str) and part and is_secret(str(key)):
                yield (*path, str(key))
                break


def is_secret(name: str) -> bool:
    """Whether an option's name says that its value is a secret."""
    words = _HUMP.sub("_", name).lower()
    return bool(_SECRET.search(words)) and not _HARMLESS.search(words)
