"""An error as one line for its row: type and message."""

from __future__ import annotations

import re
import traceback
from multiprocessing.connection import wait
from signal import Signals
from types import FrameType

from bench.common import torch_private

_ENDS_S = 2.0
"""Time for a loader process that no longer answers to end."""
_UNUSED = re.compile(
    r"Expected to have finished reduction.*You can enable unused parameter detection"
    r".*did not receive grad for rank \d+: ([\d ]+)",
    re.S,
)
"""DistributedDataParallel's message about parameters without a gradient, if it does not search for them."""
_NCCL_SAID = re.compile(r"^(?:NCCL )?last error:\s*(\S.*)", re.M | re.I)
"""NCCL's own explanation, in an error of torch whose first line only names the kind of failure."""
_MOST_UNUSED = 10
"""Parameters that the error names."""
_NOTICED = re.compile(
    r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) "
    r"(?:exited unexpectedly(?: with exit code (\d+))?|is killed by signal: ([\w ]+))"
)
"""Torch's message about a loader process that has ended; its exit code and its signal, if known."""


def describe(error: BaseException) -> str:
    """Type and first line of the message, at most 2,000 characters, control characters escaped; the whole traceback is
    in the rank's log."""
    if ended := _of_an_ended_worker(error):
        return ended
    name, message = type(error).__name__, str(error).strip()
    lines = message.splitlines() or ["no message"]
    first = lines[0]
    if unused := _UNUSED.search(message):
        places = unused[1].split()
        more = f" and {len(places) - _MOST_UNUSED:,} more" if len(places) > _MOST_UNUSED else ""
        first = (
            "Expected to have finished reduction: the loss does not use every trained parameter, and ddp requires "
            "that: take the others out of the model, freeze them, or set strategy: {name: ddp, find_unused_parameters: "
            f"true}}; trained parameters without gradient, by place: {', '.join(places[:_MOST_UNUSED])}{more}"
        )
    if said := _NCCL_SAID.search(message):
        first += f"; NCCL: {said[1].strip()}"
    if re.match(r"Caught \w+ in DataLoader worker process \d+\.\nOriginal ", message):
        # DataLoader's message is the traceback of its process: the exception follows the last frame.
        frames = [number for number, line in enumerate(lines) if line.startswith("  ")]
        if frames and frames[-1] + 1 < len(lines):
            _, _, raised = lines[frames[-1] + 1].partition(": ")
            name, first = f"{name} in a loader process", raised or "no message"
    return f"{name}: {printable(first[:2000])}"[:2000]


def printable(text: str) -> str:
    """The text with control characters and invisible ones escaped: others wrote it."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _of_an_ended_worker(error: BaseException) -> str | None:
    """The cause of an error if a DataLoader's process has ended; null for other errors. Either torch notices the end,
    or the rank reads a batch that the process can no longer hand over. Torch then says only `Connection reset by peer`,
    as if another rank had died."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    noticed = _NOTICED.match(str(error)) if isinstance(error, RuntimeError) else None
    is_gone = isinstance(error, OSError | EOFError) and any(map(_hands_over, frames))
    if noticed is not None and noticed[1]:
        return _ended_with(int(noticed[1]))
    if noticed is not None and noticed[2]:
        return _killed_by(f"a signal ({noticed[2].strip()})")
    if noticed is None and not is_gone:
        return None
    found = [frame.f_locals.get("self") for frame in frames]
    iterators = [one for one in found if isinstance(one, torch_private.MultiProcessingDataLoaderIter)]
    workers = {worker.sentinel: worker for one in iterators for worker in torch_private.loaders_of(one)}
    ended = wait(workers, _ENDS_S) if workers else []
    codes = []
    for worker in (worker for sentinel, worker in workers.items() if sentinel in ended):
        worker.join(_ENDS_S)  # its files are closed shortly before it can be asked for its exit code
        if worker.exitcode is not None:
            codes.append(worker.exitcode)
    if not codes:
        return None
    code = min(codes, key=lambda code: (code == 0, code))  # one that has read all of its stream ends with 0
    names = {one.value: one.name for one in Signals}
    return _killed_by(names.get(-code, "a signal")) if code < 0 else _ended_with(code)


def _killed_by(signal: str) -> str:
    return (
        f"a loader process was killed by {signal} before its batches were read: if memory ran out, use fewer "
        "data.workers or smaller batches"
    )


def _ended_with(code: int) -> str:
    return (
        f"a loader process ended with exit code {code} before its batches were read: do not end it in the loader, as "
        "with os._exit"
    )


def _hands_over(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith("/torch/multiprocessing/reductions.py")
