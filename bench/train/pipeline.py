"""A rank's stages of a pipeline, on torch.distributed.pipelining.

A workload knows only whole models: its `loss` calls the model once. Every rank calls `loss`, and its model is a stage:
the first stage is called with what the model gets, and passes its output on in place of returning it; the last one
gets the output of the stage before and returns what the model would. So the loss is computed on the last stage alone,
and arguments of the model, such as keys for dropout, are known on every stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules
from torch.distributed.pipelining.schedules import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)

from bench.measure.recorder import UNKNOWN_LOSS

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    from bench.strategies._layout import Schedule
    from bench.workloads import Batch

    Call = Callable[[nn.Module, Batch], Any]
    """Calls the model once: Workload.loss or Workload.evaluate."""

_SINGLE = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
_SEVERAL = {"interleaved": ScheduleInterleaved1F1B, "zero_bubble": ScheduleInterleavedZeroBubble}
_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
_HEADER = 16
"""Numbers before a tensor that validation sends: dtype, dimensions, sizes."""


class _PassedOnError(BaseException):
    """Ends the call of a workload's method on every stage but the last. A BaseException, which a workload does not
    catch."""

    def __init__(self, output: torch.Tensor) -> None:
        self.output = output


class _Caller(nn.Module):
    """The model that a workload's method is given on this stage."""

    def __init__(self, stage: nn.Module, is_last: bool) -> None:
        super().__init__()
        self.stage = stage
        self.is_last = is_last
        self.x: torch.Tensor | None = None
        """The output of the stage before; null on the first."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        output = self.stage(self.x, *args, **kwargs)
        if self.is_last:
            return output
        raise _PassedOnError(output)


class Stage(nn.Module):
    """A stage of the model, with what it does with a micro-batch."""

    def __init__(self, stage: nn.Module, index: int, count: int) -> None:
        super().__init__()
        self.caller = _Caller(stage, index == count - 1)
        self.index = index
        self.is_first = index == 0
        self.call: Call | None = None
        self.batches: Sequence[Batch] = ()

    def forward(self, x: torch.Tensor | None, *, number: int) -> Any:
        """The stage's output for micro-batch `number`; on the last stage what `call` returns."""
        assert self.call is not None
        self.caller.x = None if self.is_first else x
        try:
            return self.call(self.caller, self.batches[number])
        except _PassedOnError as passed:
            return passed.output
        finally:
            self.caller.x = None


class _TimedStage(PipelineStage):
    """A stage that says when each part of its work ends."""

    ended: Callable[[Any], None]

    def forward_one_chunk(self, *args: Any, **kwargs: Any) -> Any:
        output = super().forward_one_chunk(*args, **kwargs)
        self.ended("forward")
        return output

    def backward_one_chunk(self, *args: Any, **kwargs: Any) -> None:
        super().backward_one_chunk(*args, **kwargs)
        self.ended("backward")

    def backward_weight_one_chunk(self, *args: Any, **kwargs: Any) -> None:
        super().backward_weight_one_chunk(*args, **kwargs)
        self.ended("backward")


class _Waits:
    """Says when a rank waits for another stage. torch's schedules do so in one function, which this object replaces
    while a schedule runs. All else between the stages' own work, such as gathering parameters, is work as well."""

    def __init__(self, ended: Callable[[Any], None]) -> None:
        self._ended = ended
        self._phase = "forward"
        self._wait = schedules._wait_batch_p2p

    def ended(self, phase: str) -> None:
        self._phase = phase
        self._ended(phase)

    def __enter__(self) -> _Waits:
        schedules._wait_batch_p2p = self._timed
        return self

    def __exit__(self, *_: object) -> None:
        schedules._wait_batch_p2p = self._wait

    def _timed(self, work: list[dist.Work]) -> None:
        self._ended(self._phase)
        self._wait(work)
        self._ended(f"idle_{self._phase}")


