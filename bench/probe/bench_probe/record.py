"""The recorder inside a training script: a row for every optimizer step, without a change to the script.

    end of a step   where the optimizer's `step` returns (torch's global optimizer hooks)
    loss            the scalars on which `backward` is called
    data            `__next__` of torch's DataLoader
    forward         the outermost modules that hold the optimizers' parameters, found after the first step
    left out        validation (forward passes without gradients) and torch.save

The first step is not recorded, because its beginning is unknown. Nothing waits for a GPU: on CUDA the marks are
events, and a row is stored once the device has passed its events. The module needs the standard library and torch 2.0.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import os
import signal
import sys
import threading
import time
import weakref
from collections import Counter, deque
from pathlib import Path

import torch
from bench_probe import events
from bench_probe.batches import local
from bench_probe.hooks import install
from bench_probe.models import Models
from bench_probe.selfcheck import SelfCheck
from bench_probe.spans import Span, Step
from bench_probe.step_file import MEASURED, PROFILED, UNKNOWN_PHASE, WARMUP, StepFile
from bench_probe.times import DeviceTime, HostTime, apart

RECORDER = None
"""This process's Recorder; null before torch is imported, and in a process that is not recorded."""
_LEAVE_S = 10.0
"""Time for a script to end after its last step: to close its files and its process group."""
_MEMORY_EVERY_NS = 200_000_000


def begin():
    """Install the hooks; called once, when torch has been imported."""
    global RECORDER  # noqa: PLW0603 - one recorder for a process
    RECORDER = Recorder(json.loads(os.environ["BENCH_PROBE"]))
    install(RECORDER)
    if (
        signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    ):  # with which bench asks where a rank is that takes too long
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)


