"""The measured loop, the same for every workload, strategy and device.

A step has five time stamps: the rank asks for its batch | the batch is on the device | forward is done | backward is
done, with the communication that overlaps it | the optimizer is done. Nothing else happens inside a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import torch

from bench.measure.recorder import MEASURED, WARMUP
from bench.train import compilation, optimizer, precision
from bench.train.compilation import Compilations
from bench.train.garbage import Garbage
from bench.train.optimizer import Ema

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec
    from bench.strategies import Strategy
    from bench.workloads import Batch, Workload


class Clock(Protocol):
    """Takes and stores time stamps: CpuClock or CudaClock."""

    def barrier(self) -> int:
        """Set the run's common zero; call it right after the ranks' barrier. Returns the zero, by perf_counter_ns."""

    def mark(self) -> Any:
        """Mark the end of a phase. Returns a time, or an event that will have one."""

    def step_done(self, marks: list[Any], loss: torch.Tensor, kind: int) -> None:
        """`marks`: the step's start; for each micro-batch the ends of data, forward and backward; the step's end."""

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
    limit: int
    """Warm-up and measured optimizer steps together."""
    reached_target: bool = field(default=False, init=False)
    """Whether a validation's loss was at most `measure.until_loss`."""
    ended_at: int | None = field(default=None, init=False)
    """Number of steps after which the training ended because its target was reached; null: the limit ends it."""

    def __post_init__(self) -> None:
        train = self.spec.train
        self.optimizer = optimizer.build(self.own_model, train)
        self.schedule = optimizer.schedule(self.optimizer, train, self.limit)
        self.scaler = precision.scaler(train.precision, self.device, sharded=self.strategy.sharded_scaler)
        self.autocast = precision.autocast(train.precision, self.device)
        self.keeps_gradients = compilation.replays_graphs(train, self.device) and train.accumulate > 1
        self.ema = None if train.ema_decay is None else Ema(self.optimizer, train.ema_decay)
        self.loss: Callable[[torch.nn.Module, Batch], torch.Tensor] = self.workload.loss
        if train.compile_loss:  # traces into the model too; for validation the model is compiled by itself
            self.loss = torch.compile(self.loss, mode=train.compile_mode)
        if self.keeps_gradients:
            self.make_gradients()
        self.garbage = Garbage(self.spec.measure.garbage_collection)
        self.compilations = Compilations()

    @property
    def steps(self) -> int:
        """Warm-up and measured optimizer steps together: the most, until the training ends at its target."""
        return self.limit if self.ended_at is None else self.ended_at

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
        loss = self._accumulate(clock.mark, marks)
        self._update()
        marks.append(clock.mark())
        clock.step_done(marks, loss, kind)

    def unrecorded_step(self) -> None:
        """One optimizer step that is not recorded."""
        self._accumulate(lambda: None, [])
        self._update()

    def _batch(self) -> Batch:
        """The next batch, on the device."""
        batch = next(self.batches)
        if self.device.type == "cpu":
            return batch
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}

    def _accumulate(self, mark: Callable[[], Any], marks: list[Any]) -> torch.Tensor:
        micro_batches = self.spec.train.accumulate
        total: Any = None
        for micro in range(micro_batches):
            batch = self._batch()
            marks.append(mark())
            with self.strategy.accumulating(self.model, micro == micro_batches - 1):
                with self.autocast:
                    loss = self.loss(self.model, batch)
                if micro_batches > 1:
                    loss = loss / micro_batches
                marks.append(mark())
                (loss if self.scaler is None else self.scaler.scale(loss)).backward()
                marks.append(mark())
            total = loss.detach() if total is None else total + loss.detach()
        assert isinstance(total, torch.Tensor)
        return total

    def _update(self) -> None:
        """Clip and apply the gradients, update the averages and the learning rate, and reset the gradients."""
        norm = self.spec.train.clip_norm
        if norm is not None:
            if self.scaler is not None:
                self.scaler.unscale_(self.optimizer)
            self.strategy.clip(self.model, norm)
        if self.scaler is None:
            self.optimizer.step()
        else:  # it skips the step if a gradient has overflowed
            self.scaler.step(self.optimizer)
            self.scaler.update()
        if self.ema is not None:
            self.ema.update()
        if self.schedule is not None:
            self.schedule.step()
        self.optimizer.zero_grad(set_to_none=not self.keeps_gradients)
