"""The tasks of a launch learn on which nodes they are: each writes a file into a folder that all nodes share.

The leading task reads these files and writes the layout, which the others wait for. It first removes all files of the
folder, in case an earlier launch of the same key was killed; a task whose file is gone writes it again.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.common.errors import InputError
from bench.common.system_files import text_of
from bench.launch.launchers import LOCAL, Task
from bench.launch.step import Share, Step
from bench.machine import gpu_vendor

PATIENCE_S = 300.0
"""Longest wait for the other tasks: containers may start slowly."""
_PAUSE_S = 0.2
_SPREAD_S = 0.002
"""Longest random addition to the pause, per task: thousands of tasks must not look at once."""
_LAYOUT = "layout.json"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A task's file."""

    nonce: str
    """Random: distinguishes this task from one of an earlier launch."""
    name: str
    """Its node's name."""
    boot: str
    """Id of the kernel's start: distinguishes nodes of the same name."""
    address: str
    cpus: list[int]
    gpus: str | None
    """CUDA_VISIBLE_DEVICES, or its like for AMD's GPUs; null if it is not set."""


def roll_call(task: Task, results: Path, patience_s: float = PATIENCE_S) -> Step:
    """The step of a launch of several tasks. Raises InputError if some do not answer."""
    own = own_answer()
    try:
        folder = _folder(results, task.key)
        answers = (_lead if task.task == 0 else _follow)(task, folder, own, patience_s)
    except OSError as error:
        raise InputError(f"results cannot be written: {error}; --results names another folder") from error
    return layout(task, answers)


def roll_call_folder(results: Path, key: str) -> Path:
    """The folder of a launch, until all of its tasks have met."""
    return results / f".step-{key}.tasks"


def forget(results: Path, key: str) -> None:
    """Remove the folder, if there is one."""
    shutil.rmtree(roll_call_folder(results, key), ignore_errors=True)


def own_answer() -> Answer:
    """This task's answer."""
    return Answer(
        nonce=secrets.token_hex(8),
        name=socket.gethostname(),
        boot=text_of("/proc/sys/kernel/random/boot_id"),
        address=_own_address(),
        cpus=sorted(os.sched_getaffinity(0)),
        gpus=gpu_vendor.visible_devices(),
    )


def layout(task: Task, answers: Sequence[Answer]) -> Step:
    """The step, from the answers of its tasks in order. Nodes are in the order of their first tasks."""
    of_task = [(answer.name, answer.boot) for answer in answers]
    nodes = list(dict.fromkeys(of_task))
    here = [index for index, node in enumerate(of_task) if node == of_task[task.task]]
    own, firsts = answers[task.task], [answers[of_task.index(node)] for node in nodes]
    return Step(
        launcher=task.launcher,
        key=task.key,
        node_names=tuple(name for name, _ in nodes),
        addresses=tuple(first.address for first in firsts),
        tasks_per_node=tuple(of_task.count(node) for node in nodes),
        task=task.task,
        local_task=here.index(task.task),
        node=nodes.index(of_task[task.task]),
        node_of_task=tuple(nodes.index(node) for node in of_task),
        cpu_share=_share(task.task, [index for index in here if set(answers[index].cpus) & set(own.cpus)]),
        gpu_share=_share(task.task, [index for index in here if answers[index].gpus == own.gpus]),
        cpus_of_node=frozenset(cpu for index in here for cpu in answers[index].cpus),
    )


def _share(task: int, tasks: list[int]) -> Share:
    return Share(index=tasks.index(task), of=len(tasks))


def _lead(task: Task, folder: Path, own: Answer, patience_s: float) -> list[Answer]:
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
    wanted = {str(index) for index in range(1, task.tasks)}
    deadline = time.monotonic() + patience_s
    while missing := wanted - {path.name for path in folder.iterdir()}:
        if time.monotonic() > deadline:
            first = [f"task {index}" for index in sorted(map(int, missing))]
            shutil.rmtree(folder, ignore_errors=True)
            named = ", ".join(first[:8]) + " ..." * (len(first) > 8)
            raise InputError(
                f"{len(missing)} of the {task.tasks} tasks of {task.launcher} did not join within {patience_s:g} s: "
                f"{named}; their own messages say why; do all nodes share the results folder {folder.parent}? {LOCAL}"
            )
        time.sleep(_PAUSE_S)
    others = [Answer(**json.loads((folder / str(index)).read_text())) for index in range(1, task.tasks)]
    answers = [own, *others]
    _write(folder / _LAYOUT, [asdict(answer) for answer in answers])
    return answers


def _follow(task: Task, folder: Path, own: Answer, patience_s: float) -> list[Answer]:
    path, deadline = folder / str(task.task), time.monotonic() + patience_s
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):
            answers = [Answer(**answer) for answer in json.loads((folder / _LAYOUT).read_text())]
            if len(answers) == task.tasks and answers[task.task].nonce == own.nonce:
                return answers
        if not path.exists():
            with suppress(FileNotFoundError):  # the leading task has removed the files of an earlier launch
                _write(path, asdict(own))
        time.sleep(_PAUSE_S + random.uniform(0, _SPREAD_S * task.tasks))  # noqa: S311 - no secret
    raise InputError(
        f"task {task.task} on {own.name} waited {patience_s:g} s for the leading task of {task.launcher} and got no "
        f"answer: do all nodes share the results folder {folder.parent}? {LOCAL}"
    )


def _write(path: Path, content: Any) -> None:
    """Write a file at once: no task reads a part of it."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    partial.write_text(json.dumps(content))
    partial.rename(path)


def _folder(results: Path, key: str) -> Path:
    folder = roll_call_folder(results, key)
    results.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise InputError(f"{folder} is not this user's alone: remove it and start the tasks again")
    return folder


def _own_address() -> str:
    """An IP address of this node that is not the loopback's: that of its name, or else of its default route, or else
    of any interface; its name if there is none."""
    name = socket.gethostname()
    found = []
    with suppress(OSError):
        found.append(socket.gethostbyname(name))
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: the kernel only looks up the route
        found.append(str(probe.getsockname()[0]))
    interfaces = psutil.net_if_addrs().values()
    found += [one.address for addresses in interfaces for one in addresses if one.family == socket.AF_INET]
    return next((address for address in found if not address.startswith("127.")), name)