class Recorder:
    """Records one process of the script."""

    def __init__(self, job):
        self.job = job
        self.scratch = Path(job["scratch"])
        self.last = job["warmup"] + job["steps"]
        """Number of training steps after which the script is ended."""
        self.pid = os.getpid()
        self.time = HostTime()
        self.file = None
        """The step file, which the process makes that takes the first step."""
        self.step = Step(None)
        self.taken = 0
        """Recorded steps, of every kind."""
        self.waiting = deque()
        """Steps whose events the device has not passed."""
        self.depth = 0
        self.thread = None
        """The thread that trains; modules that other threads call are not counted."""
        self.optimizers = weakref.WeakKeyDictionary()
        """Number of each optimizer, in the order of their first steps."""
        self.names = []
        self.closing = None
        """Number of the optimizer that took its first step last, in the warm-up."""
        self.stepping = None
        """The optimizer whose `step` runs; one that it calls, as ZeroRedundancyOptimizer does, is a part of it."""
        self.has_new_optimizer = self.has_new_closing = False
        self.is_scripts_own = False
        """Whether the script ends its steps itself, with bench_probe.step."""
        self.has_own_loss = False
        self.named_phases = set()
        """Phases that the script marks with bench_probe.phase."""
        self.in_backward = self.close_after_backward = False
        self.optimizer_began = None
        self.last_source = None
        """A list that holds whether the batches of the iterator that has loaded last are trained on."""
        self.is_source_known = False
        self.models = Models(self)
        self.validations = self.closed = 0
        self.profiler = self.annotation = None
        self.groups = {}
        """By number of the profiled step: the process groups that it used."""
        self.origin = None
        self.origin_ns = 0
        self.memory_due = 0
        self.counts = {"examples": 0, "tokens": 0, "steps": 0, "skipped": 0}
        self.batches = Counter()
        self.has_loader = self.has_forward = self.has_backward = False
        self.digest = None
        self.own_ns = 0
        self.pauses = []
        """Number of each step with a pause before it, and the seconds of the pause."""
        self.problem = None
        self.is_done = False
        self.is_listening = True
        """Whether the hooks record; not in the bare steps of the self-check."""
        self.check = None
        self.has_checked = not job.get("pairs")

    def before_optimizer(self, optimizer, _arguments, _options):
        if self.stepping in (None, optimizer):
            self.stepping = optimizer
            if self.is_listening:
                self.know(optimizer)
                self.optimizer_began = (self.time.mark(), len(self.step.spans))

    def after_optimizer(self, optimizer, _arguments, _options):
        if self.stepping is not optimizer:
            return
        began, self.stepping, self.optimizer_began = self.optimizer_began, None, None
        if (
            began is not None and not self.in_backward and self.depth == 0
        ):  # there its time belongs to backward
            end = self.time.mark()
            began, spans = began
            # a closure has run forward and backward inside of the optimizer's step
            self.step.spans.append(("optimizer", began, end))
            self.step.spans += [("-optimizer", *span[1:]) for span in self.step.spans[spans:-1]]
        if self.closes(optimizer) and not self.is_scripts_own:
            if self.in_backward:
                self.close_after_backward = True
            else:
                self.close()

    def know(self, optimizer):
        if optimizer not in self.optimizers:
            self.optimizers[optimizer] = len(self.names)
            self.names.append(type(optimizer).__name__)
            self.has_new_optimizer = True
            if self.taken < self.job["warmup"]:
                self.closing = self.optimizers[optimizer]
                self.has_new_closing = self.job.get("step_optimizer") is None

    def closes(self, optimizer):
        """Whether this optimizer's step ends the training step: the one that the user names, else the one that took its
        first step last."""
        wanted = self.job.get("step_optimizer")
        if wanted is not None:
            return wanted in (type(optimizer).__name__, str(self.optimizers.get(optimizer)))
        return self.optimizers.get(optimizer) == self.closing

    # ---- spans

    def fall_silent(self):
        """In a forked copy of the process: a worker of a DataLoader must not use the device."""
        self.is_listening = False

    def is_mine(self):
        return self.is_listening and self.thread in (None, threading.get_ident()) and not self.is_done

    def span(self, phase):
        """For bench_probe.phase."""
        self.named_phases.add(phase)
        return Span(self, phase)

    def note_losses(self, tensors):
        """The losses of a backward pass; they are read when the step's row is stored."""
        if self.optimizer_began is not None:
            self.step.passes_in_optimizer += 1
            if self.step.passes_in_optimizer > 1:  # a closure that the optimizer calls again, as LBFGS does
                return
        tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
        if all(one.numel() == 1 for one in tensors):
            # at once, or a copy: a script may reduce it in place for its log
            for one in tensors:
                self._note_loss(getattr(one, "_bench_unscaled", one))

    def _note_loss(self, loss):
        if isinstance(loss, torch.Tensor):
            loss = local(loss.detach())
            loss = loss.clone() if loss.is_cuda else loss.item()
        self.step.losses.append(loss)

    # ---- the end of a step

    def step_of_the_script(self, loss, examples, tokens):
        if not self.is_scripts_own:
            self.is_scripts_own = self.has_new_closing = True
        self.step.said = {"examples": _whole("examples", examples), "tokens": _whole("tokens", tokens)}
        if loss is not None and self.is_listening:
            self.has_own_loss = True
            self.step.losses = []
            self._note_loss(loss)
        self.close()

    def close(self):
        """End the step here. Ends the script after the last one."""
        if os.getpid() != self.pid or self.is_done:  # in a forked copy of the process
            return
        if self.thread not in (None, threading.get_ident()) and self.step.start is None:
            self.thread = threading.get_ident()
        if self.check is not None:
            self._checked()
            return
        began_ns = time.perf_counter_ns()
        step = self.step
        step.end = self.time.mark()
        self.closed += 1
        is_recorded = step.start is not None and not self.has_new_closing
        if step.start is None:
            self._first_step_ended()
        elif self.has_new_closing:  # the steps so far were parts of steps
            self._forget_steps()
        else:
            if self.closed <= 5 and not self.models.were_all_called():
                self.models.look_deeper()
            self.step_ended(step)
        if self.has_new_optimizer:
            self.models.find()
            is_recorded = False
        self.has_new_optimizer = self.has_new_closing = False
        if not self.in_backward:
            self.depth = 0  # a forward pass that raised has not been left
        is_last = self.taken == self.last + (self.job["profiled"] if self.profiler else 0)
        if self.file is not None and self.taken == self.last and not self.has_checked:
            self.store_passed(wait=True)
            self.step, self.check = (
                Step(self.time.mark()),
                SelfCheck(self, self.job["pairs"], self.job["seed"]),
            )
            return
        self.step = Step(step.end if is_recorded else self.time.mark())
        self.own_ns += time.perf_counter_ns() - began_ns
        if self.file is not None and is_last:
            self.finish()

    def _forget_steps(self):
        self.file.restart()
        self.waiting.clear()
        self.taken, self.digest, self.validations, self.pauses = 0, None, 0, []
        self.counts, self.batches = dict.fromkeys(self.counts, 0), Counter()

    def _checked(self):
        """A step of the self-check ends here."""
        self.closed += 1
        is_last = self.check.step_ended(self.step)
        self.depth = 0
        if is_last:
            self._end_check()
            self._profile(False)
            if self.profiler is None:
                self.finish()
        self.step = Step(self.time.mark())

    def _end_check(self):
        self.checked, self.check, self.has_checked = self.check.rows, None, True

    def _first_step_ended(self):
        device = next(
            (p.device for o in self.optimizers for g in o.param_groups for p in g["params"]),
            torch.device("cpu"),
        )
        if not self.names and torch.cuda.is_initialized():  # a script without an optimizer of torch
            device = torch.device("cuda", torch.cuda.current_device())
        if device.type == "cuda":
            self.time = DeviceTime(device)
        path = self.scratch / f"steps.rank{self.job['rank']}.raw"
        try:
            self.file = StepFile(path, self.last, self.job["identity"], further=self.job["profiled"])
        except FileExistsError:  # another process of this rank takes steps
            (self.scratch / f"processes.rank{self.job['rank']}").touch()
            self.is_done = True
            raise RuntimeError(
                f"bench: another process of rank {self.job['rank']} takes steps, too: bench starts the ranks, so the "
                "script must not start processes that train"
            ) from None
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        self.device = device
        self.file.barrier(time.perf_counter_ns())
        self.origin = self.time.mark()

    def step_ended(self, step):
        """Count the step and store its row, as soon as the device has passed it."""
        step.kind = (
            WARMUP if self.taken < self.job["warmup"] else MEASURED if self.taken < self.last else PROFILED
        )
        if self.digest is None:
            self.digest = step.digest
        if step.validation is not None:
            self.validations += 1
            if self.validations * 2 <= self.closed:  # in every other step it is a part of the training
                step.outside.insert(0, step.validation)  # it may contain others
                # its first batch comes before the first forward pass
                step.outside += [load[1] for load in step.loads if self.is_source_known and not load[0][0]]
        loads = [load for load in step.loads if load[0][0]] if self.is_source_known else step.loads
        step.spans += [("data", *load[1]) for load in loads]
        examples = sum(load[2] for load in loads) or step.examples or step.given[0]
        tokens = sum(load[3] for load in loads) or step.tokens or step.given[1]
        examples = self.job.get("examples_per_step") or step.said.get("examples") or examples
        tokens = step.said.get("tokens") or tokens
        if step.kind == MEASURED:
            self.counts["steps"] += 1
            self.counts["examples"] += examples
            self.counts["tokens"] += tokens
            self.batches[examples] += 1
        self._read_memory(step)
        step.loads = []
        self.taken += 1
        self.waiting.append(step)
        self.store_passed()
        if self.taken >= self.last and self.has_checked:
            self._profile(step.kind == PROFILED)

    def _read_memory(self, step):
        if self.device.type == "cuda":
            step.allocated = torch.cuda.max_memory_allocated(self.device)
            step.reserved = torch.cuda.max_memory_reserved(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
            # to pinned memory, so that nothing waits; the mark after it says when it has arrived
            on_device = [one for one in step.losses if isinstance(one, torch.Tensor)]
            if on_device:
                moved = [
                    one.to(self.device, torch.float32, non_blocking=True).reshape(()) for one in on_device
                ]
                total = torch.empty((), dtype=torch.float32, device="cpu", pin_memory=True)
                total.copy_(torch.stack(moved).sum(), non_blocking=True)
                step.losses = [total, *(one for one in step.losses if not isinstance(one, torch.Tensor))]
            step.passed = self.time.mark()
        elif time.perf_counter_ns() > self.memory_due:
            self.memory_due = time.perf_counter_ns() + _MEMORY_EVERY_NS
            with Path("/proc/self/statm").open() as statm:
                step.allocated = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def store_passed(self, wait=False):
        if wait and self.waiting and self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        while self.waiting and (
            wait or self.time.has_passed(getattr(self.waiting[0], "passed", self.waiting[0].end))
        ):
            self._store(self.waiting.popleft())

    def _store(self, step):
        elapsed = self.time.elapsed_ns
        phases = dict.fromkeys(("data", "forward", "backward", "optimizer"), 0)
        for name, begin, end in step.spans:
            if name == "-optimizer":
                phases["optimizer"] -= elapsed(begin, end)
            else:
                phases[name] += elapsed(begin, end)
        outside = sum(elapsed(*span) for span in apart(step.outside, elapsed))
        if step.outside:
            self.pauses.append((self.file.rows, outside / 1e9))
        step_ns = max(0, elapsed(step.start, step.end) - outside)
        self.origin_ns += elapsed(self.origin, step.end)
        self.origin = step.end
        self.file.store(
            step.kind,
            self.origin_ns - step_ns,
            phases["data"] if self.has_loader or "data" in self.named_phases else UNKNOWN_PHASE,
            phases["forward"] if self.has_forward or "forward" in self.named_phases else UNKNOWN_PHASE,
            phases["backward"] if self.has_backward else UNKNOWN_PHASE,
            phases["optimizer"],
            math.fsum(map(float, step.losses)) if step.losses else math.nan,
            step.allocated,
            step.reserved,
            step_ns,
        )

    # ---- profiled steps

    def _profile(self, is_profiled):
        """Profile the steps after the last measured one, if some are asked for."""
        if not self.job["profiled"] or self.problem is not None:
            return
        try:
            self._profile_next(is_profiled)
        except Exception as error:  # the script's own profiler may be running
            self.problem = f"{type(error).__name__}: {error}"

    def _profile_next(self, is_profiled):
        if self.profiler is None:
            self.profiler = events.start(self.device)
        elif is_profiled:
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            self.annotation.__exit__(None, None, None)
            self.groups[self.taken - 1] = events.used_groups(self.groups_before)
        if self.taken < self.last + self.job["profiled"]:
            self.groups_before = events.calls_of_groups()
            if self.device.type == "cuda":  # the step before may still be running
                torch.cuda.synchronize(self.device)
            self.annotation = torch.profiler.record_function(f"bench.step {self.taken}")
            self.annotation.__enter__()
        else:
            name = f"rank{self.job['rank']}.json"
            trace = self.scratch / f"trace.{name}.gz" if self.job.get("trace") else None
            events.stop(self.profiler, self.scratch / f"events.{name}", trace)

    # ---- the end of the script

    def finish(self):
        """End the script: it has taken all of its steps."""
        self.store_passed(wait=True)
        self.is_done = True
        parameters = {id(each): each for root in self.models.roots for each in root.parameters()} or {
            id(each): each for o in self.optimizers for g in o.param_groups for each in g["params"]
        }
        self._write(parameters=sum(each.numel() for each in parameters.values()))
        threading.Thread(target=_leave_late, daemon=True).start()
        raise SystemExit(0)

    def leave(self):
        """At the end of the process: say how far it came, if it did not come to the end."""
        if os.getpid() == self.pid and not self.is_done:
            self.is_done = True
            if self.check is not None:
                self.check.end()
                self._end_check()
            with contextlib.suppress(Exception):
                self.store_passed()
            with contextlib.suppress(Exception):  # the interpreter crashes if it ends with a running profiler
                if self.profiler is not None:
                    self.profiler.stop()
            self._write()

    def _write(self, **facts):
        is_cuda = isinstance(self.time, DeviceTime)
        facts |= {
            "script": {
                "steps": self.taken,
                "optimizers": self.names,
                "closing": self.job.get("step_optimizer")
                or (None if self.closing is None else self.names[self.closing]),
                "is_scripts_own": self.is_scripts_own,
                "has_own_loss": self.has_own_loss,
                "named_phases": sorted(self.named_phases),
                "models": [type(root).__name__ for root in self.models.roots],
                "has_loader": self.has_loader,
                "has_forward": self.has_forward,
                "has_backward": self.has_backward,
                "counts": self.counts,
                "batch": self.batches.most_common(1)[0][0] if self.batches else None,
                "digest": self.digest,
                "pauses": self.pauses[:10_000],
                "groups": self.groups,
                "world_size": events.world_size(),
                "profile_problem": self.problem,
                "own_ns": self.own_ns,
                "torch": torch.__version__,
            },
            "selfcheck": getattr(self, "checked", []),
            "device_name": torch.cuda.get_device_name(self.device) if is_cuda else None,
        }
        path = self.scratch / f"outcome.rank{self.job['rank']}.json"
        if not self.closed and path.exists():  # this is a process that the one that trains has started
            return
        temporary = path.with_suffix(f".{self.pid}.tmp")
        temporary.write_text(json.dumps(facts))
        temporary.rename(path)


def _whole(name, number):
    """The number. Raises TypeError if it is not a whole one; a tensor would make each step wait for the device."""
    if number is None or isinstance(number, int):
        return number
    if isinstance(number, torch.Tensor) or not hasattr(number, "__index__"):
        raise TypeError(
            f"bench_probe.step: {name} is a {type(number).__name__}: give a whole number, as in len(batch)"
        )
    return number.__index__()


def _leave_late():
    time.sleep(_LEAVE_S)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
