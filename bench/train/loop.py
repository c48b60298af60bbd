"""The measured loop, the same for every workload, strategy and device.

A step has five time stamps: the rank asks for its batch | the batch is on the device | forward is done | backward is
done, with the communication that overlaps it | the optimizer is done. Nothing else happens inside a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import torch

from bench import workloads
from bench.measure.recorder import MEASURED, WARMUP
from bench.train import compilation, named_losses, precision
from bench.train import optimizer as optimizers
from bench.train.compilation import Compilations
from bench.train.custom_step import CustomStep, Trained
from bench.train.garbage import Garbage
from bench.train.members import Members, trained_members
from bench.train.named_losses import NamedLosses
from bench.train.optimizer import Ema

if TYPE_CHECKING:
    import numpy as np

    from bench.records.run_spec import RunSpec
    from bench.strategies import Strategy
    from bench.train.custom_step import Phase
    from bench.train.run_length import RunLength
    from bench.workloads import Batch, Workload


class Clock(Protocol):
    """Takes and stores time stamps: CpuClock or CudaClock."""

    @property
    def completed(self) -> int:
        """Number of steps whose rows are stored. The device has passed them, and copies that were queued before their
        `step_done`."""

    def barrier(self) -> int:
        """Set the run's common zero; call it right after the ranks' barrier. Returns the zero, by perf_counter_ns."""

    keep_idle: Callable[[int, int, int], None] | None
    """Called for each step of a pipeline: number, ns of forward and backward, ns of them in which a stage waited."""

    def mark(self) -> Any:
        """Mark the end of a phase. Returns a time, or an event that will have one."""

    def step_done(
        self, marks: list[Any], loss: torch.Tensor, kind: int, phases: Sequence[Phase] | None = None
    ) -> None:
        """`marks`: the step's start; the ends of its phases; its end. `phases` names them [default: data, forward and
        backward of each micro-batch, then the optimizer]."""

    def flush(self) -> None:
        """Complete every row, without a time limit; call it between two steps or after the last."""

    def resume(self) -> None:
        """Ignore the time since `flush`: it belongs to no step. Call it with the device idle."""

    def abandon(self) -> None:
        """Complete the rows that can be completed soon; call it after an error in a step or in a row."""


@dataclass(kw_only=True)
class Training:
    """A wrapped model and everything that an optimizer step needs."""

    spec: RunSpec
    workload: Workload
    strategy: Strategy
    own_model: torch.nn.Module
    """The model that the workload made. The strategy has distributed its parameters and may have wrapped it."""
    model: torch.nn.Module
    """The one to train: `own_model`, or what wraps it."""
    device: torch.device
    batches: Iterator[Batch]
    length: RunLength
    keep_named_losses: Callable[[np.ndarray[Any, np.dtype[Any]]], None] = lambda _rows: None
    """Stores rows of the table `named_losses`, at the end of each step."""
    reached_target: bool = field(default=False, init=False)
    """Whether a validation's loss was at most `measure.until_loss`."""
    ended_at: int | None = field(default=None, init=False)
    """Number of steps after which the training ended because its target was reached; null: the limit ends it."""

    def __post_init__(self) -> None:
        train = self.spec.train
        makes_steps = workloads.makes_steps(self.workload)
        members = trained_members(self.own_model) if makes_steps else {"": self.own_model}
        built = {name: optimizers.build(member, train, self.length) for name, member in members.items()}
        self.optimizers = [one for several in built.values() for one in several]
        self.schedules = optimizers.schedules(self.optimizers, train, self.length)
        self.scaler = precision.scaler(
            train.precision, self.device, sharded=getattr(self.strategy, "sharded_scaler", False)
        )
        self.autocast = precision.autocast(train.precision, self.device)
        replays_graphs = compilation.replays_graphs(train, self.device)
        self.strategy_makes_steps: bool = getattr(self.strategy, "makes_steps", False)
        self.keeps_gradients = replays_graphs and (train.accumulate > 1 or makes_steps)
        self._clip = self._clip_of(None)
        self.custom_step: CustomStep | None = None
        if makes_steps:
            trained = {
                name: Trained(optimizers=several, clip=self._clip_of(name)) for name, several in built.items()
            }
            self.custom_step = CustomStep(
                trained, self.scaler, self.autocast, keeps_gradients=self.keeps_gradients
            )
        self.ema = None if train.ema_decay is None else Ema(self.optimizers, train.ema_decay)
        self.loss: Any = getattr(self.workload, "loss", None)
        if train.compile_loss:  # traces into the model too; for validation the model is compiled by itself
            self.loss = torch.compile(self.loss, mode=train.compile_mode)
        if self.keeps_gradients:
            self.make_gradients()
        self.named_losses = NamedLosses(self.steps, self.device, self.keep_named_losses)
        self.garbage = Garbage(self.spec.measure.garbage_collection)
        self.compilations = Compilations()

    @property
    def steps(self) -> int:
        """Warm-up and measured optimizer steps together: the most, until the training ends at its target."""
        return self.length.steps if self.ended_at is None else self.ended_at

    def _clip_of(self, member: str | None) -> Callable[[], None] | None:
        """Clips the gradient of a member, or of the whole model; null if the suite clips nothing."""
        norm = self.spec.train.clip_norm
        if norm is None:
            return None
        if member is not None and isinstance(self.strategy, Members):
            return partial(self.strategy.clip_member, self.model, member, norm)
        return lambda: self.strategy.clip(self.model, norm)  # the strategy may be replaced after the training

    def make_gradients(self) -> None:
        """Make gradients that stay in place, so that micro-batches can be added to them. CUDA graphs would make the
        first gradient in their own memory, which the next replay overwrites; torch refuses to add to it."""
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)

    def run(self, clock: Clock, validate: Callable[[int], float | None]) -> None:
        """Take all warm-up and measured steps. `validate` is called with the number of steps done, between two steps
        and after the last; it returns the loss, the same on every rank. If one was at most `measure.until_loss`, the
        training ends at the first validation after a measured step."""
        measure = self.spec.measure
        every = measure.validate_every
        try:
            for steps, kind in self._stages():
                for step in steps:
                    if every > 0 and step > 0 and step % every == 0:
                        clock.flush()
                        self._validate(validate, step)
                        if self.reached_target and step > measure.warmup:
                            self.ended_at = step
                            return
                        clock.resume()
                    self.step(clock, kind)
            clock.flush()
        except Exception:
            clock.abandon()
            raise
        finally:
            self.garbage.release()
            self.named_losses.store(clock.completed)
        self._validate(validate, self.steps)

    def _stages(self) -> Iterator[tuple[range, int]]:
        """Ranges of consecutive steps and their kind. One-time work runs between ranges, outside every step."""
        warmup = self.spec.measure.warmup
        settled = max(0, warmup - 1)
        yield range(settled), WARMUP
        self.garbage.settle()
        yield range(settled, warmup), WARMUP
        self.compilations.measure()
        yield range(warmup, self.steps), MEASURED

    def _validate(self, validate: Callable[[int], float | None], step: int) -> None:
        self.garbage.pause()
        with self.compilations.outside_steps():
            loss = validate(step)
        target = self.spec.measure.until_loss
        if target is not None and loss is not None and loss <= target:
            self.reached_target = True

    def step(self, clock: Clock, kind: int) -> None:
        """One optimizer step."""
        marks = [clock.mark()]
        if self.custom_step is None:
            phases = None
            if self.strategy_makes_steps:
                loss, phases = self._made_by_the_strategy(clock.mark, marks)
            else:
                loss = self._accumulate(clock.mark, marks)
            self._update()
            marks.append(clock.mark())
            self.named_losses.step_done(self.spec.train.accumulate)
            clock.step_done(marks, loss, kind, phases)
        else:
            loss = self._own(self.custom_step, clock.mark, marks)
            marks.append(clock.mark())
            self.named_losses.step_done(1)
            clock.step_done(marks, loss, kind, self.custom_step.phases)
        self.named_losses.store(clock.completed)

    def unrecorded_step(self) -> None:
        """One optimizer step that is not recorded."""
        if self.custom_step is None:
            if self.strategy_makes_steps:
                self._made_by_the_strategy(lambda: None, [])
            else:
                self._accumulate(lambda: None, [])
            self._update()
        else:
            self._own(self.custom_step, lambda: None, [])

    def _own(self, custom_step: CustomStep, mark: Callable[[], Any], marks: list[Any]) -> torch.Tensor:
        """The step that the workload makes itself."""
        batch = self._batch()
        marks.append(mark())
        with self.strategy.accumulating(self.model, True):
            answer = custom_step.make(partial(self.workload.step, self.model, batch), mark, marks)  # type: ignore[attr-defined] # optional
        self._updated()
        if isinstance(answer, dict):
            self.named_losses.add(answer)
        loss: torch.Tensor = named_losses.trained(answer).detach()
        return loss

    def _batch(self) -> Batch:
        """The next batch, on the device."""
        batch = next(self.batches)
        if self.device.type == "cpu":
            return batch
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}

    def _loss_of(
        self, model: torch.nn.Module, batch: Batch, note: Callable[[dict[str, torch.Tensor]], None]
    ) -> torch.Tensor:
        """The loss to train, in the arithmetic of train.precision. `note` is called with named losses."""
        with self.autocast:
            loss = self.loss(model, batch)
            if isinstance(loss, dict):
                note(loss)
                loss = loss[named_losses.TRAINED]
        trained: torch.Tensor = loss
        return trained

    def _accumulate(self, mark: Callable[[], Any], marks: list[Any]) -> torch.Tensor:
        micro_batches = self.spec.train.accumulate
        total: Any = None
        for micro in range(micro_batches):
            batch = self._batch()
            marks.append(mark())
            with self.strategy.accumulating(self.model, micro == micro_batches - 1):
                loss = self._loss_of(self.model, batch, self.named_losses.add)
                if micro_batches > 1:
                    loss = loss / micro_batches
                marks.append(mark())
                (loss if self.scaler is None else self.scaler.scale(loss)).backward()
                marks.append(mark())
            total = loss.detach() if total is None else total + loss.detach()
        assert isinstance(total, torch.Tensor)
        return total

    def _made_by_the_strategy(
        self, mark: Callable[[], Any], marks: list[Any]
    ) -> tuple[torch.Tensor, list[Phase]]:
        """Forward and backward of all micro-batches, in the strategy's order. Returns the loss, and the phase of each
        span between the marks, to which the one of the optimizer is to be added."""
        batches = [self._batch() for _ in range(self.spec.train.accumulate)]
        phases: list[Phase] = ["data"]
        marks.append(mark())

        def ended(phase: Phase) -> None:
            marks.append(mark())
            phases.append(phase)

        # torch calls the loss of the first micro-batch once more, to learn the shapes that stages exchange
        named: dict[int, dict[str, torch.Tensor]] = {}

        def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
            return self._loss_of(model, batch, partial(named.__setitem__, id(batch)))

        loss: torch.Tensor = self.strategy.forward_backward(self.model, loss_of, batches, ended)  # type: ignore[attr-defined] # optional
        for answer in named.values():
            self.named_losses.add(answer)
        return loss.detach(), [*phases, "optimizer"]

    def _update(self) -> None:
        optimizers.apply(self.optimizers, self.scaler, self._clip)
        if self.scaler is not None:
            self.scaler.update()
        self._updated()
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=not self.keeps_gradients)

    def _updated(self) -> None:
        """Update the averages and the learning rates, which follow the optimizers in every step."""
        if self.ema is not None:
            self.ema.update()
        for schedule in self.schedules:
            schedule.step()
