"""The norm of a gradient whose parts are on different meshes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import nn


def by_mesh(parameters: Iterable[nn.Parameter]) -> list[list[nn.Parameter]]:
    """The parameters in groups of one mesh, those without a mesh in a group of their own: torch mixes none of them in
    one operation."""
    alike: dict[Any, list[nn.Parameter]] = {}
    for parameter in parameters:
        alike.setdefault(getattr(parameter, "device_mesh", None), []).append(parameter)
    return list(alike.values())


def clip(model: nn.Module, max_norm: float) -> None:
    """Clip the norm of all gradients; DTensors count with their parts on other ranks."""
    import torch
    from torch.distributed.tensor import DTensor
    from torch.nn.utils import clip_grads_with_norm_, get_total_norm

    parts = by_mesh(parameter for parameter in model.parameters() if parameter.grad is not None)
    norms = [get_total_norm([one.grad for one in part]) for part in parts]  # type: ignore[misc]
    whole = [norm.full_tensor() if isinstance(norm, DTensor) else norm for norm in norms]
    total: torch.Tensor = torch.linalg.vector_norm(torch.stack(whole))
    for part in parts:
        clip_grads_with_norm_(part, max_norm, total)
