"""The losses of a step: the scalars on which `backward` is called, or those that the script gives."""

from __future__ import annotations

import functools
import math

import torch
from bench_probe import torch_private
from bench_probe.batches import local


def note_all(recorder, tensors):
    """Note the losses of a backward pass."""
    step = recorder.step
    if recorder.optimizer_began is not None and recorder.is_stepping():
        step.passes_in_optimizer += 1
        if step.passes_in_optimizer > 1:  # a closure that the optimizer calls again, as LBFGS does
            return
    tensors = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
    if not all(isinstance(one, torch.Tensor) and one.numel() == 1 for one in tensors):
        return  # the stages of a pipeline pass gradients of activations on, and edges of the graph
    for one in tensors:
        # the scaled loss divided by the number of micro-batches, for example, cannot be unscaled
        note(step, getattr(one, "_bench_unscaled", math.nan if step.is_scaled else one))


def note(step, loss):
    """Note the value at once, or a copy on the GPU: a script may reduce the loss in place for its log."""
    if isinstance(loss, torch.Tensor):
        try:
            loss = local(loss.detach())
            loss = loss.clone() if loss.is_cuda else loss.item()
        except (RuntimeError, TypeError, NotImplementedError):
            if type(loss) is torch.Tensor and not torch_private.is_wrapped(loss):
                raise
            return  # a subclass that has no value, or one of functorch
    step.losses.append(loss)


def around_scale(recorder, scale):
    """GradScaler multiplies the loss; remember what it was."""

    def scaled_to(scaled, outputs):
        if recorder.is_listening and scaled is not outputs:
            recorder.step.is_scaled = True
            is_one = isinstance(scaled, torch.Tensor)
            for after, before in [(scaled, outputs)] if is_one else zip(scaled, outputs, strict=False):
                if isinstance(after, torch.Tensor):
                    after._bench_unscaled = before.detach()

    remember = recorder.guarded("loss", scaled_to)

    @functools.wraps(scale)
    def call(scaler, outputs):
        scaled = scale(scaler, outputs)
        remember(scaled, outputs)
        return scaled

    return call
