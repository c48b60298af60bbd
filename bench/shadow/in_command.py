"""Inside a user's training script: makes its process one rank of many, and ends it after the step that is recorded.

A step ends when the first optimizer that takes a step has taken it. The first two are not recorded, because DDP
learns the order of gradients in them."""

from __future__ import annotations

import atexit
import json
import os
import sys
import weakref
from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from torch.distributed import device_mesh, distributed_c10d
from torch.nn.modules.module import register_module_buffer_registration_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from bench.common.error_text import describe
from bench.common.process import die_with_parent
from bench.common.torch_private import FakeStore
from bench.measure.messages import MessageRecorder
from bench.shadow.hollow import Hollow, ValueNeededError, place_in
from bench.shadow.join_fake import quicken_fsdp
from bench.shadow.memory import StorageLog, local
from bench.shadow.messages import as_message
from bench.shadow.records import PeakMemory

_FIRST_STEPS = 2
_KEPT = "what the script keeps between steps is on the device; a data set in host memory takes none of it"
_UNCOMPILED = "without torch.compile: messages are the same, but compiled code usually needs less memory"
_PLACES_NAMED = 3


def begin(job: Mapping[str, Any]) -> None:
    """From now on the script runs on tensors without values. `job`: `world_size`, `ranks_per_node`, the file `answer`
    to write, and the process id `asker` of `bench`."""
    if os.getppid() == job["asker"]:  # not so below a shell
        die_with_parent(job["asker"])
    command = _Command(Path(job["answer"]), job["ranks_per_node"])
    _join_a_fake_group(job["world_size"])
    quicken_fsdp()
    sys.excepthook = command.failed
    atexit.register(command.note_steps)
    command.enter()
    os.environ["MASTER_PORT"] = "29500"  # never used, but a script may read it
    command.note_steps()


def _join_a_fake_group(world_size: int) -> None:
    join, add = dist.init_process_group, dist.new_group

    def init_process_group(*_: Any, **__: Any) -> None:
        join("fake", rank=0, world_size=world_size, store=FakeStore())

    def new_group(ranks: Any = None, *_: Any, **keys: Any) -> Any:
        known = {key: keys[key] for key in ("use_local_synchronization", "group_desc") if key in keys}
        return add(ranks, **known)

    for module in (dist, distributed_c10d, device_mesh):
        for replaced in (init_process_group, new_group):
            if hasattr(module, replaced.__name__):
                setattr(module, replaced.__name__, replaced)


