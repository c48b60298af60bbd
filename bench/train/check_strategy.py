"""Checks a custom strategy before a session exists: one rank alone wraps the model and takes one step of two examples.

Only a run can test a strategy that cannot have one rank, which it says in `misfit`; a model of more than 50 million
parameters, which would need too much time and memory here; and a workload that makes its own steps."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import nn

from bench import strategies, workloads
from bench.common.custom_part import label
from bench.common.error_text import describe
from bench.common.errors import InputError
from bench.strategies._custom import STRATEGY
from bench.train import precision, process_group
from bench.train.check_workload import LARGEST_PARAMETERS
from bench.train.error_place import line_of
from bench.train.members import has_members
from bench.train.named_losses import trained

if TYPE_CHECKING:
    from bench.strategies import Strategy
    from bench.workloads import Workload

_T = TypeVar("_T")
_EXAMPLES = 2
_LIMIT_S = 600.0
"""For a rank that waits for no other."""


def check(job: Mapping[str, Any], workload: Workload) -> None:
    """Raises InputError if a method raises, or does not return what a rank needs. `job`: a preflight question;
    `workload`: prepared."""
    name, options = job["strategy"], job["strategy_options"]
    if strategies.misfit(name, options, 1, job["device_type"]) is not None:
        return
    with torch.random.fork_rng(devices=[]):
        model = workload.model()
    if has_members(model) or workloads.makes_steps(workload):
        return
    if sum(part.numel() for part in model.parameters()) > LARGEST_PARAMETERS:
        return
    device = torch.device("cuda", 0) if job["device_type"] == "cuda" else torch.device("cpu")
    trial = _Trial(
        name=name,
        device=device,
        precision=job["train"]["precision"],
        clips=job["train"]["clip_norm"] is not None,
    )
    with (
        torch.random.fork_rng(devices=[]),
        alone(device, cpu_too=strategies.needs_cpu_group(name, options)),
    ):
        trial.step(options, workload, model)


@contextmanager
def alone(device: torch.device, *, cpu_too: bool) -> Iterator[None]:
    """Inside, this process is the only rank of a group."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        with tempfile.TemporaryDirectory() as folder:
            where = f"file://{folder}/rendezvous"
            process_group.join(where, 0, 1, device, timeout_s=_LIMIT_S, cpu_too=cpu_too)
            try:
                yield
            finally:
                process_group.leave()
    finally:
        if interface is None:
            del os.environ["GLOO_SOCKET_IFNAME"]


@dataclass(frozen=True, kw_only=True)
class _Trial:
    name: str
    device: torch.device
    precision: str
    clips: bool

    def step(self, options: dict[str, Any], workload: Workload, model: nn.Module) -> None:
        kind = strategies.load(self.name)
        strategy = self._call("__init__", lambda: kind(kind.Options(**options)))
        blocks = workload.blocks(model)
        wrapped: Any = self._call(
            "wrap", lambda: strategy.wrap(model, blocks, device=self.device, precision=self.precision)
        )
        if not isinstance(wrapped, nn.Module):
            raise self._refuse("wrap()", f"returned {type(wrapped).__name__}: give a torch.nn.Module")
        if next(wrapped.parameters(), None) is None:
            raise self._refuse("wrap()", "returned a module without parameters: there is nothing to train")
        if not {id(one) for one in wrapped.parameters()} <= {id(one) for one in model.parameters()}:
            raise self._refuse(
                "wrap()",
                "returned a module with other parameters than the given model's: change that model in place",
            )
        batch = {
            key: part.to(self.device) for key, part in workloads.first_batch(workload, _EXAMPLES).items()
        }
        for last in (False, True):
            context = self._accumulating(strategy, wrapped, last)
            self._call("accumulating", context.__enter__)
            self._call("wrap", lambda: self._loss(workload, wrapped, batch), "the model that ", " returned")
            self._call("accumulating", partial(context.__exit__, None, None, None))
        if self.clips:
            self._call("clip", lambda: strategy.clip(wrapped, 1.0))
        self._call("validated", lambda: strategy.validated(wrapped))

    def _loss(self, workload: Workload, wrapped: nn.Module, batch: dict[str, torch.Tensor]) -> None:
        with precision.autocast(self.precision, self.device):
            loss = trained(workload.loss(wrapped, batch))
        loss.backward()

    def _accumulating(
        self, strategy: Strategy, wrapped: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        context: Any = self._call("accumulating", lambda: strategy.accumulating(wrapped, last))
        if not isinstance(context, AbstractContextManager):
            raise self._refuse(
                "accumulating()",
                f"returned {type(context).__name__}: give a context manager, as contextlib.nullcontext()",
            )
        return context

    def _call(self, method: str, function: Callable[[], _T], before: str = "", after: str = "") -> _T:
        try:
            return function()
        except InputError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # a user's method may raise anything
            where = line_of(error, STRATEGY, self.name)
            raise InputError(
                f"{before}{method}() of {label(self.name)}{after} raised {describe(error)}{where}. One rank tried it; "
                "if it needs more, return the reason from misfit(options, world_size, device_type)"
            ) from error

    def _refuse(self, method: str, problem: str) -> InputError:
        return InputError(f"{method} of {label(self.name)} {problem}")