class Pipeline(nn.Module):
    """This rank's stages, in their order; they have all of its parameters."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)
        self._imagined: Sequence[Stage] = ()

    def connect(self, count: int, schedule: Schedule, device: torch.device, group: ProcessGroup) -> None:
        """Connect the stages, after they have been distributed further. `count`: stages on all ranks of `group`."""
        self._count = count
        self._schedule_name = schedule
        self._device = device
        self._group = group
        self._connected: list[Any] = [  # torch's schedules take a list of the base class
            _TimedStage(stage, stage.index, count, device, group=group) for stage in self._own()
        ]
        self._schedules: dict[int, Any] = {}

    def imagine(self, every: Sequence[Stage]) -> None:
        """For a rank without others: `every` stage of the model, from which the first step learns what they exchange.
        Real ranks tell each other."""
        self._imagined = every

    def _connect_imagined(self, loss: Call, batch: Batch) -> None:
        shapes: list[torch.Tensor] = [torch.zeros((), device=self._device)]
        with torch.no_grad():
            for stage in self._imagined:
                stage.call, stage.batches = loss, [batch]
                shapes.append(stage(shapes[-1], number=0))
        for one in shapes[1:]:
            one.requires_grad_()
        self._connected = [
            _TimedStage(
                stage,
                stage.index,
                self._count,
                self._device,
                input_args=shapes[stage.index],
                output_args=shapes[stage.index + 1],
                group=self._group,
            )
            for stage in self._own()
        ]
        self._imagined = ()

    @property
    def own_stages(self) -> list[int]:
        """0-based numbers of this rank's stages."""
        return [stage.index for stage in self._own()]

    def _own(self) -> list[Stage]:
        return [stage for stage in self.stages if isinstance(stage, Stage)]

    def forward_backward(
        self, loss: Call, batches: Sequence[Batch], ended: Callable[[Any], None]
    ) -> torch.Tensor:
        """Forward and backward of the micro-batches by the schedule. Returns the mean loss, detached; on a rank without
        the last stage UNKNOWN_LOSS. The gradient is that of the mean. `ended` is called with the phase of
        each part of the work at its end, and with `idle_forward` or `idle_backward` after a wait for another stage."""
        if self._imagined:
            self._connect_imagined(loss, batches[0])
        waits = _Waits(ended)
        for stage, connected in zip(self._own(), self._connected, strict=True):
            stage.call, stage.batches = loss, batches
            connected.ended = waits.ended
        losses: list[torch.Tensor] = []
        nothing = torch.zeros((), device=self._device)
        count = len(batches)
        schedule = self._schedule(count)
        try:
            with waits:
                schedule.step(
                    arg_mbs=[(nothing,) if self._own()[0].is_first else () for _ in range(count)],
                    kwarg_mbs=[{"number": number} for number in range(count)],
                    target_mbs=[nothing] * count,
                    losses=losses,
                    return_outputs=False,
                )
        except RuntimeError as error:
            # torch's own error hides that of the stage, which says whether memory ran out
            cause = error.__cause__
            if cause is not None and "failed to run" in str(error).lower():
                raise cause from cause.__cause__
            raise
        ended("backward")
        if not losses:
            return torch.full((), UNKNOWN_LOSS, device=self._device)
        return torch.stack([one.detach() for one in losses]).mean()

    def _schedule(self, micro_batches: int) -> Any:
        if micro_batches not in self._schedules:
            name = self._schedule_name
            if name in _SINGLE:
                made: Any = _SINGLE[name](self._connected[0], micro_batches, loss_fn=_loss)
            else:
                made = _SEVERAL[name](self._connected, micro_batches, loss_fn=_loss)
            self._schedules[micro_batches] = made
        return self._schedules[micro_batches]

    def evaluate(self, evaluate: Call, batch: Batch) -> Any:
        """The result of `evaluate`, on the rank with the last stage; null on the others. One stage after the other."""
        answer = None
        for stage in self._own():
            stage.call, stage.batches = evaluate, [batch]
            x = None if stage.is_first else self._receive(stage.index - 1)
            answer = stage(x, number=0)
            if stage.index < self._count - 1:
                self._send(answer, stage.index + 1)
                answer = None
        return answer

    def _rank_of(self, index: int) -> int:
        return dist.get_global_rank(self._group, index % self._group.size())

    def _send(self, tensor: torch.Tensor, to: int) -> None:
        header = torch.zeros(_HEADER, dtype=torch.int64)
        header[: 2 + tensor.dim()] = torch.tensor([_DTYPES.index(tensor.dtype), tensor.dim(), *tensor.shape])
        dist.send(header.to(self._device), self._rank_of(to), group=self._group)
        dist.send(tensor.contiguous(), self._rank_of(to), group=self._group)

    def _receive(self, source: int) -> torch.Tensor:
        header = torch.zeros(_HEADER, dtype=torch.int64, device=self._device)
        dist.recv(header, self._rank_of(source), group=self._group)
        dtype, dimensions, *sizes = header.tolist()
        tensor = torch.empty(sizes[:dimensions], dtype=_DTYPES[dtype], device=self._device)
        dist.recv(tensor, self._rank_of(source), group=self._group)
        return tensor


def _loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:  # noqa: ARG001 - torch passes both
    """The last stage has computed the loss already."""
    return output
