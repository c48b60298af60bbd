"""The hooks in torch that call the recorder: nothing in the script changes."""

from __future__ import annotations

import atexit
import functools
import os
import threading

import torch
from bench_probe import loaders, losses, spawned, torch_private
from bench_probe.batches import digest, has_gradient, is_unreal
from bench_probe.imports import after_import
from bench_probe.pauses import SAVING
from bench_probe.spans import Span
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
"""Whether torch.compile reads the code that asks, instead of running it."""


_SAVING = {
    "torch.distributed.checkpoint.state_dict_saver": ("save", "async_save", "save_state_dict"),
    "safetensors.torch": ("save_file",),
}
"""Functions that write checkpoints, in modules that `import torch` does not import."""


def install(recorder):
    recorder.of_optimizers = (
        register_optimizer_step_pre_hook(recorder.before_optimizer),
        register_optimizer_step_post_hook(recorder.after_optimizer),
    )
    torch.autograd.backward = _around_backward(recorder, torch.autograd.backward)
    torch.save = _left_out(recorder, torch.save)
    for module, names in _SAVING.items():
        after_import(module, functools.partial(_leave_out, recorder, names))
    torch.compile = _around_compile(recorder, torch.compile)
    torch.jit.script = _without_hooks(recorder, torch.jit.script)
    profile = torch.profiler.profile
    profile.start, profile.stop = _counted(recorder, profile.start, 1), _counted(recorder, profile.stop, -1)
    graph = torch.cuda.CUDAGraph
    graph.capture_begin = _begins_capture(recorder, graph.capture_begin)
    graph.capture_end = _ends_capture(recorder, graph.capture_end)
    loaders.install(recorder)
    for scaler in {
        torch.cuda.amp.GradScaler,
        getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler),
    }:
        if "step" in vars(scaler):
            scaler.scale, scaler.step = (
                losses.around_scale(recorder, scaler.scale),
                _or_skipped(recorder, scaler.step),
            )
    spawned.note_starts(recorder)
    atexit.register(recorder.guarded("ending", recorder.ending.leave))
    os.register_at_fork(after_in_child=recorder.fall_silent)


def _around_backward(recorder, backward):
    note = recorder.guarded("loss", losses.note_all)
    close = recorder.guarded("step", recorder.close)

    @functools.wraps(backward)
    def call(tensors, *arguments, **options):
        if tensors.is_meta if type(tensors) is torch.Tensor else is_unreal(tensors):
            return backward(tensors, *arguments, **options)
        recorder.has_backward = True
        if recorder.thread is None:
            recorder.thread = threading.get_ident()
        if not recorder.in_backward and recorder.is_mine():
            if recorder.owes_ending:
                recorder.go_on()
            recorder.seen.add("backward")
            note(recorder, tensors)
            if "examples" not in recorder.errors:
                try:
                    recorder.loaders.train()
                except Exception:
                    recorder.turn_off("examples")
        outer, recorder.in_backward = recorder.in_backward, True
        try:
            with Span(recorder, "backward"):
                result = backward(tensors, *arguments, **options)
        finally:
            recorder.in_backward = outer
        if recorder.close_after_backward and not outer:
            recorder.close_after_backward = False
            close()
        return result

    return call


def _left_out(recorder, function):
    begins = recorder.guarded(
        "pauses", lambda: recorder.device.mark() if recorder.is_mine() and not recorder.depth else None
    )
    ends = recorder.guarded(
        "pauses", lambda begin: recorder.step.outside.append((SAVING, begin, recorder.device.mark()))
    )

    @functools.wraps(function)
    def call(*arguments, **options):
        begin = begins()
        try:
            return function(*arguments, **options)
        finally:
            if begin is not None:
                ends(begin)

    return call


def _leave_out(recorder, names, module):
    for name in names:
        if hasattr(module, name):  # torch 2.0 has fewer
            setattr(module, name, _left_out(recorder, getattr(module, name)))


def _without_hooks(recorder, compiler):
    @functools.wraps(compiler)
    def call(*arguments, **options):
        with recorder.models.without_hooks():
            return compiler(*arguments, **options)

    return call


def _counted(recorder, function, change):
    """The script's profilers that have started and not stopped, also those that wait for their first step."""

    @functools.wraps(function)
    def call(profile):
        recorder.ending.profilers += change
        return function(profile)

    return call


def _begins_capture(recorder, begin):
    """A CUDA graph that is being captured takes neither time nor marks, and nothing may wait for the device."""

    @functools.wraps(begin)
    def call(*arguments, **options):
        result = begin(*arguments, **options)  # it raises if nothing can be captured
        recorder.is_capturing = True
        return result

    return call


def _ends_capture(recorder, end):
    @functools.wraps(end)
    def call(*arguments, **options):
        recorder.is_capturing = False
        return end(*arguments, **options)

    return call


def _around_compile(recorder, compiler):
    """Keep the compiler out of the probe, and see the functions that it compiles: in these no hook is called."""

    @functools.wraps(compiler)
    def call(model=None, *arguments, **options):
        _hide(recorder)
        compiled = compiler(model, *arguments, **options)
        if model is None:  # a decorator with options
            return lambda function: _seen(recorder, compiled(function), function)
        return _seen(recorder, compiled, model)

    return call


def _hide(recorder):
    """Call the hooks of optimizers and of backward outside of compiled code."""
    if recorder.of_optimizers is None:
        return
    disable = torch_private.disable
    for hook in recorder.of_optimizers:
        hook.remove()
    recorder.of_optimizers = None
    register_optimizer_step_pre_hook(disable(recorder.before_optimizer))
    register_optimizer_step_post_hook(disable(recorder.after_optimizer))
    torch.autograd.backward = disable(torch.autograd.backward)


def _seen(recorder, compiled, function):
    """A compiled function whose calls with gradients are forward passes, if no other span is in them."""
    if isinstance(function, torch.nn.Module):
        return compiled

    def begin_forward(arguments, options):
        step = recorder.step
        if step.given is None:
            step.given = recorder.models.count(arguments, options)
        if recorder.counting.wants_digest and step.digest is None:
            step.digest = digest((arguments, options))
        return recorder.device.mark()

    def end_forward(begin, result):
        if not recorder.depth and has_gradient(result):
            recorder.seen.add("forward")
            recorder.step.spans.append(("forward", begin, recorder.device.mark()))

    begins, ends = recorder.guarded("forward", begin_forward), recorder.guarded("forward", end_forward)

    @functools.wraps(compiled)
    def call(*arguments, **options):
        if (
            is_compiling()
            or not recorder.is_mine()
            or not recorder.may_be_forward()
            or not torch.is_grad_enabled()
        ):
            return compiled(*arguments, **options)
        step, spans, begin = recorder.step, len(recorder.step.spans), begins(arguments, options)
        result = compiled(*arguments, **options)
        if begin is not None and recorder.step is step and len(step.spans) == spans:
            ends(begin, result)
        return result

    return call


def _or_skipped(recorder, step):
    """A step that GradScaler skips because of an overflow is a step, too."""

    def skipped(optimizer, step_before):
        if recorder.step is step_before:  # it has not ended
            recorder.closing.know(optimizer)
            if recorder.closing.closes(optimizer) and not recorder.continues():
                recorder.counting.skipped += 1
                recorder.close()

    ends = recorder.guarded("step", skipped)

    @functools.wraps(step)
    def call(scaler, optimizer, *arguments, **options):
        before = recorder.step
        result = step(scaler, optimizer, *arguments, **options)
        ends(optimizer, before)
        return result

    return call
