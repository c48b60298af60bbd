"""Rules for keys that must fit together: in the suite's terms, in torch's, and for options named like secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bench import strategies, workloads
from bench.common.custom_function import LOADER, OPTIMIZER, SCHEDULE, CustomFunction
from bench.common.custom_part import label
from bench.common.nearest import did_you_mean
from bench.suite.check import Path
from bench.suite.machine_rules import machine_rules
from bench.suite.script_rules import script_rules

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
    if workloads.runs_a_script(case.workload.name):
        yield from script_rules(case)
        yield from _repeats(case)
        yield from _threads_axis(case)
        return
    if case.scaling == "counted":
        yield ("scaling",), "counted is for scripts, whose batch is not known: use strong, weak or none"
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
    if _searches_a_pipeline(case):
        return  # _find_batch says what it needs
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
    if _searches_a_pipeline(case):
        if case.scaling != "none" or case.global_batch is not None or case.batch_per_rank is not None:
            yield (
                ("find_batch",),
                "find_batch cannot divide a batch for a pipeline, whose memory depends on the number of "
                "micro-batches: leave out the batch, and set train.accumulate and scaling: none",
            )
    elif case.train.accumulate != 1:
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


def _searches_a_pipeline(case: Case) -> bool:
    """Whether find_batch searches for a case whose layers are divided into stages."""
    asked = strategies.asks_of_workload(case.strategy.name, case.strategy.options)
    return case.find_batch is not None and "stages" in asked


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
    if not strategies.scales_messages(case.strategy.name):
        able = " or ".join(name for name in strategies.names() if strategies.scales_messages(name))
        yield (
            ("measure", "wire"),
            f"measure.wire needs a strategy whose messages can be longer or shorter, and "
            f"{label(case.strategy.name)} has none that can: use {able}, or leave it out",
        )
    if workloads.makes_steps(workloads.load(case.workload.name)):
        yield (
            ("measure", "wire"),
            f"measure.wire is for models that are trained as one, and {label(case.workload.name)} makes its own steps: "
            "leave it out",
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
    source, kind = case.data.source, workloads.load(case.workload.name)
    if not workloads.is_stream(case.workload.name, source):
        yield from _examples(case)
    elif workloads.measures_machine(case.workload.name) or not (":" in source or source in LOADER.names()):
        known = (*kind.sources, *LOADER.names())
        reads = f"{label(case.workload.name)} reads {', '.join(known)}{did_you_mean(source, known)}"
        own = "; your own loader is a function of a file, as in ./my_data.py:loader"
        yield ("data", "source"), f"data.source is {source!r}: {reads}{own}"
    else:
        yield from _stream(case)


def _examples(case: Case) -> Broken:
    """A workload's own examples."""
    if case.data.source_options:
        yield (
            ("data", "source_options"),
            f"data.source_options are for your own loader, and data.source is {case.data.source}: leave them out",
        )
    if not hasattr(workloads.load(case.workload.name), "batch") and not workloads.measures_machine(
        case.workload.name
    ):
        yield (
            ("workload",),
            f"class {label(case.workload.name)} lacks batch(places, keys): write it, or name a loader of a stream as "
            "in data: ./my_data.py:loader",
        )


def _stream(case: Case) -> Broken:
    if reason := LOADER.problem(case.data.source):
        yield ("data", "source"), f"data.source: {reason}"
    for key in case.data.source_options:
        if key == "shard" or not key.isidentifier():
            yield (
                ("data", "source_options", key),
                f"data.source_options.{key} cannot be an argument of the loader: rename it",
            )
    if case.measure.epochs is not None:
        yield (
            ("measure", "epochs"),
            "measure.epochs: the length of a stream is not known: give measure.steps instead",
        )
    for key in ("pin_memory", "persistent_workers", "prefetch"):
        if getattr(case.data, key) != getattr(type(case.data), key):
            yield (
                ("data", key),
                f"data.{key}: your own loader sets it itself, so leave it out",
            )


def _training(case: Case) -> Broken:
    train = case.train
    if train.total_steps is not None and train.warmup_steps > train.total_steps:
        counts = f"train.warmup_steps is {train.warmup_steps}, train.total_steps {train.total_steps}"
        yield ("train", "warmup_steps"), f"{counts}: the learning rate would never come down"
    if workloads.makes_steps(workloads.load(case.workload.name)):
        yield from _custom_step(case)
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


def _custom_step(case: Case) -> Broken:
    """Keys that divide or compile a step, which a workload that makes its own steps does itself."""
    train, name = case.train, label(case.workload.name)
    for key in ("accumulate", "micro_batch", "compile_loss"):
        if getattr(train, key) != getattr(type(train), key):
            yield (
                ("train", key),
                f"train.{key}: {name} makes its own steps (its method step), so leave it out",
            )
    if case.strategy.name == "ddp" and case.strategy.options["static_graph"]:
        yield (
            ("strategy", "static_graph"),
            f"static_graph promises that all backward passes are alike, and {name} makes its own steps: leave it out",
        )
    if case.find_batch is not None and (case.global_batch or case.batch_per_rank):
        batch = f"{name} makes its own steps, so the batch cannot be accumulated"
        yield ("find_batch",), f"find_batch: {batch}: leave out find_batch, or the batch"


