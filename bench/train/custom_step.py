"""Optimizer steps that a workload makes itself (`Workload.step`): several losses, several models, its own backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

from bench.measure.recorder import PHASES
from bench.train import named_losses
from bench.train.optimizer import apply, parameters_of

if TYPE_CHECKING:
    from torch.amp.grad_scaler import GradScaler

Phase = Literal["data", "forward", "backward", "optimizer"]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model, or a member of an nn.ModuleDict, with its optimizers."""

    optimizers: list[torch.optim.Optimizer]
    clip: Callable[[], None] | None = None
    """Clips the norm of its gradient; null clips nothing."""


class CustomStep:
    """The third argument of `Workload.step(model, batch, step)`: precision, updates and phases of one optimizer step.

    A phase lasts from the end of the phase before it. The time after the last one counts as `optimizer`."""

    def __init__(
        self,
        trained: Mapping[str, Trained],
        scaler: GradScaler | None,
        autocast: AbstractContextManager[Any],
        *,
        keeps_gradients: bool = False,
    ) -> None:
        """`trained`: by the member's name; a model without members has one item of any name. `keeps_gradients`: reset
        gradients to 0 instead of removing them."""
        self._trained = trained
        self._scaler = scaler
        self._autocast = autocast
        self._keeps_gradients = keeps_gradients
        self._mark: Callable[[], Any] = lambda: None
        self._marks: list[Any] = []
        self._updated: set[str] = set()
        """Members that this step has updated."""
        self._applied: list[object] = []
        """The objects by which the scaler knows the updates of this step."""
        self.index = -1
        """Number of this step, from 0, warm-up included; for what is not done in every step."""
        self.phases: list[Phase] = []
        """Names of the spans between the marks of this step."""

    @contextmanager
    def forward(self) -> Iterator[None]:
        """The phase `forward`, in the arithmetic of train.precision."""
        with self._autocast:
            yield
        self.end("forward")

    def backward(self, loss: torch.Tensor, **options: Any) -> None:
        """The phase `backward`: the loss's gradients, scaled under fp16. `options` are those of Tensor.backward."""
        self.scaled(loss).backward(**options)
        self.end("backward")

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss times the scale of fp16, for a backward of your own; in other precisions the loss."""
        return loss if self._scaler is None else self._scaler.scale(loss)

    def reset(self, *names: str) -> None:
        """Reset the gradients of these members [default: of the whole model], which another member's loss has left."""
        for trained in self._chosen("reset", names).values():
            for optimizer in trained.optimizers:
                optimizer.zero_grad(set_to_none=not self._keeps_gradients)

    def update(self, *names: str) -> None:
        """The phase `optimizer`: clip and apply the gradients of these members [default: of the whole model], and
        reset them. A member may be updated several times; under fp16 the scale stays the same until the step's end, so
        that it is that of all gradients."""
        chosen = self._chosen("update", names)
        for name, trained in chosen.items():
            if any(
                one.grad is not None for optimizer in trained.optimizers for one in parameters_of(optimizer)
            ):
                again = name in self._updated
                self._applied.append(apply(trained.optimizers, self._scaler, trained.clip, again=again))
        self._updated |= chosen.keys()
        self.reset(*names)
        self.end("optimizer")

    def end(self, phase: Phase) -> None:
        """The phase ends here; for parts of a step that have no method above."""
        if phase not in PHASES:
            raise ValueError(f"step.end({phase!r}): the phases are {', '.join(PHASES)}")
        self._marks.append(self._mark())
        self.phases.append(phase)

    def _chosen(self, method: str, names: tuple[str, ...]) -> Mapping[str, Trained]:
        for name in names:
            if name not in self._trained:
                raise ValueError(
                    f"step.{method}({name!r}): the model has the members {', '.join(self._trained)}"
                )
        return {name: self._trained[name] for name in names} if names else self._trained

    def make(self, step: Callable[[CustomStep], Any], mark: Callable[[], Any], marks: list[Any]) -> Any:
        """Call the workload's `step`, with the batch on the device. Returns the loss to record, a scalar, or a dict of
        it and others (named_losses). The phases' ends are appended to `marks`.

        Raises TypeError or ValueError if `step` returns no loss or updates nothing."""
        self._mark, self._marks, self._updated, self.phases = mark, marks, set(), ["data"]
        self.index += 1
        answer = step(self)
        loss = named_losses.trained(answer)
        if not isinstance(loss, torch.Tensor) or loss.shape != ():
            kind = f"shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else repr(loss)
            raise TypeError(f"it returned {kind}: return the loss to record, one scalar tensor")
        if not self._updated:
            raise ValueError("it trained nothing: call step.update() after step.backward(loss)")
        if self._scaler is not None:
            self._scaler.update()
        self._applied.clear()
        self.reset()  # one member's loss may leave gradients in another member
        self.phases.append("optimizer")
        return answer
