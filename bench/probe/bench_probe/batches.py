"""The examples and tokens of a batch, by its shape, and a number that tells batches apart."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from itertools import islice

import torch

_SHOWN_TENSORS, _SHOWN_ELEMENTS = 8, 512
"""Part of a batch that its digest covers."""
_CHANNELS = 4
"""Largest number of channels of a picture, or of a sound, that is read as such."""
_PARTS = 3
"""Most tensors of one kind and length in a batch that are its parts, such as text, mask and target, not examples."""
_WHOLE = (torch.int64, torch.int32, torch.int16)
"""Types of tokens."""


def local(tensor):
    """The value on this rank of a tensor that may be distributed."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def first_tensor(value):
    """The first tensor in a batch or in the arguments of a call; null if there is none."""
    try:
        return _first_tensor(value)
    except Exception:  # a subclass that refuses, or an object of the script's own kind
        return None


def _first_tensor(value):
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


def examples_in(batch, most=None):
    """Examples in a batch of a loader that does not tell their indices; null if its shape does not tell.

    `most`: the loader's batch_size. In this order: the batch's own `batch_size`; the members of a list that are not
    batches themselves; the first dimension that all tensors share."""
    try:
        size = getattr(batch, "batch_size", None)
        if isinstance(size, tuple) and size:  # of a TensorDict
            size = size[0]
        if type(size) is int and size > 0:
            return size
        if isinstance(batch, torch.nn.utils.rnn.PackedSequence):
            return int(batch.batch_sizes[0])
        members = list(batch) if isinstance(batch, (list, tuple)) else []
        if len(members) == most:
            return most
        shared = _shared_length(members or batch)
        if most is not None and shared != most and _has_everywhere(members or batch, most):
            return most  # the examples are another dimension
        if len(members) > 1 and all(isinstance(each, (list, tuple)) for each in members):
            # lists of examples, or examples that are pairs
            return shared if _are_alike(members[0]) else len(members)
        if not _are_alike(members):
            return _at_most(shared, most)
        if shared is None or shared == len(members):
            return len(members)
        if len(members) > _PARTS or (
            all(_may_be_one_example(each) for each in members) and shared <= _CHANNELS
        ):
            return None if most is None or len(members) > most else len(members)
        return _at_most(shared, most)
    except Exception:  # a batch of the script's own kind
        return None


def _has_everywhere(value, length):
    """Whether all tensors in `value` have a dimension of this length."""
    shapes = [tuple(tensor.shape) for tensor in tensors_in(value)]
    return bool(shapes) and all(length in shape for shape in shapes)


def _at_most(length, most):
    return most if length is None or (most is not None and length > most) else length


def _are_alike(members):
    """Whether the members of a list are of one kind, as examples are, unlike an input and its target."""
    kinds = {(each.dim(), each.dtype) if isinstance(each, torch.Tensor) else type(each) for each in members}
    return len(members) > 1 and len(kinds) == 1 and not isinstance(members[0], (list, tuple, str, int, float))


def _may_be_one_example(member):
    """Whether the first dimension of its tensors may be the channels of a picture or of a sound."""
    tensors = [each for each in _members(member) if isinstance(each, torch.Tensor) and each.dim()]
    return any(each.dim() in (2, 3) and each.dtype not in _WHOLE for each in tensors)


def _shared_length(value):
    """The first dimension that all tensors in `value` share, and all lists in it their length; null if they differ."""
    found = set(_lengths(value, 0))
    return found.pop() if len(found) == 1 else None


def _lengths(value, depth):
    for member in _members(value):
        shape = getattr(member, "shape", None)  # of a tensor, or of an array
        if isinstance(shape, tuple):
            if shape:
                yield int(shape[0])
        elif isinstance(member, (list, tuple)):
            yield len(member)
        elif depth < 4:
            yield from _lengths(member, depth + 1)


def _members(value):
    if hasattr(value, "shape"):
        return (value,)
    if isinstance(value, (str, bytes, int, float, type(None))):
        return ()
    if isinstance(value, (list, tuple)):
        return value[:64]
    if callable(getattr(value, "values", None)):
        return islice(value.values(), 64)
    return islice(vars(value).values(), 64) if hasattr(value, "__dict__") and not callable(value) else ()


class TokenCounter:
    """Counts the tokens in batches of one kind: the elements of `input_ids`, or of the two-dimensional tensors of whole
    numbers, which must have equally many. It finds their tensor in the first batch."""

    def __init__(self):
        self._way = None
        """Keys and attributes that lead to the tensor; null before the first batch, or if there is no such tensor."""
        self._is_known = False
        self.may_find = True
        """Whether a batch may have tokens."""

    def __call__(self, batch):
        """Tokens of the batch, padding included; null if they are not known."""
        try:
            if not self._is_known:
                self._way, self._is_known = _way_to_tokens(batch), True
                self.may_find = self._way is not None
            return None if self._way is None else _follow(batch, self._way).numel()
        except Exception:  # a batch of another kind
            self._is_known = False
            return None


def _follow(value, way):
    for key in way:
        value = getattr(value, key[0]) if isinstance(key, tuple) else value[key]
    return value


def _way_to_tokens(batch):
    found = list(_ways_to_text(batch, (), 0))
    named = [(way, tensor) for way, tensor in found if way and way[-1] in ("input_ids", ("input_ids",))]
    found = named or found
    return found[0][0] if len({tensor.numel() for _, tensor in found}) == 1 else None


def _ways_to_text(value, way, depth):
    """Ways to the two-dimensional tensors of whole numbers in a batch, and these tensors."""
    if isinstance(value, torch.Tensor):
        if value.dim() == 2 and value.dtype in _WHOLE:
            yield way, value
        return
    if depth == 4:
        return
    if isinstance(value, (list, tuple)):
        inside = enumerate(value[:64])
    elif isinstance(value, Mapping):
        inside = islice(value.items(), 64)
    else:  # not every attribute is text: a graph has its edges, two to a column
        text = getattr(value, "input_ids", None)
        inside = () if text is None else ((("input_ids",), text),)
    for key, one in inside:
        yield from _ways_to_text(one, (*way, key), depth + 1)


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
