"""A job's output with the lines that training programs print at their end: one training per file.

Total training time: 362.45 seconds        needed, once; also min, h, or 0:06:02
Time per epoch: 7.25 seconds
Best validation loss: 0.1187               of several the lowest
Best validation accuracy: 0.953            of several the highest; also 95.3 %
World size: 4 | WORLD_SIZE=4 | SLURM_NTASKS=4 | Number of tasks: 4 | GPUs: 4 | Total GPUs: 4
SLURM_NNODES=2 | SLURM_JOB_NUM_NODES=2 | Number of nodes: 2 | Nodes: 2
Job ID: 123456 | SLURM_JOB_ID=123456
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bench.importing import values
from bench.importing.found import Measurement, Problems
from bench.importing.repeats import numbered
from bench.importing.text import Source
from bench.importing.values import BadValueError, Duration, EpochRange

T = TypeVar("T")

_TIME_SAID = r"\s*[:=]\s*(?P<value>[^\s(;]+(?:\s?[A-Za-z]+)?)"
_NUMBER_SAID = r"\s*[:=]\s*(?P<value>[^\s(;]+(?:\s?%)?)"
_COUNT = r"\s*[:=]\s*(?P<value>\d+)\s*$"


def _pattern(names: str, value: str, before: str = r"(?:^|[\s\]|:>])") -> re.Pattern[str]:
    """Whatever a launcher or a logger puts before the words, as `0: ` or `[rank0] INFO`, is passed over."""
    return re.compile(rf"{before}(?:{names}){value}", re.IGNORECASE | re.ASCII)


_BEGIN = r"(?:^|[\]|:>])\s*"
"""Of short names: `Number of GPUs` is another thing than `GPUs`."""


_TIME = _pattern("total training time", _TIME_SAID)
_EPOCH = _pattern("time per epoch", _TIME_SAID)
_LOSS = _pattern("best validation loss", _NUMBER_SAID)
_ACCURACY = _pattern("best validation accuracy", _NUMBER_SAID)
_WORLD = _pattern("world[ _]size|SLURM_NTASKS|number of tasks|(?:total )?gpus", _COUNT, _BEGIN)
_NODES = _pattern("SLURM_NNODES|SLURM_JOB_NUM_NODES|(?:number of )?nodes", _COUNT, _BEGIN)
_JOB = _pattern("job id|SLURM_JOB_ID", _COUNT, _BEGIN)
_IN_NAME = re.compile(r"(?<![0-9])(\d{1,7})[-_]?gpus?(?![a-z])", re.IGNORECASE)
_NODES_IN_NAME = re.compile(r"(?<![0-9])(\d{1,7})[-_]?nodes?(?![a-z])", re.IGNORECASE)
_JOB_IN_NAME = re.compile(r"slurm-(\d+)")


def looks_like_one(source: Source) -> bool:
    return any(_TIME.search(line) for line in source.lines)


def read(sources: Sequence[Source], case: str, world: int | None) -> list[Measurement]:
    """One training of each file; `world` is the size of all of them. Raises InputError with all that is wrong."""
    problems = Problems(file=sources[0].name if len(sources) == 1 else f"{len(sources)} logs")
    found = [one for source in sources if (one := _training(source, case, world, problems))]
    problems.raise_if_any()
    epochs = values.common_epochs([epochs for _, epochs in found])
    ordered = sorted((one for one, _ in found), key=lambda one: (one.world_size, one.nodes))
    return numbered(replace(one, epochs=epochs) for one in ordered)


def _training(
    source: Source, case: str, world: int | None, problems: Problems
) -> tuple[Measurement, EpochRange | None] | None:
    """And the epochs that its times allow; null where something is wrong, which `problems` then knows."""
    log = _Log(source, problems)
    total = log.one(_TIME, "Total training time", _seconds)
    epochs = set(log.all(_EPOCH, _seconds))  # some print it after every epoch: then none is the mean
    epoch = epochs.pop() if len(epochs) == 1 else None
    losses, accuracies = log.all(_LOSS, values.finite), log.all(_ACCURACY, values.fraction)
    ranks = world or _named(_IN_NAME, source) or log.one(_WORLD, "the number of ranks", _size)
    nodes = _named(_NODES_IN_NAME, source) or log.one(_NODES, "the number of nodes", _size)
    job = _JOB_IN_NAME.search(source.name)
    job_id = log.one(_JOB, "the job's number", str) or (job[1] if job else None)
    is_read = not log.broken
    if total is None and is_read:
        log.lacks("no line `Total training time: 362.45 s`")
    if ranks is None and is_read:
        log.lacks(
            "no line `World size: 4`, `SLURM_NTASKS=4`, `Number of tasks: 4` or `GPUs: 4`, and no `4gpu` in the "
            "file's name: say --world N"
        )
    if log.broken or total is None or ranks is None:
        return None
    training = Measurement(
        place=source.name,
        case=case,
        scaling="strong",
        world_size=ranks,
        nodes=nodes or 1,
        repeat=0,
        seconds=float(total),
        val_loss=min(losses, default=None),
        val_accuracy=max(accuracies, default=None),
        job_id=job_id,
    )
    return training, values.epoch_range(total, epoch) if epoch else None


class _Log:
    """A file's lines, and what is wrong with them."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._before = problems.count

    @property
    def broken(self) -> bool:
        return self._problems.count > self._before

    def lacks(self, what: str) -> None:
        self._problems.add(self._source.name, what)

    def all(self, pattern: re.Pattern[str], read: Callable[[str], T]) -> list[T]:
        return [value for _, value in self._found(pattern, read)]

    def one(self, pattern: re.Pattern[str], what: str, read: Callable[[str], T]) -> T | None:
        """The value on which all lines agree; null where no line has it."""
        found = list(self._found(pattern, read))
        for line, value in found:
            if value != found[0][1]:
                self._problems.add(
                    f"{self._source.name}, line {line}",
                    f"another value for {what} than on line {found[0][0]} ({_shown(value)}, {_shown(found[0][1])}): "
                    f"{_remedy(pattern)}",
                )
                return None
        return found[0][1] if found else None

    def _found(self, pattern: re.Pattern[str], read: Callable[[str], T]) -> Iterator[tuple[int, T]]:
        for number, line in enumerate(self._source.lines, 1):
            if match := pattern.search(line):
                try:
                    yield number, read(match["value"].strip().rstrip(".,;"))
                except BadValueError as problem:
                    self._problems.add(f"{self._source.name}, line {number}", str(problem))


def _shown(value: Any) -> str:
    return f"{float(value):g} s" if isinstance(value, Duration) else str(value)


def _remedy(pattern: re.Pattern[str]) -> str:
    if pattern is _WORLD:
        return "say --world N, or put it into the file's name, as in run_4gpu.log"
    return "one training per file"


def _seconds(text: str) -> Duration:
    return values.duration(text, None)


def _size(text: str) -> int:
    return values.whole(text, 1, values.LARGEST_WORLD)


def _named(pattern: re.Pattern[str], source: Source) -> int | None:
    match = pattern.search(source.name)
    return int(match[1]) if match and int(match[1]) > 0 else None