class _Command:
    """Facts about the script's training so far."""

    def __init__(self, answer: Path, ranks_per_node: int) -> None:
        self._answer = answer
        self._ranks_per_node = ranks_per_node
        self._hollow = Hollow(self._value_needed, self._real_number)
        self._process = os.getpid()
        self._numbers_read_at: dict[tuple[str, int] | None, None] = {}
        """Files and lines, in their order."""
        self._compiles = False
        self._messages = MessageRecorder()
        self._log = StorageLog()
        self._buffers: list[weakref.ref[torch.Tensor]] = []
        self._first: weakref.ref[torch.optim.Optimizer] | None = None
        self._steps = 0
        self._sent_before_backward_ended = 0
        self._first_kept: set[int] = set()
        """Storages that exist after the first step."""

    def enter(self) -> None:
        register_module_buffer_registration_hook(lambda _module, _name, buffer: self._registered(buffer))
        register_optimizer_step_pre_hook(lambda optimizer, _args, _keys: self._step_begins(optimizer))
        register_optimizer_step_post_hook(lambda optimizer, _args, _keys: self._step_ended(optimizer))
        backward = torch.autograd.backward

        def and_note(*args: Any, **keys: Any) -> None:
            backward(*args, **keys)
            self._sent_before_backward_ended = len(self._messages.sent)

        torch.autograd.backward = and_note
        compiled = torch.compile

        @wraps(compiled)
        def noted(*args: Any, **keys: Any) -> Any:
            self._compiles = True
            return compiled(*args, **keys)

        torch.compile = noted
        for mode in (self._hollow, self._messages, self._log):
            mode.__enter__()

    def failed(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        """Takes the place of Python's report of an error that ends the script."""
        place = place_in(trace)
        where = "" if place is None else f"{place[0]}, line {place[1]}: "
        remedy = ""
        if any(word in str(error) for word in ("CUDA", "NVIDIA", "cuda")):
            remedy = ": a shadow has no GPU: choose the device by torch.cuda.is_available()"
        sys.__excepthook__(kind, error, trace)
        said = json.loads(self._answer.read_text())  # by a loader process, whose end is this error
        self._end(said if "problem" in said else {"problem": f"{where}{describe(error)}{remedy}"})

    def note_steps(self) -> None:
        """The answer of a script that has not taken enough steps."""
        self._answer.write_text(json.dumps({"steps": self._steps}))

    def _value_needed(self, error: ValueNeededError) -> NoReturn:
        # the script might catch an exception
        self._end({"problem": error.text(of_command=True)})

    def _real_number(self, error: ValueNeededError) -> float:
        """The number that the script reads in place of a loss or another real number. A loader process has no way to
        say that it read one."""
        if os.getpid() != self._process:
            self._value_needed(error)
        self._numbers_read_at[error.place] = None
        return 1.0

    def _notes(self, memory: PeakMemory) -> list[str]:
        notes = [_KEPT] * (memory.kept > 0) + [_UNCOMPILED] * self._compiles
        if self._numbers_read_at:
            places = [
                "torch" if place is None else f"{place[0]}, line {place[1]}"
                for place in self._numbers_read_at
            ]
            more = f"; and {len(places) - _PLACES_NAMED} more lines" if len(places) > _PLACES_NAMED else ""
            notes.append(
                f"real numbers that a shadow does not compute are read as 1 ({'; '.join(places[:_PLACES_NAMED])}{more})"
            )
        return notes

    def _registered(self, buffer: torch.Tensor | None) -> None:
        if buffer is not None:
            self._buffers.append(weakref.ref(buffer))

    def _step_begins(self, optimizer: torch.optim.Optimizer) -> None:
        self._messages.marks += 1
        self._log.tell(self._parameters(optimizer), "parameters")
        self._log.tell((one.grad for one in self._parameters(optimizer)), "gradients")

    def _step_ended(self, optimizer: torch.optim.Optimizer) -> None:
        if self._first is None:
            self._first = weakref.ref(optimizer)
        for state in optimizer.state.values():
            self._log.tell((one for one in state.values() if isinstance(one, torch.Tensor)), "optimizer")
        if optimizer is not self._first():
            return
        self._steps += 1
        self._log.tell((buffer() for buffer in self._buffers), "buffers")
        if self._steps > _FIRST_STEPS:
            self._end(self._found(optimizer))
        if self._steps == 1:
            self._first_kept = self._log.alive()
        self._messages.restart()
        self._log.begin()

    def _found(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        messages = [
            as_message(
                one,
                self._ranks_per_node,
                phase="optimizer" if one.mark or number >= self._sent_before_backward_ended else one.phase,
                computed_before=self._messages.computed_before(one),
            )
            for number, one in enumerate(self._messages.sent)
        ]
        self._log.tell_kept(self._first_kept & self._log.alive())
        memory = self._log.peak()
        return {
            "notes": self._notes(memory),
            "parameters": sum(local(one).numel() for one in self._parameters(optimizer)),
            "model_parameters": None,
            "messages": [vars(one) for one in messages],
            "memory": vars(memory),
        }

    @staticmethod
    def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
        return [one for group in optimizer.param_groups for one in group["params"]]

    def _end(self, answer: dict[str, Any]) -> NoReturn:
        self._answer.write_text(json.dumps(answer))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
