"""Checks a custom workload before a session exists: do its methods return what a rank needs?

Every method is called once, with two examples. A message names the method and, for an error, the line. A model with
more than 50 million parameters is only checked on the meta device, on shapes, without memory and arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn
from torch.nn import SyncBatchNorm
from torch.nn.modules.batchnorm import _BatchNorm

from bench import strategies, workloads
from bench.common.custom_part import label
from bench.common.error_text import describe
from bench.common.errors import InputError
from bench.data.stream import kind, problem_of_batch
from bench.train import counts, named_losses
from bench.train.custom_step import CustomStep, Trained
from bench.train.error_place import line_of
from bench.train.members import has_members, trained_members
from bench.train.members import problem as problem_of_members
from bench.workloads._custom import WORKLOAD, Defaults

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Batch, Workload


_T = TypeVar("_T")
LARGEST_PARAMETERS = 50_000_000
"""The largest model that is checked in memory: 200 MB, some seconds of forward for two images or sentences."""
_EXAMPLES = 2
_NEEDS_RANKS = "process group has not been initialized"
"""In torch's message if a method communicates with other ranks."""


def checked(
    make: Callable[[], Workload], name: str, strategy: str, calls: Callable[[str], None] = lambda _call: None
) -> Workload:
    """Make, prepare and check a custom workload. Raises InputError if a method does not return what a rank needs, or
    if it needs more of the model than the strategy leaves. `calls` is told each call before it is made."""
    check = _Check(name=name, label=label(name), strategy=strategy, calls=calls)
    workload = check.make(make)
    with torch.random.fork_rng(devices=[]), suppress(_NeedsRanksError):
        check.methods(workload)
    return workload


