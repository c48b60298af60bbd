"""The recorder inside a training script: a row for every optimizer step, without a change to the script.

    end of a step   where the optimizer's `step` returns (torch's global optimizer hooks)
    loss            the scalars on which `backward` is called
    data            `__next__` of torch's DataLoader
    forward         the outermost modules that hold the optimizers' parameters, found after the first step
    left out        validation (forward passes without gradients) and torch.save

The first step is not recorded, because its beginning is unknown. Nothing in a measured step waits for a GPU: on
CUDA the marks are events, and a row is stored once the device has passed them. The module needs the standard library
and torch 2.0.
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
from pathlib import Path

import torch
from bench_probe import events
from bench_probe.batches import local
from bench_probe.devices import Cpu, Cuda
from bench_probe.hooks import install
from bench_probe.models import Models
from bench_probe.profiled import Profile
from bench_probe.rows import Rows
from bench_probe.selfcheck import SelfCheck
from bench_probe.spans import Span, Step
from bench_probe.step_file import MEASURED, PROFILED, WARMUP, StepFile

RECORDER = None
"""This process's Recorder; null before torch is imported, and in a process that is not recorded."""
_LEAVE_S = 10.0
"""Time for a script to end after its last step: to close its files and its process group."""


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
        self.warmup, self.step_optimizer = job["warmup"], job.get("step_optimizer")
        self.examples_per_step = job.get("examples_per_step")
        self.last = job["warmup"] + job["steps"]
        """Number of training steps after which the script is ended."""
        self.device = Cpu()
        """The device that the script trains on, as soon as it has taken a step."""
        self.seen, self.named_phases = set(), set()
        """The phases that the hooks have seen in this script, and those that it marks with bench_probe.phase."""
        self.rows = None
        """The rows, in the process that takes the first step."""
        self.models = Models(self)
        self.profile = self.check = None
        """The parts of a run that follow the measured steps."""
        self.check_rows = []
        self.is_listening = True
        """Whether the hooks record: not in the bare steps of the self-check."""
        self.is_capturing = False
        """Whether a CUDA graph is being captured."""
        self.profilers = 0
        """Profilers of the script that are running."""
        self.of_optimizers = None
        """Handles of the hooks in optimizers, until torch.compile makes others."""
        self.is_copy = False
        """Whether this process is a fork of the one that is recorded."""
        self.is_done = False
        self.thread = None
        """The thread that trains; modules that other threads call are not counted."""

        # the step that is under way
        self.step = Step(None)
        self.depth = 0
        """Number of spans inside of each other."""
        self.open = None
        """The outermost span that is open, if it is a Span."""
        self.in_backward = self.close_after_backward = False
        self.stepping = self.optimizer_began = None
        """The optimizer whose `step` runs, and where it began. An optimizer that it calls, as ZeroRedundancyOptimizer
        does, is a part of it."""
        self.source = None
        """A list that holds whether the batches of the iterator that has loaded last are trained on."""
        self.is_source_known = False

        # all steps
        self.closed = 0
        """Steps that have ended, of every kind."""
        self.taken = self.validations = self.skipped = 0
        """Steps that were recorded, that held a validation, and that GradScaler skipped."""
        self.optimizers = weakref.WeakSet()
        self.names = []
        """Class of each optimizer, in the order of their first steps."""
        self.closing = None
        """Number of the optimizer that took its first step last, in the warm-up."""
        self.late = []
        """Numbers of the optimizers that took their first steps after the warm-up."""
        self.has_new_optimizer = self.has_new_closing = False
        self.is_scripts_own = False
        """Whether the script ends its steps itself, with bench_probe.step."""
        self.has_own_loss = False
        self.digest = None
        """Digest of the first recorded batch. It is read while `wants_digest`; that waits for a GPU."""
        self.wants_digest = True
        self.trained_elements = None
        """Elements of the optimizers' parameters, once the script has taken all its steps."""
        self.examples_from = None
        """The origin of the examples: bench_probe.step, loader, model, or compiled."""

    def is_mine(self):
        """Whether a call belongs to the training that is recorded."""
        return (
            self.is_listening
            and not self.is_capturing
            and (self.thread is None or self.thread == threading.get_ident())
        )

    def fall_silent(self):
        """In a fork of the process: a worker of a DataLoader must not use the device."""
        self.is_listening, self.is_copy = False, True

    # ---- optimizers

    def before_optimizer(self, optimizer, _arguments, _options):
        if self.is_copy:
            self._note_other_process()
        if self.stepping is None or self.stepping is optimizer or not self._is_stepping():
            self.stepping = optimizer
            self.optimizer_began = None
            if self.is_listening and not self.is_capturing:
                self.know(optimizer)
                self.optimizer_began = (self.device.mark(), len(self.step.spans))

    def _is_stepping(self):
        """Whether `stepping` runs, which may have raised."""
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_name == "wrapper" and frame.f_locals.get("self") is self.stepping:
                return True
            frame = frame.f_back
        return False

    def after_optimizer(self, optimizer, _arguments, _options):
        if self.stepping is not optimizer:
            return
        began, self.stepping, self.optimizer_began = self.optimizer_began, None, None
        if began is not None and self.depth == 0:  # in a span its time belongs to that, as in backward
            begin, first = began
            spans = self.step.spans
            if len(spans) > first:  # a closure has run forward and backward inside of the optimizer's step
                self.step.in_optimizer = [*self.step.in_optimizer, *spans[first:]]
            spans.append(("optimizer", begin, self.device.mark()))
            self.seen.add("optimizer")
        if not self.closes(optimizer):
            self._follow(optimizer)
        elif self.in_backward:
            self.close_after_backward = True
        else:
            self.close()

    def know(self, optimizer):
        if getattr(optimizer, "_bench_number", None) is None:
            optimizer._bench_number = len(self.names)
            self.optimizers.add(optimizer)
            self.names.append(type(optimizer).__name__)
            self.has_new_optimizer = True
            if self.taken < self.warmup:
                self.closing = optimizer._bench_number
                self.has_new_closing = self.step_optimizer is None
            else:
                self.late.append(optimizer._bench_number)

    def _follow(self, optimizer):
        """Let an optimizer from after the warm-up end the steps, if it takes two steps while `closing` takes none. The
        time in between belongs to no row."""
        number = getattr(optimizer, "_bench_number", None)
        if self.is_scripts_own or self.step_optimizer is not None or number not in self.late:
            return
        self.step.late_steps += 1
        if self.step.late_steps > 1:
            self.closing, self.has_new_optimizer = number, False
            self.models.find()
            self.step = Step(self.device.mark())

    def closes(self, optimizer):
        """Whether this optimizer's step ends the training step: the one that the user names, else the one that took its
        first step last."""
        if self.is_scripts_own:
            return False
        number, wanted = getattr(optimizer, "_bench_number", None), self.step_optimizer
        return number == self.closing if wanted is None else wanted in (type(optimizer).__name__, str(number))

    # ---- phases and losses

    def span(self, phase):
        """For bench_probe.phase."""
        if self.is_mine():
            self.named_phases.add(phase)
        return Span(self, phase)

    def may_be_forward(self):
        """Whether a call of a model is a forward pass here: in no span, or in one that the script calls so."""
        return self.depth == 0 or (self.depth == 1 and self.open is not None and self.open.phase == "forward")

    def note_losses(self, tensors):
        """The losses of a backward pass, at once or a copy: a script may reduce them in place for its log."""
        if self.optimizer_began is not None and self._is_stepping():
            self.step.passes_in_optimizer += 1
            if self.step.passes_in_optimizer > 1:  # a closure that the optimizer calls again, as LBFGS does
                return
        tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
        if any(one.numel() != 1 for one in tensors[1:]) or tensors[0].numel() != 1:
            return
        for one in tensors:
            # the scaled loss divided by the number of micro-batches, for example, cannot be unscaled
            self._note_loss(getattr(one, "_bench_unscaled", math.nan if self.step.is_scaled else one))

    def _note_loss(self, loss):
        if isinstance(loss, torch.Tensor):
            loss = local(loss.detach())
            loss = loss.clone() if loss.is_cuda else loss.item()
        self.step.losses.append(loss)

    # ---- the end of a step

    def step_of_the_script(self, loss, examples, tokens):
        if not self.is_scripts_own:
            if self.taken > self.warmup:
                raise RuntimeError(
                    f"bench: bench_probe.step was called for the first time after {self.taken} steps of an optimizer: "
                    f"ask for more warm-up steps than that (--warmup; now {self.job['warmup']})"
                )
            self.is_scripts_own = self.has_new_closing = True
        self.step.said = (_whole("examples", examples), _whole("tokens", tokens))
        if loss is not None and self.is_listening:
            self.has_own_loss = True
            self.step.losses = []
            self._note_loss(loss)
        self.close()

    def close(self):
        """End the step here. Ends the script after the last one."""
        if self.is_done or self.is_copy or self.is_capturing:
            return
        step = self.step
        step.end = self.device.mark()
        self.closed += 1
        if self.open is not None:  # the part of the span that follows belongs to the next step
            step.spans.append((self.open.phase, self.open.begin, step.end))
        is_settled = not (self.rows is None or self.has_new_closing or self.has_new_optimizer)
        if self.check is not None:
            self.check.step_ended(step)
        elif is_settled:
            self.count(step)
        else:
            self._settle(step)
        if self.check is not None or self.profile is not None or self.taken == self.last:
            self._after_measured()
            is_settled = False
        self.step = Step(step.end if is_settled else self.device.mark())
        # a forward pass that raised has not been left
        self.depth, self.models.depth = 0, 0
        if self.open is not None:
            self.depth, self.open.begin = 1, self.step.start

    def _settle(self, step):
        """A step that the script began before the recorder knew what its steps are."""
        if self.rows is None:
            self._begin_rows()
        elif self.has_new_closing:  # the steps so far were parts of steps
            self.rows.restart()
            self.taken = self.validations = self.skipped = 0
            self.wants_digest = True
        else:
            self.count(step)
        if self.has_new_optimizer:
            self.models.find()
        self.has_new_optimizer = self.has_new_closing = False

    def _begin_rows(self):
        self.thread = threading.get_ident()
        used = {p.device for o in self.optimizers for group in o.param_groups for p in group["params"]}
        gpus = [device for device in used if device.type == "cuda"]
        if gpus:
            self.device = Cuda(min(gpus, key=lambda gpu: gpu.index))
        elif not used and torch.cuda.is_initialized():  # a script without an optimizer of torch
            self.device = Cuda(torch.device("cuda", torch.cuda.current_device()))
        path = self.scratch / f"steps.rank{self.job['rank']}.raw"
        try:
            file = StepFile(path, self.last, self.job["identity"], further=self.job["profiled"])
        except FileExistsError:
            self._note_other_process()
            self.is_done, self.is_listening = True, False
            raise RuntimeError(
                f"bench: another process of rank {self.job['rank']} takes steps, too: bench starts the ranks, so the "
                "script must not start processes that train"
            ) from None
        self.rows = Rows(file, self.device, self.seen, self.named_phases)

    def _note_other_process(self):
        (self.scratch / f"processes.rank{self.job['rank']}").touch()

    def count(self, step):
        """Count the step, and hand it to the rows."""
        if self.closed <= 5 and not self.models.were_all_called():
            self.models.look_deeper()
        taken = self.taken
        step.kind = WARMUP if taken < self.warmup else MEASURED if taken < self.last else PROFILED
        self.taken = taken + 1
        if self.wants_digest:
            self.digest, self.wants_digest = step.digest, False
        if self.is_source_known and len(step.loads) > 1:
            step.validations += _loops([load for load in step.loads if not load[0][0]])
        has_pause = bool(step.validations) and self._has_pause(step)
        examples = tokens = 0
        for source, begin, end, loaded_examples, loaded_tokens in step.loads:
            if source[0] or not (self.is_source_known or has_pause):
                self.seen.add("data")
                step.spans.append(("data", begin, end))
                examples += loaded_examples
                tokens += loaded_tokens
            elif has_pause:  # the first batch of a validation comes before its first forward pass
                step.outside.append((begin, end))
        if step.kind == MEASURED:
            said_examples, said_tokens = step.said
            if self.examples_from is None:
                self.examples_from = _origin(said_examples, examples, step)
            self.rows.count(
                self.examples_per_step or said_examples or examples or step.examples or step.given[0],
                said_tokens or tokens or step.tokens or step.given[1],
            )
        self.rows.add(step)

    def _has_pause(self, step):
        """Leave the step's validation out, unless it is a part of the training: in every other step, or more often."""
        self.validations += 1
        if self.validations * 2 >= self.taken:
            return False
        step.outside += step.validations
        return True

    # ---- the end of the script

    def _after_measured(self):
        """A step has ended that is the last measured one, or that follows it: a pair of the self-check comes next, or a
        profiled step, or the end."""
        if self.check is None and self.profile is None and self.job.get("pairs"):
            self.rows.store_all()
            self.check = SelfCheck(self, self.job["pairs"], self.job["seed"])
        if self.check is not None:
            if not self.check.is_done:
                return
            self._end_check()
            self.is_listening = True
        if self.profile is None:
            is_taken = self.profilers > 0 or torch._C._autograd._profiler_enabled()
            self.profile = Profile(self.job, self.scratch, self.device, self.taken, is_taken)
        self.profile.next()
        if self.profile.is_done:
            self.finish()

    def _end_check(self):
        self.check_rows, self.check = self.check.rows, None

    def finish(self):
        """End the script: it has taken all of its steps."""
        self.rows.store_all()
        self.is_done, self.is_listening = True, False
        trained = {id(each): each for o in self.optimizers for g in o.param_groups for each in g["params"]}
        parameters = {id(each): each for root in self.models.roots for each in root.parameters()} or trained
        self.trained_elements = sum(each.numel() for each in trained.values())
        self._write(parameters=sum(each.numel() for each in parameters.values()))
        threading.Thread(target=_leave_late, daemon=True).start()
        raise SystemExit(0)

    def leave(self):
        """At the end of the process: say how far it came, if it did not come to the end."""
        if self.is_copy or self.is_done:
            return
        self.is_done, self.is_listening = True, False
        if self.check is not None:
            self.check.end()
            self._end_check()
        if self.rows is not None:
            with contextlib.suppress(Exception):
                self.rows.store_passed()
        if self.profile is not None:
            self.profile.abandon()
        self._write()

    def _write(self, **facts):
        rows, wanted = self.rows, self.step_optimizer
        counts = rows.counts if rows else {"examples": 0, "tokens": 0, "steps": 0}
        facts |= {
            "script": {
                "steps": self.taken,
                "optimizers": self.names,
                "late_optimizers": self.late,
                "closing": wanted or (None if self.closing is None else self.names[self.closing]),
                "is_scripts_own": self.is_scripts_own,
                "has_own_loss": self.has_own_loss,
                "named_phases": sorted(self.named_phases),
                "trained_elements": self.trained_elements,
                "models": [type(root).__name__ for root in self.models.roots],
                "seen": sorted(self.seen),
                "examples_from": self.examples_from,
                "counts": {**counts, "skipped": self.skipped},
                "batch": rows.batches.most_common(1)[0][0] if rows and rows.batches else None,
                "digest": self.digest,
                "pauses": rows.pauses[:10_000] if rows else [],
                "groups": self.profile.groups if self.profile else {},
                "world_size": events.world_size(),
                "profile_problem": self.profile.problem if self.profile else None,
                "torch": torch.__version__,
            },
            "selfcheck": self.check_rows,
            "device_name": self.device.name,
        }
        path = self.scratch / f"outcome.rank{self.job['rank']}.json"
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(facts))
        if self.closed:
            temporary.rename(path)
        else:  # perhaps a process that the one that trains has started, whose outcome stays
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
            temporary.unlink()


def _loops(loads):
    """Begin and end of each loop over a DataLoader whose batches are not trained on: two or more in a row."""
    spans = {}
    for source, begin, end, *_ in loads:
        first, _, number = spans.get(id(source), (begin, end, 0))
        spans[id(source)] = (first, end, number + 1)
    return [(begin, end) for begin, end, number in spans.values() if number > 1]


def _origin(said, loaded, step):
    """The origin of the step's examples; null if they are not known."""
    origins = {"bench_probe.step": said, "loader": loaded, "model": step.examples, "compiled": step.given[0]}
    return next((origin for origin, number in origins.items() if number), None)


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
