"""The table that nccl-tests prints, and the lines around it that begin with `#`; other lines are skipped.

# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 ...
#  Rank  0 Group  0 Pid   6899 on node-1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3      (old versions: no Group)
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    203.2    5.16    9.68      0    207.2    5.06    9.49      0

In old versions, operations without a reduction or a root have no such columns, so a row is read from its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.common.errors import InputError
from bench.importing import parse_cells
from bench.importing.formats import nccl
from bench.importing.formats.collectives import CollectiveRun, Timing
from bench.importing.formats.nccl import Device
from bench.importing.measurement import Problems
from bench.importing.parse_cells import LONGEST_LINE, BadValueError, Source
from bench.importing.printed import without_label

_HEADING = re.compile(r"#\s+size\s+count\s+type\s.*\b(?:cpu)?time\s+algbw\s+busbw\s")
_DEVICE = re.compile(
    r"#\s+Rank\s+(?P<rank>\d{1,7})(?:\s+Group\s+(?P<group>\d{1,7}))?\s+Pid\s+\d+ on\s+(?P<host>\S+) device\s+\d+ "
    r"\[[^\]]{0,40}\] (?P<model>.{1,200})"
)
_PER_PROCESS = re.compile(r"#\s*nThread (\d{1,4}) nGpus (\d{1,4}) ")
_VERSION = re.compile(r"nccl-library=(\d{4,6})\b")
_BAD = re.compile(r"#\s*Out of bounds values\s*:\s*([1-9]\d*)")
_END = re.compile(r"#\s*(?:Out of bounds values|Avg bus bandwidth)")
_ROW = re.compile(r"\s*\d+\s+\d+\s+[a-z]")
_STAMP = re.compile(r"\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Columns by the table's heading."""

    before: int
    """Number of columns before the figures: size, count, type and others."""
    after: int
    """Number of columns with figures, out-of-place ones first."""
    wrong: tuple[int, ...]
    """Places of the columns `#wrong` among these; empty in versions without them."""
    cpu_time: bool
    """Whether times are those of launching the operation."""


def matches(source: Source) -> bool:
    return any(_HEADING.match(line) for line in _lines(source))


def read(source: Source) -> CollectiveRun:
    """The run. Raises InputError with every problem, by line."""
    lines = _lines(source)
    problems = Problems(file=source.name)
    try:
        heading = _heading(lines)
        columns = _columns(lines, heading)
        devices = _devices(lines)
        op = nccl.op_of(source.text, source.name)
        rows = list(_rows(lines, heading))
        nccl.refuse_mixture({kind for _, line in rows if (kind := tuple(line.split()[2 : -columns.after]))})
    except BadValueError as problem:
        raise InputError(f"{source.name}: {problem}") from None
    timings = [
        timing for number, line in rows if (timing := _timing(f"line {number}", line, columns, problems))
    ]
    problems.raise_if_any()
    code = _VERSION.search(source.text)
    return CollectiveRun(
        place=source.name,
        op=op,
        in_place=False,
        world_size=len(devices),
        nodes=len({device.host for device in devices}),
        devices=nccl.models(devices),
        nccl=nccl.version(int(code[1])) if code else None,
        timings=nccl.not_empty(timings, source.name),
    )


def _lines(source: Source) -> list[str]:
    return [without_label(line) for line in source.printed_lines]


def _heading(lines: list[str]) -> int:
    """Index of the heading's line. Raises BadValueError unless there is exactly one."""
    found = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    if len(found) != 1:
        raise BadValueError(
            f"{len(found)} tables of nccl-tests: save the output of each call in its own file"
            if found
            else "no line `#  size  count  type ... time  algbw  busbw`: no table of nccl-tests"
        )
    if "(us)" not in "".join(lines[found[0] + 1 : found[0] + 2]):
        raise BadValueError(f"line {found[0] + 2}: does not say that times are in (us)")
    return found[0]


def _columns(lines: list[str], heading: int) -> _Columns:
    names = [name for name in lines[heading].lstrip("#").split() if name != "timestamp"]
    first = min(names.index(name) for name in ("time", "cputime") if name in names)
    figures = names[first:]
    return _Columns(
        before=first,
        after=len(figures),
        wrong=tuple(place for place, name in enumerate(figures) if name == "#wrong"),
        cpu_time=figures[0] == "cputime",
    )


def _devices(lines: list[str]) -> list[Device]:
    """The device of each rank. Raises BadValueError if some are missing."""
    found = [
        Device(rank=int(one["rank"]), group=int(one["group"] or 0), host=one["host"], model=one["model"])
        for line in lines
        if (one := _DEVICE.match(line))
    ]
    per_process = next((int(one[1]) * int(one[2]) for line in lines if (one := _PER_PROCESS.match(line))), 1)
    ranks = sorted(device.rank for device in found)
    if not ranks or ranks != list(range(len(ranks))) or per_process < 1 or len(ranks) % per_process:
        raise BadValueError(
            f"has {len(ranks)} lines `#  Rank  0 ... on HOST device  0 [...] MODEL`, which are not all ranks: keep "
            "what nccl-tests prints above its table"
        )
    nccl.refuse_groups(found)
    return found


def _rows(lines: list[str], heading: int) -> Iterator[tuple[int, str]]:
    """Line number and text of each row. Raises BadValueError if nccl-tests found wrong results, or did not end."""
    for number, line in enumerate(lines[heading + 1 :], start=heading + 2):
        if bad := _BAD.match(line):
            raise BadValueError(f"line {number}: {nccl.wrong_results(bad[1][:20])}")
        if _END.match(line):
            return
        if _ROW.match(line):
            yield number, line
    raise BadValueError(
        "has no line `# Out of bounds values` below its table: nccl-tests did not come to its end"
    )


def _timing(place: str, line: str, columns: _Columns, problems: Problems) -> Timing | None:
    """The timing; null for an empty message, or if it has problems, which are added to `problems`."""
    try:
        if len(line) > LONGEST_LINE:  # the patterns below take time with the square of its spaces
            raise BadValueError(f"{len(line):,} characters: a row has {LONGEST_LINE:,} at most")
        cells = _STAMP.sub("", line).split()
        if not columns.after + 3 <= len(cells) <= columns.after + columns.before:
            raise BadValueError(f"{len(cells)} cells, the heading has {columns.before + columns.after}")
        nccl.refuse_cpu_time(columns.cpu_time)
        size = parse_cells.whole(cells[0], 0, parse_cells.LARGEST_COUNT)
        figures = cells[-columns.after :]
        for wrong in (figures[place] for place in columns.wrong):
            if wrong != "N/A" and parse_cells.decimal(wrong) != 0:
                raise BadValueError(nccl.wrong_results(wrong[:20]))
        time_us, _, bus_gbps = (parse_cells.decimal(cell) for cell in figures[:3])
        exponent = bus_gbps.as_tuple().exponent
        assert isinstance(exponent, int)
        timing = Timing(
            place=place,
            message_bytes=size,
            time_us=nccl.checked_time(float(time_us)),
            bus_gbps=parse_cells.finite(str(bus_gbps)),
            tolerance_gbps=0.5 * 10.0**exponent,
        )
    except BadValueError as problem:
        problems.add(place, str(problem))
        return None
    return timing if size else None
