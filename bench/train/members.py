"""A model of several members: an nn.ModuleDict, as of a generator and a discriminator.

The members are distributed one by one, so that each can be called through what the strategy wraps around it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    import torch

    from bench.strategies import Strategy


def has_members(model: nn.Module) -> bool:
    """Whether it is a plain nn.ModuleDict; a subclass with a forward of its own is a model like any other."""
    return isinstance(model, nn.ModuleDict) and type(model).forward is nn.ModuleDict.forward


def trained_members(model: nn.Module) -> dict[str, nn.Module]:
    """The members that are trained, by name; a model without members has the empty name."""
    if not has_members(model):
        return {"": model}
    return {name: member for name, member in model.named_children() if _is_trained(member)}


def problem(model: nn.Module) -> str | None:
    """Why the members cannot be distributed one by one; null if they can."""
    if not has_members(model):
        return None
    if direct := [name for name, _ in model.named_parameters(recurse=False)]:
        return f"returned a ModuleDict with the parameter {direct[0]} of its own: move it into a member"
    owners: dict[int, str] = {}
    for name, member in model.named_children():
        for parameter in member.parameters():
            other = owners.setdefault(id(parameter), name)
            if other != name:
                return f"returned a ModuleDict whose members {other} and {name} share a parameter: make them one member"
    return None


def _is_trained(member: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in member.parameters())


class Members:
    """A strategy (bench/strategies) that has another one for each member."""

    def __init__(self, make: Callable[[], Strategy]) -> None:
        self._make = make
        self._strategies: dict[str, Strategy] = {}
        """By member, for those that are trained."""
        self.sharded_scaler: bool = getattr(make(), "sharded_scaler", False)

    def wrap(
        self, model: nn.Module, blocks: list[nn.Module], *, device: torch.device, precision: str
    ) -> nn.ModuleDict:
        assert isinstance(model, nn.ModuleDict)
        wrapped = {}
        for name, member in model.items():
            if not _is_trained(member):
                wrapped[name] = member.to(device)
                continue
            inside = [block for block in member.modules() if block is not member]
            own_blocks = [block for block in blocks if any(block is one for one in inside)]
            self._strategies[name] = self._make()
            wrapped[name] = self._strategies[name].wrap(
                member, own_blocks, device=device, precision=precision
            )
        return nn.ModuleDict(wrapped)

    def accumulating(self, model: nn.Module, last: bool) -> AbstractContextManager[None]:
        assert isinstance(model, nn.ModuleDict)
        contexts: ExitStack = ExitStack()
        for name, strategy in self._strategies.items():
            contexts.enter_context(strategy.accumulating(model[name], last))
        return contexts  # type: ignore[return-value] # what it yields is not used

    def clip(self, model: nn.Module, max_norm: float) -> None:
        """Clip the norm of each member's gradient by itself."""
        assert isinstance(model, nn.ModuleDict)
        for name in self._strategies:
            self.clip_member(model, name, max_norm)

    def clip_member(self, model: nn.Module, name: str, max_norm: float) -> None:
        assert isinstance(model, nn.ModuleDict)
        if name in self._strategies:
            self._strategies[name].clip(model[name], max_norm)

    def validated(self, model: nn.Module) -> None:
        assert isinstance(model, nn.ModuleDict)
        for name, strategy in self._strategies.items():
            strategy.validated(model[name])