def _optimizer(train: TrainSpec) -> Broken:
    if not _is_known(train.optimizer, OPTIMIZER):
        yield ("train", "optimizer"), _unknown_part("optimizer", train.optimizer, OPTIMIZER, "RMSprop")
    if reason := OPTIMIZER.problem(train.optimizer):
        yield ("train", "optimizer"), f"train.optimizer: {reason}"
    if train.momentum and train.optimizer != "sgd":
        other = (
            ""
            if train.optimizer in OPTIMIZER.ours
            else "; for others it is an item of train.optimizer_options"
        )
        yield (
            ("train", "momentum"),
            f"train.momentum is {train.momentum:g}: only sgd has it, and the optimizer is {train.optimizer}{other}",
        )
    if OPTIMIZER.is_custom(train.optimizer):
        for key in ("weight_decay", "fused_optimizer"):
            if getattr(train, key):
                yield (
                    ("train", key),
                    f"train.{key} is not for your own optimizer: give it as an item of train.optimizer_options",
                )
        return
    for key, instead in _KEYS_OF_ARGUMENTS.items():
        if key in train.optimizer_options and (key != "momentum" or train.optimizer == "sgd"):
            yield (
                ("train", "optimizer_options", key),
                f"train.optimizer_options.{key} has a key of its own: give train.{instead}",
            )


def _schedule(train: TrainSpec) -> Broken:
    name = train.lr_schedule
    if not _is_known(name, SCHEDULE):
        yield ("train", "lr_schedule"), _unknown_part("lr_schedule", name, SCHEDULE, "OneCycleLR")
    elif name == "ReduceLROnPlateau":
        yield (
            ("train", "lr_schedule"),
            "train.lr_schedule is ReduceLROnPlateau: it follows a result of validation, which a step does not have: "
            "use constant, which is the same until its patience is over",
        )
    elif reason := SCHEDULE.problem(name):
        yield ("train", "lr_schedule"), f"train.lr_schedule: {reason}"
    elif name in SCHEDULE.ours and train.lr_schedule_options:
        yield (
            ("train", "lr_schedule_options"),
            f"train.lr_schedule_options are for torch's schedules and your own, and train.lr_schedule is {name}: it "
            "has warmup_steps and total_steps",
        )
    elif name not in SCHEDULE.ours:
        for key in ("warmup_steps", "total_steps"):
            if getattr(train, key):
                yield (
                    ("train", key),
                    f"train.{key} is not for lr_schedule {name}: give its arguments in train.lr_schedule_options",
                )


def _is_known(name: str, kind: CustomFunction) -> bool:
    """Whether it is one of ours, the name of a class of torch, `FILE.py:FUNCTION`, or an installed package's. Whether
    torch has the class is checked where torch is loaded."""
    # the last asks every installed package
    return not kind.is_custom(name) or ":" in name or name in kind.names()


def _unknown_part(key: str, name: str, kind: CustomFunction, example: str) -> str:
    known = (*kind.ours, *kind.names())
    return (
        f"train.{key} is {name!r}: it must be one of {', '.join(known)}, a class of torch as in {example}, or your own "
        f"function as in ./my_file.py:make{did_you_mean(name, known)}"
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
    asked_of_workload = strategies.asks_of_workload(case.strategy.name, case.strategy.options)
    if case.train.float8 and case.train.precision != "bf16":
        yield (
            ("train", "float8"),
            f"float8 takes the place of products in bf16, but train.precision is {case.train.precision}: use bf16",
        )
    if case.train.float8 and "tp_plan" in asked_of_workload:
        yield (
            ("train", "float8"),
            "float8 scales whole tensors, and tp gives each rank a part of them: leave one of both out",
        )
    for method in asked_of_workload:
        if not hasattr(workloads.load(case.workload.name), method):
            yield (
                ("strategy", "name"),
                f"strategy {label(case.strategy.name)} divides a model as its workload says, and "
                f"{label(case.workload.name)} has no method {method}: use another strategy, or add the method",
            )
    is_fused_in_fp16 = case.train.precision == "fp16" and case.train.fused_optimizer
    if is_fused_in_fp16 and getattr(strategies.load(case.strategy.name), "sharded_scaler", False):
        yield (
            ("train", "fused_optimizer"),
            f"torch's loss scaler for {case.strategy.name} cannot tell a fused optimizer about overflows on other "
            "ranks: use train.precision bf16, or leave out fused_optimizer",
        )
    if case.strategy.name != "fsdp" or not getattr(workloads.load(case.workload.name), "batch_norm", False):
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
        (("data", "source_options"), case.data.source_options),
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
