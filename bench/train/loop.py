"""The measured loop: written once, the same for every workload, strategy and device.

Five stamps per step: the rank asks for its batch | it is on the device | forward is done | backward is done,
with the communication that overlaps it | the optimizer's work is done. Nothing else happens inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from bench.measure.recorder import MEASURED, WARMUP
from bench.train import compilation, precision
from bench.train import optimizer as optimizers
from bench.train.compilation import Compilations
from bench.train.ema import Ema
from bench.train.garbage import Garbage

if TYPE_CHECKING:
    from bench.records.run_spec import RunSpec
    from bench.strategies import Strategy
    from bench.workloads import Batch, Workload


class Clock(Protocol):
    """Stamps and stores; CpuClock and CudaClock are the two."""

    def barrier(self) -> int:
        """The run's common zero: call right after the ranks' barrier. Returns it, of perf_counter_ns."""

    def mark(self) -> Any:
        """A phase border: a time, or what will become one."""

    def step_done(self, marks: list[Any], loss: torch.Tensor, kind: int) -> None:
        """`marks`: the step's start; the end of data, forward and backward of each micro-batch; its end."""

    def flush(self) -> None:
        """Complete every row, whatever it takes; between two steps, or after the last."""

    def resume(self) -> None:
        """What came since `flush` belongs to no step; with the device idle."""

    def abandon(self) -> None:
        """Complete what rows can be completed soon, after a step that raised, or a row."""


@dataclass(kw_only=True)
class Training:
    """A wrapped model and all that one optimizer step needs."""

    spec: RunSpec
    workload: Workload
    strategy: Strategy
    model: torch.nn.Module
    device: torch.device
    batches: Iterator[Batch]
    steps: int
    """Warm-up and measured optimizer steps together."""

    def __post_init__(self) -> None:
        train = self.spec.train
        self.optimizer = optimizers.build(self.model.parameters(), train)
        self.schedule = optimizers.schedule(self.optimizer, train, self.steps)
        self.scaler = precision.scaler(
            train.precision, self.device, sharded=getattr(self.strategy, "sharded_scaler", False)
        )
        self.autocast = precision.autocast(train.precision, self.device)
        self.ema = None if train.ema_decay is None else Ema(self.optimizer, train.ema_decay)
        self.loss = self.workload.loss
        if train.compile_loss:  # traces into the model, which stays compiled by itself for validation
            self.loss = torch.compile(self.loss, mode=train.compile_mode)
        self.keeps_gradients = train.accumulate > 1 and compilation.replays_graphs(train, self.device)
        if self.keeps_gradients:
            self.make_gradients()
        self.garbage = Garbage(self.spec.measure.garbage_collection)
        self.compilations = Compilations()

    def make_gradients(self) -> None:
        """Gradients that stay where they are, for micro-batches to be added to. CUDA graphs would make a parameter's
        first one in memory of their own, which the next replay overwrites, and torch refuses to add to it."""
        for parameter in self.model.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)

    def run(self, clock: Clock, validate: Callable[[int], None]) -> None:
        """All warm-up and measured steps. `validate` gets the steps done, between two steps and after the last."""
        try:
            for steps, kind in self._stages():
                for step in steps:
                    if self._validates_before(step):
                        clock.flush()
                        self._validate(validate, step)
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
        """Steps in a row and their kind; what is done once, between two steps, costs no step here."""
        warmup = self.spec.measure.warmup
        settled = max(0, warmup - 1)
        yield range(settled), WARMUP
        self.garbage.settle()
        yield range(settled, warmup), WARMUP
        self.compilations.measure()
        yield range(warmup, self.steps), MEASURED

    def _validate(self, validate: Callable[[int], None], step: int) -> None:
        self.garbage.pause()
        with self.compilations.aside():
            validate(step)

    def _validates_before(self, step: int) -> bool:
        every = self.spec.measure.validate_every
        return every > 0 and step > 0 and step % every == 0

    def step(self, clock: Clock, kind: int) -> None:
        """One optimizer step."""
        marks = [clock.mark()]
        loss = self._accumulate(clock.mark, marks)
        self._update()
        marks.append(clock.mark())
        clock.step_done(marks, loss, kind)

    def unrecorded_step(self) -> None:
        """One optimizer step of which nothing is kept."""
        self._accumulate(_no_mark, [])
        self._update()

    def _accumulate(self, mark: Callable[[], Any], marks: list[Any]) -> torch.Tensor:
        micro_batches = self.spec.train.accumulate
        total: Any = None
        for micro in range(micro_batches):
            batch = self._to_device(next(self.batches))
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
        if self.spec.train.clip_norm is not None:
            if self.scaler is not None:
                self.scaler.unscale_(self.optimizer)
            self.strategy.clip(self.model, self.spec.train.clip_norm)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        if self.ema is not None:
            self.ema.update()
        if self.schedule is not None:
            self.schedule.step()
        self.optimizer.zero_grad(set_to_none=not self.keeps_gradients)

    def _to_device(self, batch: Batch) -> Batch:
        if self.device.type == "cpu":
            return batch
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}


def _no_mark() -> None:
    """In place of a clock's."""