@dataclass(frozen=True)
class _Check:
    name: str
    label: str
    strategy: str
    calls: Callable[[str], None]

    def make(self, make: Callable[[], Workload]) -> Workload:
        workload = self._call("__init__", make)
        self._call("prepare", workload.prepare)
        self._sizes(workload)
        return workload

    def methods(self, workload: Workload) -> None:
        model, on_meta = self._model(workload)
        self._blocks(workload, model)
        places = torch.tensor([0, workload.dataset_size - 1])
        stream = workloads.stream_of(workload)
        if stream is not None:
            self.calls(f"the first batch of {stream.label}()")
            batch = stream.first(_EXAMPLES)
        else:
            batch = self._call("batch", lambda: workload.batch(places, places), _dataset_size_hint(workload))
            self._batch("batch", batch, f"{_EXAMPLES} places")
        self._counts(workload, batch)
        with _ignoring_untestable(on_meta):
            if workloads.makes_steps(workload):
                self._step(workload, model, _on(batch, on_meta))
            else:
                self._loss(workload, model, _on(batch, on_meta))
        if workloads.validation_size(workload):
            if stream is not None and not _has_own_validation(workload):
                raise self._refuse(
                    "validation_size",
                    f"is {workload.validation_size}: a stream has no held-out examples, so write validation_batch too",
                )
            self._validation(workload, model, on_meta)

    def _call(self, method: str, function: Callable[[], _T], index_hint: str = "") -> _T:
        """`index_hint` follows the message of an IndexError."""
        self.calls(f"{method}() of {self.label}")
        try:
            return function()
        except InputError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # a user's method may raise anything
            if _NEEDS_RANKS in str(error):
                raise _NeedsRanksError from error
            message = (str(error).strip().splitlines() or ["no message"])[0]
            where = line_of(error, WORKLOAD, self.name)
            hint = index_hint if isinstance(error, IndexError) else ""
            raise InputError(
                f"{method}() of {self.label} raised {type(error).__name__}: {message}{where}{hint}"
            ) from error

    def _call_with_model(self, method: str, function: Callable[[nn.Module], _T], model: nn.Module) -> _T:
        """Call a method with the model, and then, if the strategy wraps it, with a wrapped one."""
        answer = self._call(method, lambda: function(model))
        if strategies.hides_model(self.strategy):
            try:
                function(_wrapped(model).train(model.training))
            except Exception as error:
                if _NEEDS_RANKS in str(error):
                    return answer
                where = line_of(error, WORKLOAD, self.name)
                raise InputError(
                    f"{method}() of {self.label} does more with the model than call it: {describe(error)}{where}. "
                    f"Strategy {label(self.strategy)} wraps the model, and a wrapped model can only be called: move "
                    "this into its forward, or use another strategy"
                ) from None
        return answer

    def _refuse(self, method: str, problem: str) -> InputError:
        return InputError(f"{method} of {self.label} {problem}")

    def _sizes(self, workload: Workload) -> None:
        for part, smallest in (("dataset_size", 1), ("validation_size", 0)):
            size = getattr(workload, part)
            if not isinstance(size, int) or size < smallest:
                raise self._refuse(part, f"is {size!r}: give a whole number, {smallest} or more")
        tokens = workload.tokens_per_example
        if tokens is not None and (not isinstance(tokens, int) or tokens < 1):
            raise self._refuse(
                "tokens_per_example", f"is {tokens!r}: give a whole number, 1 or more, or None"
            )

    def _model(self, workload: Workload) -> tuple[nn.Module, bool]:
        """The model, and whether it is on the meta device."""
        self.calls(f"model() of {self.label}")
        try:
            with torch.device("meta"):
                model = workload.model()
        except (Exception, SystemExit, KeyboardInterrupt):  # not every model can be made there
            model = None
        parameters = sum(part.numel() for part in model.parameters()) if isinstance(model, nn.Module) else 0
        if model is not None and parameters > LARGEST_PARAMETERS:
            return model, True
        model = self._call("model", workload.model)
        if not isinstance(model, nn.Module):
            raise self._refuse("model()", f"returned {kind(model)}: give a torch.nn.Module")
        if next(model.parameters(), None) is None:
            raise self._refuse("model()", "returned a module without parameters: there is nothing to train")
        if reason := problem_of_members(model):
            raise self._refuse("model()", reason)
        elsewhere = {str(part.device) for part in model.parameters()} - {"cpu"}
        if elsewhere:
            device = ", ".join(sorted(elsewhere))
            raise self._refuse(
                "model()", f"has parameters on {device}: leave them on the CPU, each rank moves them"
            )
        return model, False

    def _blocks(self, workload: Workload, model: nn.Module) -> None:
        blocks: Any = self._call("blocks", lambda: workload.blocks(model))
        if not isinstance(blocks, list | tuple | nn.ModuleList):
            raise self._refuse("blocks()", f"returned {kind(blocks)}: give a list of the model's submodules")
        inside = {id(part) for part in model.modules()} - {id(model)}
        for number, block in enumerate(blocks):
            at = f"returned {kind(block)} at place {number}"
            if id(block) not in inside:
                raise self._refuse("blocks()", f"{at}, which is not a submodule of the given model")
            if type(block).forward is nn.Module.forward:
                raise self._refuse("blocks()", f"{at}, which has no forward of its own: give its parts")

    def _counts(self, workload: Workload, batch: Batch) -> None:
        for name in counts.METHODS:
            if hasattr(workload, name):
                found = self._call(name, partial(getattr(workload, name), batch))
                if counts.count_of(found) is None:
                    raise self._refuse(f"{name}()", f"returned {found!r}: give a whole number, 1 or more")

    def _batch(self, method: str, batch: Any, asked: str) -> None:
        if problem := problem_of_batch(batch):
            raise self._refuse(f"{method}()", f"returned {problem}")
        tensors = {key: part for key, part in batch.items() if isinstance(part, torch.Tensor)}
        shapes = ", ".join(f"{key} {list(part.shape)}" for key, part in tensors.items()) or "an empty dict"
        counted = any(part.dim() and len(part) == _EXAMPLES for part in tensors.values())
        if len(tensors) == len(batch) and not counted:  # how many examples another object has is not known
            raise self._refuse(f"{method}()", f"returned {shapes} for {asked}: give {_EXAMPLES} examples")
        for key, part in tensors.items():
            if part.device.type != "cpu":
                raise self._refuse(
                    f"{method}()", f"returned {key} on {part.device}: give CPU tensors, each rank moves them"
                )

    def _loss(self, workload: Workload, model: nn.Module, batch: Batch) -> None:
        loss: Any = self._call_with_model("loss", lambda model: workload.loss(model, batch), model)
        if isinstance(loss, dict):
            if reason := named_losses.problem(loss):
                raise self._refuse("loss()", reason)
            loss = loss[named_losses.TRAINED]
        if not isinstance(loss, torch.Tensor):
            raise self._refuse("loss()", f"returned {kind(loss)}: give a tensor, the mean over the batch")
        if loss.shape != ():
            raise self._refuse(
                "loss()", f"returned shape {list(loss.shape)}: give one scalar, the mean over the batch"
            )
        if not loss.requires_grad:
            raise self._refuse(
                "loss()",
                "returned a tensor without gradient: compute it from the model's output, without detach or no_grad",
            )

    def _step(self, workload: Any, model: nn.Module, batch: Batch) -> None:
        """Make one step that changes nothing: its learning rate is 0."""

        def make(model: nn.Module) -> None:
            trained = {
                name: Trained(optimizers=[torch.optim.SGD(member.parameters(), lr=0.0)])
                for name, member in trained_members(model).items()
            }
            step = CustomStep(trained, None, nullcontext())
            answer = step.make(partial(workload.step, model, batch), lambda: None, [])
            if isinstance(answer, dict) and (reason := named_losses.problem(answer)):
                raise self._refuse("step()", reason)

        self._call_with_model("step", make, model)

    def _validation(self, workload: Workload, model: nn.Module, on_meta: bool) -> None:
        indices = [0, workload.validation_size - 1]
        batch = self._call("validation_batch", lambda: workload.validation_batch(indices))
        self._batch("validation_batch", batch, f"{_EXAMPLES} indices")
        with _ignoring_untestable(on_meta), torch.no_grad():
            held_out = _on(batch, on_meta)
            answer: Any = self._call_with_model(
                "evaluate", lambda model: workload.evaluate(model, held_out), model.eval()
            )
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise self._refuse(
                    "evaluate()",
                    f"returned {kind(answer)}: give the loss of each example, and correctness or None",
                )
            for part, word in zip(answer, ("loss", "correctness"), strict=True):
                self._per_example(part, word)

    def _per_example(self, part: Any, word: str) -> None:
        if part is None and word == "correctness":
            return
        if not isinstance(part, torch.Tensor) or part.shape != (_EXAMPLES,):
            raise self._refuse(
                "evaluate()",
                f"returned {kind(part)} as {word} for {_EXAMPLES} examples: give one number for each",
            )


