"""The program of shadows: imports torch once, and forks a process for each question.

Questions come from stdin, one line of JSON each: a `spec` (RunSpec) and a `rank`. Each answer is one line with the
number of its question: a Shadow, or `problem`: why there is none. A question with the rank null asks for
`flops_per_example`. The program's arguments are the process id of the asker, with which it dies, and the time limit of
a question in seconds."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NoReturn

from bench.common import safe_path
from bench.common.process import die_with_parent, kill_group, name_process

_AT_ONCE = 8
"""Processes at the same time, and no more than there are CPUs; each may need some hundred MiB."""


def main() -> None:
    asker, limit_s = int(sys.argv[1]), float(sys.argv[2])
    die_with_parent(asker)
    name_process("shadows")
    safe_path.protect_imports()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model may print; stdout carries answers only
    gc.disable()  # imports leave little garbage; bench.agent.fork_server_preload enables it again
    import bench.agent.fork_server_preload
    import bench.shadow.join_fake
    import bench.shadow.one_step  # noqa: F401 - for all children

    for answer in _answers(sys.stdin.read().splitlines(), limit_s):
        print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)  # otherwise Python would spend half a second on freeing torch's modules


def _answers(questions: list[str], limit_s: float) -> Iterator[dict[str, Any]]:
    """In the order in which they are known."""
    at_once = min(_AT_ONCE, len(os.sched_getaffinity(0)))
    left, running = list(enumerate(questions)), list[_Child]()
    while left or running:
        while left and len(running) < at_once:
            number, question = left.pop(0)
            running.append(_Child(number, question, limit_s))
        until_s = min(one.until_s for one in running)
        ended, _, _ = select.select(running, [], [], max(0.0, until_s - time.monotonic()))
        late = [] if ended else [one for one in running if one.until_s == until_s]
        for one in [*ended, *late]:
            running.remove(one)
            yield {"question": one.number, **one.end()}


class _Child:
    """A process that answers a question."""

    def __init__(self, number: int, question: str, limit_s: float) -> None:
        self.number = number
        self.until_s = time.monotonic() + limit_s
        self._limit_s = limit_s
        # not a pipe: a process that a model has started may keep that open
        self._file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `end` closes it
        program = os.getpid()
        self._pid = os.fork()
        if not self._pid:
            self._work(program, question)
        with suppress(OSError):  # the process itself may have done so, and ended
            os.setpgid(self._pid, self._pid)
        self._ended = os.pidfd_open(self._pid)

    def fileno(self) -> int:
        """Readable once the process has ended."""
        return self._ended

    def _work(self, program: int, question: str) -> NoReturn:
        os.setpgid(0, 0)
        die_with_parent(program)
        name_process("shadow rank")
        rank = os.getpid()
        answer = _answer(json.loads(question))
        if os.getpid() == rank:  # not in a process that a model has forked
            print(json.dumps(answer), file=self._file, flush=True)
        os._exit(0)  # without waiting for threads of a user's code

    def end(self) -> dict[str, Any]:
        """The answer of the process, which is killed if it still runs."""
        has_ended = bool(select.select([self], [], [], 0)[0])
        kill_group(self._pid)  # also processes that a user's code has left
        _, status = os.waitpid(self._pid, 0)
        os.close(self._ended)
        with self._file:
            self._file.seek(0)
            text = self._file.read()
        if text.endswith("\n"):
            answer: dict[str, Any] = json.loads(text)
            return answer
        if not has_ended:
            return {"problem": took_too_long(self._limit_s)}
        code = os.waitstatus_to_exitcode(status)
        memory = ": its code ended it, or memory ran out" if code == -signal.SIGKILL else ""
        remedy = "run the case on one rank, as with `bench suite SUITE --world 1`, to see why"
        return {"problem": f"the process of the shadow ended early ({how_ended(code)}){memory}: {remedy}"}


def how_ended(code: int) -> str:
    """The exit code or the signal of a process."""
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def took_too_long(limit_s: float) -> str:
    """The problem of a shadow that was stopped after that time."""
    return (
        f"the shadow did not finish within {limit_s:g} s: choose a smaller model, fewer micro-batches or "
        "fewer ranks, or set a longer --timeout"
    )


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    from bench.common.custom_file import said
    from bench.common.errors import InputError
    from bench.records.run_spec import RunSpec
    from bench.shadow.hollow import ValueNeededError
    from bench.shadow.join_fake import joined
    from bench.shadow.one_step import flops_per_example, step_of

    spec = RunSpec.from_json(question["spec"])
    rank = question["rank"]
    try:
        if rank is None:
            return {"flops_per_example": flops_per_example(spec)}
        with joined(spec, rank):
            return asdict(step_of(spec, rank, hollow=True))
    except InputError as error:
        return {"problem": str(error)}
    except ValueNeededError as error:
        return {"problem": error.text()}
    except (Exception, SystemExit) as error:  # a custom workload may raise anything
        return {"problem": said(error)}


if __name__ == "__main__":
    main()
