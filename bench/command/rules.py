"""Rules of cases that run a user's command: no key that only our own training uses.

A key without effect is refused: its value would be believed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from bench.command.options import OF_THE_BATCH, placeholders
from bench.records.vocabulary import COMMAND
from bench.suite.check import Path
from bench.suite.models import Case

_USED = {
    "data": set[str](),
    "train": {"seed"},
    "measure": {
        *("warmup", "steps", "repeats", "until", "until_efficiency", "max_repeats", "timeout_s", "profiled"),
        "selfcheck",
    },
}
"""Keys of each section that have an effect."""


def command_rules(case: Case) -> Iterator[tuple[Path, str]]:
    """Every rule that the case breaks."""
    options = case.workload.options
    if case.strategy.name != COMMAND:
        yield (
            ("strategy", "name"),
            f"strategy is {case.strategy.name}, and the command distributes its model itself: leave it out",
        )
    if case.find_batch is not None:
        yield ("find_batch",), "find_batch: only the command knows its batch: leave it out"
    if case.batch_per_rank is not None and case.global_batch is not None:
        yield ("scaling",), "give batch_per_rank or global_batch, one of them"
    wanted = sorted(placeholders(options) & set(OF_THE_BATCH))
    if wanted and case.batch_per_rank is None and case.global_batch is None:
        yield (
            ("workload", "command"),
            f"the command has {{{wanted[0]}}}: give the case batch_per_rank or global_batch",
        )
    for key, batch in (("batch_per_rank", case.batch_per_rank), ("global_batch", case.global_batch)):
        if batch is not None and not wanted:
            yield (
                (key,),
                f"{key} has no effect on a command without {{{key}}}: write it where the command takes its batch",
            )
    if options["pauses"] == "leave-out" and (case.measure.until or case.measure.until_efficiency):
        yield (
            ("measure", "until"),
            "until cannot tell unexplained pauses: leave it out, or leave out workload.pauses",
        )
    if case.measure.steps is None:
        yield ("measure",), "a command needs measure.steps: the measured steps after which it is ended"
    if case.measure.warmup < 1:
        yield (
            ("measure", "warmup"),
            "the probe learns how the command trains in its first steps: give measure.warmup: 1",
        )
    if options["cwd"] is not None and not FilePath(options["cwd"]).is_dir():
        yield ("workload", "cwd"), f"cwd is {options['cwd']}, and there is no such folder"
    for section, key in case.set_keys():
        if key not in _USED[section]:
            yield (
                (section, key),
                f"{section}.{key} has no effect on a command: leave it out, and let the command do it",
            )
