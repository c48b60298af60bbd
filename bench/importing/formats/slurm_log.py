"""A job's log with the lines that training programs print at their end: one training per file.

Total training time: 362.45 seconds        required, once; also min, h, or 0:06:02
Time per epoch: 7.25 seconds
Best validation loss: 0.1187               the lowest counts
Best validation accuracy: 0.953            the highest counts; also 95.3 %
World size: 4 | WORLD_SIZE=4 | SLURM_NTASKS=4 | Number of tasks: 4 | GPUs: 4 | Total GPUs: 4
SLURM_NNODES=2 | SLURM_JOB_NUM_NODES=2 | Number of nodes: 2 | Nodes: 2
Job ID: 123456 | SLURM_JOB_ID=123456
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from bench.importing import parse_cells
from bench.importing.measurement import Measurement, Problems
from bench.importing.parse_cells import BadValueError, Duration, EpochRange, Source

T = TypeVar("T")

_TIME_SAID = r"\s*[:=]\s*(?P<value>\S.*)"
_NUMBER_SAID = r"\s*[:=]\s*(?P<value>[^\s(;]+(?:\s?%)?)"
_COUNT = r"\s*[:=]\s*(?P<value>\d+)\s*$"


def _pattern(names: str, value: str, before: str = r"(?:^|[\s\]|:>])") -> re.Pattern[str]:
    """The names and a value, after any prefix of a launcher or logger such as `0: ` or `[rank0] INFO`."""
    return re.compile(rf"{before}(?:{names}){value}", re.IGNORECASE | re.ASCII)


def _in_name(*, after: str, before: str) -> re.Pattern[str]:
    """A number in a file's name with a word that says what it counts; never a number such as the 2 of `gpu2`."""
    return re.compile(
        rf"(?<![0-9A-Za-z])(?:(?P<first>\d{{1,7}})[-_]?(?:{after})(?![a-z])(?![-_]?per)|(?:{before})[-_=]?(?P<last>\d{{1,7}})(?![0-9a-z]))",
        re.IGNORECASE,
    )


_BEGIN = r"(?:^|[\]|:>])\s*"
"""Prefix before short names, which excludes words: `GPUs` must not match `Number of GPUs`."""

_TIME = _pattern("total training time", _TIME_SAID)
_EPOCH = _pattern("time per epoch", _TIME_SAID)
_LOSS = _pattern("best validation loss", _NUMBER_SAID)
_ACCURACY = _pattern("best validation accuracy", _NUMBER_SAID)
_WORLD = _pattern("world[ _]size|SLURM_NTASKS|number of tasks|(?:total )?gpus", _COUNT, _BEGIN)
_NODES = _pattern("SLURM_NNODES|SLURM_JOB_NUM_NODES|(?:number of )?nodes", _COUNT, _BEGIN)
_JOB = _pattern("job id|SLURM_JOB_ID", _COUNT, _BEGIN)
_RANKS_IN_NAME = _in_name(
    after="gpus?|ranks?|procs?|tasks?", before="ngpus?|gpus|nranks?|ranks|nprocs?|ntasks|np|world[-_]?size"
)
_NODES_IN_NAME = _in_name(after="nodes?", before="nnodes?|nodes")
_JOB_IN_NAME = re.compile(r"slurm-(\d+)")


def matches(source: Source) -> bool:
    return any(_TIME.search(line) for line in source.printed_lines)


def read(sources: Sequence[Source], case: str, world: int | None) -> list[Measurement]:
    """One training per file, in order of size; `world` gives the number of ranks of all.

    Raises InputError with every problem."""
    problems = Problems(file=sources[0].name if len(sources) == 1 else f"{len(sources)} logs")
    found = [one for source in sources if (one := _training(source, case, world, problems))]
    problems.raise_if_any()
    epochs = parse_cells.common_epochs([epochs for _, epochs in found])
    ordered = sorted((one for one, _ in found), key=lambda one: (one.world_size, one.nodes))
    return [replace(one, epochs=epochs) for one in ordered]


