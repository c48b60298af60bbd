"""Before a session exists: does a workload of the user's own do what a rank will ask of it?

Every method is called once, with two examples; what is wrong is said with the method's name and, of an error, the
line. A model of more than 50 million parameters is only looked at on the meta device, where it has shapes and neither
memory nor arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn

from bench import workloads
from bench.errors import InputError
from bench.train.blame import line_of
from bench.workloads._own import Defaults

if TYPE_CHECKING:
    from bench.workloads import Batch, Workload

_T = TypeVar("_T")
_LARGEST_PARAMETERS = 50_000_000
"""Of a model that is made in memory here: 200 MB, some seconds of forward for two images or sentences."""
_EXAMPLES = 2


def checked(make: Callable[[], Workload], name: str) -> Workload:
    """A workload that does not ship, made and prepared. Raises InputError where it is not what a rank needs."""
    looked_at = _Checked(name=name, label=workloads.label(name))
    workload = looked_at.made(make)
    with torch.random.fork_rng(devices=[]), suppress(_NeedsRanksError):
        looked_at.all(workload)
    return workload


@dataclass(frozen=True)
class _Checked:
    name: str
    label: str

    def made(self, make: Callable[[], Workload]) -> Workload:
        workload = self._call("__init__", make)
        self._call("prepare", workload.prepare)
        self._sizes(workload)
        return workload

    def all(self, workload: Workload) -> None:
        model, on_meta = self._model(workload)
        self._blocks(workload, model)
        places = torch.tensor([0, workload.dataset_size - 1])
        batch = self._call("batch", lambda: workload.batch(places, places), _why_out_of_bounds(workload))
        self._batch("batch", batch, f"{_EXAMPLES} places")
        with _forgiving(on_meta):
            self._loss(workload, model, _on(batch, on_meta))
        if workload.validation_size:
            self._validation(workload, model, on_meta)

    def _call(self, method: str, function: Callable[[], _T], why_index: str = "") -> _T:
        """`why_index` is said after an IndexError."""
        try:
            return function()
        except InputError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # a user's method may raise anything
            if "process group has not been initialized" in str(error):
                raise _NeedsRanksError from error
            said = (str(error).strip().splitlines() or ["no message"])[0]
            where = line_of(error, self.name)
            why = why_index if isinstance(error, IndexError) else ""
            raise InputError(
                f"{method}() of {self.label} raised {type(error).__name__}: {said}{where}{why}"
            ) from error

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
        try:
            with torch.device("meta"):
                model = workload.model()
        except (Exception, SystemExit, KeyboardInterrupt):  # not every model can be made there
            model = None
        parameters = sum(part.numel() for part in model.parameters()) if isinstance(model, nn.Module) else 0
        if model is not None and parameters > _LARGEST_PARAMETERS:
            return model, True
        model = self._call("model", workload.model)
        if not isinstance(model, nn.Module):
            raise self._refuse("model()", f"returned {_what(model)}: give a torch.nn.Module")
        if next(model.parameters(), None) is None:
            raise self._refuse("model()", "returned a module without parameters: there is nothing to train")
        elsewhere = {str(part.device) for part in model.parameters()} - {"cpu"}
        if elsewhere:
            device = ", ".join(sorted(elsewhere))
            raise self._refuse(
                "model()", f"has parameters on {device}: leave it on the CPU, each rank moves it"
            )
        return model, False

    def _blocks(self, workload: Workload, model: nn.Module) -> None:
        blocks: Any = self._call("blocks", lambda: workload.blocks(model))
        if not isinstance(blocks, list | tuple | nn.ModuleList):
            raise self._refuse("blocks()", f"returned {_what(blocks)}: give a list of the model's submodules")
        inside = {id(part) for part in model.modules()} - {id(model)}
        for number, block in enumerate(blocks):
            at = f"returned {_what(block)} at place {number}"
            if id(block) not in inside:
                raise self._refuse("blocks()", f"{at}, which is no submodule of the model that it was given")
            if type(block).forward is nn.Module.forward:
                raise self._refuse("blocks()", f"{at}, which has no forward of its own: give its parts")

    def _batch(self, method: str, batch: Any, asked: str) -> None:
        if not isinstance(batch, dict) or not all(isinstance(part, torch.Tensor) for part in batch.values()):
            inside = (
                {key: _what(part) for key, part in batch.items()} if isinstance(batch, dict) else _what(batch)
            )
            raise self._refuse(f"{method}()", f"returned {inside}: give a dict of tensors")
        shapes = ", ".join(f"{key} {list(part.shape)}" for key, part in batch.items()) or "an empty dict"
        if not any(part.dim() and len(part) == _EXAMPLES for part in batch.values()):
            raise self._refuse(f"{method}()", f"returned {shapes} for {asked}: give {_EXAMPLES} examples")
        for key, part in batch.items():
            if part.device.type != "cpu":
                raise self._refuse(
                    f"{method}()", f"returned {key} on {part.device}: give CPU tensors, each rank moves them"
                )

    def _loss(self, workload: Workload, model: nn.Module, batch: Batch) -> None:
        loss: Any = self._call("loss", lambda: workload.loss(model, batch))
        if not isinstance(loss, torch.Tensor):
            raise self._refuse("loss()", f"returned {_what(loss)}: give a tensor, the mean over the batch")
        if loss.shape != ():
            raise self._refuse(
                "loss()", f"returned shape {list(loss.shape)}: give one scalar, the mean over the batch"
            )
        if not loss.requires_grad:
            raise self._refuse(
                "loss()",
                "returned a tensor without gradient: make it of the model's output, without detach or no_grad",
            )

    def _validation(self, workload: Workload, model: nn.Module, on_meta: bool) -> None:
        indices = [0, workload.validation_size - 1]
        batch = self._call("validation_batch", lambda: workload.validation_batch(indices))
        self._batch("validation_batch", batch, f"{_EXAMPLES} indices")
        with _forgiving(on_meta), torch.no_grad():
            answer: Any = self._call("evaluate", lambda: workload.evaluate(model.eval(), _on(batch, on_meta)))
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise self._refuse(
                    "evaluate()",
                    f"returned {_what(answer)}: give the loss of each example, and correctness or None",
                )
            for part, word in zip(answer, ("loss", "correctness"), strict=True):
                self._per_example(part, word)

    def _per_example(self, part: Any, word: str) -> None:
        if part is None and word == "correctness":
            return
        if not isinstance(part, torch.Tensor) or part.shape != (_EXAMPLES,):
            raise self._refuse(
                "evaluate()",
                f"returned {_what(part)} as {word} for {_EXAMPLES} examples: give one number for each",
            )


class _NeedsRanksError(Exception):
    """A method that talks to the other ranks can only be tried by a run."""


@contextmanager
def _forgiving(on_meta: bool) -> Iterator[None]:
    """What cannot be tried here is left to the run. On the meta device whatever was raised may be its own want."""
    try:
        yield
    except _NeedsRanksError:
        pass
    except InputError as error:
        if not on_meta or error.__cause__ is None:
            raise


def _why_out_of_bounds(workload: Workload) -> str:
    """Of a data set that is shorter than the class, which does not say how long it is, is taken to be."""
    owner = next((kind for kind in type(workload).__mro__ if "dataset_size" in vars(kind)), None)
    if owner is not Defaults or "dataset_size" in vars(workload):
        return ""
    return (
        f"; places go up to dataset_size - 1, and dataset_size is {Defaults.dataset_size:,} where the class "
        "does not say"
    )


def _on(batch: Batch, on_meta: bool) -> Batch:
    return {key: part.to("meta") for key, part in batch.items()} if on_meta else batch


def _what(value: Any) -> str:
    """A value in a few words: a tensor by its shape."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"