class Wrapper(nn.Module):
    """Forwards calls to the model and hides its other attributes, as DistributedDataParallel does."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *arguments: Any, **named: Any) -> Any:
        return self.module(*arguments, **named)


def _wrapped(model: nn.Module) -> nn.Module:
    """The model in a Wrapper; the members of an nn.ModuleDict each in one."""
    if has_members(model):
        return nn.ModuleDict({name: Wrapper(member) for name, member in model.named_children()})
    return Wrapper(model)


class _NeedsRanksError(Exception):
    """A method communicates with other ranks, so only a run can test it."""


@contextmanager
def _ignoring_untestable(on_meta: bool) -> Iterator[None]:
    """Ignore errors that need not occur in the run: without ranks, and any error that a method raises on meta."""
    try:
        yield
    except _NeedsRanksError:
        pass
    except InputError as error:
        if not on_meta or error.__cause__ is None:
            raise


def _dataset_size_hint(workload: Workload) -> str:
    """For a class without `dataset_size`, whose data set may be shorter than the default."""
    owner = next((kind for kind in type(workload).__mro__ if "dataset_size" in vars(kind)), None)
    if owner is not Defaults or "dataset_size" in vars(workload):
        return ""
    return f"; places go up to dataset_size - 1, and dataset_size is {Defaults.dataset_size:,} unless the class sets it"


def _has_own_validation(workload: Workload) -> bool:
    return getattr(type(workload), "validation_batch", None) is not Defaults.validation_batch


def _on(batch: Batch, on_meta: bool) -> Batch:
    return {key: part.to("meta") for key, part in batch.items()} if on_meta else batch


def couples_examples(workload: Workload, model: nn.Module) -> bool:
    """Whether an example's loss depends on the others of its batch; ranks that split a batch then train another model.

    True if the workload sets an attribute of this name, or if the model normalises by the statistics of a rank's own
    batch. SyncBatchNorm uses the statistics of all ranks, which do not change with their number."""
    own_statistics = any(
        isinstance(part, _BatchNorm) and not isinstance(part, SyncBatchNorm) for part in model.modules()
    )
    return own_statistics or bool(getattr(workload, "couples_examples", False))
