"""The examples and tokens of a batch, or of the arguments of a call, and a number that tells batches apart."""

from __future__ import annotations

import zlib
from itertools import islice

import torch

_SHOWN_TENSORS, _SHOWN_ELEMENTS = 8, 512
"""Part of a batch that its digest covers."""


def local(tensor):
    """The value on this rank of a tensor that may be distributed."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def first_tensor(value):
    """The first tensor in a batch or in the arguments of a call; null if there is none."""
    first = value
    while isinstance(first, (list, tuple)) and first:  # the way to most tensors, and the shortest
        first = first[0]
    if isinstance(first, torch.Tensor) and first.dim():
        return first
    return next(tensors_in(value), None)


def is_unreal(value):
    """Whether the first tensor has no elements, on the meta device or of FakeTensorMode: then nothing is trained."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, torch.Tensor) and (value.is_meta or type(value).__name__ == "FakeTensor")


def has_gradient(result):
    results = result if isinstance(result, (list, tuple)) else (result,)
    return any(isinstance(one, torch.Tensor) and one.requires_grad for one in results)


def tensors_in(value, depth=0):
    """The tensors in a batch or in the arguments of a call, in order."""
    if isinstance(value, torch.Tensor):
        if value.dim():
            yield value
    elif depth < 4:
        if hasattr(value, "values") and callable(value.values):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            value = vars(value).values() if hasattr(value, "__dict__") and not callable(value) else ()
        for one in islice(value, 64):
            yield from tensors_in(one, depth + 1)


def count(batch):
    """Examples and tokens of a batch: the first dimension of its first tensor; its elements, if they are whole numbers
    in two dimensions."""
    try:
        graphs = getattr(batch, "num_graphs", None)
        if isinstance(graphs, int):
            return graphs, 0
        first = first_tensor(batch)
        if first is None:
            return 0, 0
        is_text = first.dim() == 2 and not first.is_floating_point() and first.dtype != torch.bool
        return first.shape[0], first.numel() if is_text else 0
    except Exception:  # a batch of the script's own kind
        return 0, 0


def digest(batch):
    """A number that differs for batches that differ; null if it cannot be read."""
    found = 0
    try:
        for tensor in islice(tensors_in(batch), _SHOWN_TENSORS):
            values = local(tensor.detach()).reshape(-1)[:_SHOWN_ELEMENTS].tolist()
            found = zlib.crc32(repr(values).encode(), found)
    except Exception:  # sparse tensors, and others without elements that can be listed
        return None
    return found