def _training(
    source: Source, case: str, world: int | None, problems: Problems
) -> tuple[Measurement, EpochRange | None] | None:
    """The training, and the numbers of epochs that its times allow; null if there are problems, which are added to
    `problems`."""
    log = _Log(source, problems)
    total = log.one(_TIME, "Total training time", parse_cells.said_duration)
    epochs = set(
        log.all(_EPOCH, parse_cells.said_duration)
    )  # several values: printed after each epoch, so none of them is the mean
    epoch = epochs.pop() if len(epochs) == 1 else None
    losses, accuracies = log.all(_LOSS, parse_cells.finite), log.all(_ACCURACY, parse_cells.fraction)
    ranks = world or log.size(_WORLD, _RANKS_IN_NAME, "the number of ranks")
    nodes = log.size(_NODES, _NODES_IN_NAME, "the number of nodes")
    job = _JOB_IN_NAME.search(source.name)
    job_id = log.one(_JOB, "the job's number", str) or (job[1] if job else None)
    if log.has_problems:
        return None
    if total is None:
        log.add_problem("no line `Total training time: 362.45 s`")
    if ranks is None:
        log.add_problem(
            "no line `World size: 4`, `SLURM_NTASKS=4`, `Number of tasks: 4` or `GPUs: 4`, and the file's name "
            "has no size such as `4gpu`, or several: give --world N"
        )
    if total is None or ranks is None:
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
    return training, parse_cells.epoch_range(total, epoch) if epoch else None


class _Log:
    """Values of a file's lines; adds problems with them to `problems`."""

    def __init__(self, source: Source, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._before = problems.count

    @property
    def has_problems(self) -> bool:
        return self._problems.count > self._before

    def add_problem(self, what: str) -> None:
        self._problems.add(self._source.name, what)

    def all(self, pattern: re.Pattern[str], read: Callable[[str], T]) -> list[T]:
        return [value for _, value in self._found(pattern, read)]

    def one(self, pattern: re.Pattern[str], what: str, read: Callable[[str], T]) -> T | None:
        """The value on which all lines agree; null if no line has it."""
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

    def size(self, lines: re.Pattern[str], in_name: re.Pattern[str], what: str) -> int | None:
        """The number on which all lines and the file's name agree; null if neither has it, or a name without such lines
        has several."""
        named = _sizes_in_name(in_name, self._source.name)
        before = self._problems.count
        said = self.one(lines, what, _size)
        if said is None and self._problems.count == before:
            return named[0] if len(named) == 1 else None
        if said is not None and named and said not in named:
            self.add_problem(
                f"{what} is {said} by a line, but {named[0]} by the file's name: {_remedy(lines)}"
            )
        return said

    def _found(self, pattern: re.Pattern[str], read: Callable[[str], T]) -> Iterator[tuple[int, T]]:
        for number, line in enumerate(self._source.printed_lines, 1):
            if match := pattern.search(line):
                try:
                    yield number, read(match["value"].strip().rstrip(".,;"))
                except BadValueError as problem:
                    self._problems.add(f"{self._source.name}, line {number}", str(problem))


def _shown(value: Any) -> str:
    return f"{float(value):g} s" if isinstance(value, Duration) else str(value)


def _remedy(pattern: re.Pattern[str]) -> str:
    if pattern is _WORLD:
        return "give --world N"
    return "rename the file, or correct the line" if pattern is _NODES else "one training per file"


def _size(text: str) -> int:
    return parse_cells.whole(text, 1, parse_cells.LARGEST_WORLD)


def _sizes_in_name(pattern: re.Pattern[str], name: str) -> list[int]:
    """The numbers in a file's name that have a word of count, each once."""
    found = {int(match["first"] or match["last"]) for match in pattern.finditer(name)}
    return sorted(found - {0})
