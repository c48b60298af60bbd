"""Tensors without values: operations make memory of the right size and leave it untouched.

Inside `Hollow` torch runs the real code of a rank: autograd, DDP's reducer, FSDP, DTensor. An operation computes the
sizes of its results on the meta device, and allocates them. The kernel gives no page to memory that no one touches, so
a model of any size needs hardly any. Small tensors whose values are known, such as an optimizer's count of steps, are
computed. FakeTensorMode does not work: its tensors crash DDP's reducer, which is C++."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from bench.common.torch_private import (
    FakeTensor,
    OpOverload,
    TorchDispatchMode,
    create_work_from_future,
    item,
    overflow_check,
    schema_of,
)
from bench.measure import messages
from bench.measure.messages import PLAIN, size_of, tensors_in, unwraps_first

_NOT_THE_USERS = (f"{Path(torch.__file__).parent}/", f"{Path(__file__).parent}/", messages.__file__)
"""Folders and a file whose lines read no value for themselves."""
_COMPUTED_BYTES = 2**16
_COMPUTED_INTEGER_BYTES = 2**26
"""Arguments, or results, up to which an operation on known values is computed; integers choose examples."""
_LARGEST_ALLOCATION = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
_MAP_NORESERVE = 0x4000
"""A flag of Linux on x86-64 and arm64, which older Pythons do not name."""
_META = torch.device("meta")
_ATEN = torch.ops.aten
_SHARES_STORAGE = {
    _ATEN.set_.source_Storage,
    _ATEN.set_.source_Storage_storage_offset,
    _ATEN.set_.source_Tensor,
    _ATEN.resize_.default,
}
"""Operations that touch no values and share or resize a storage, without saying so in their schema."""
_READS = {item, _ATEN.equal.default, _ATEN.is_nonzero.default}
_READING_METHODS = {torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}


class ValueNeededError(BaseException):
    """The code reads a value that no one has computed. Code that catches an Exception must not hide it."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.place = _place()
        """File and line of the read, outside torch; null if torch itself reads."""
        super().__init__(self.text())

    def text(self, *, of_command: bool = False) -> str:
        """The place, the read and the remedy. A command is not shadowed after its third step."""
        where = "torch" if self.place is None else f"{self.place[0]}, line {self.place[1]}"
        return (
            f"{where}: the code reads a value ({self.operation}), but a shadow rank has only shapes: remove it"
            + ", or read after the third step only" * of_command
        )


def _refuse(error: ValueNeededError) -> NoReturn:
    raise error


def _place() -> tuple[str, int] | None:
    frame = sys._getframe(2)
    while frame is not None:
        if _is_of_the_user(frame.f_code.co_filename):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def place_in(trace: TracebackType | None) -> tuple[str, int] | None:
    """File and line of the innermost frame outside torch; null if there is none."""
    place = None
    while trace is not None:
        if _is_of_the_user(trace.tb_frame.f_code.co_filename):
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return place


def _is_of_the_user(file: str) -> bool:
    return not file.startswith(("<", *_NOT_THE_USERS))


class HollowStorages:
    """Storages whose values are unknown."""

    def __init__(self) -> None:
        self._living: dict[int, Any] = {}

    def add(self, tensor: torch.Tensor) -> None:
        storage = storage_of(tensor)
        key = id(storage)  # the object lives as long as its memory
        if key not in self._living:
            self._living[key] = weakref.ref(storage, lambda _: self._living.pop(key, None))

    def __contains__(self, tensor: torch.Tensor) -> bool:
        return id(storage_of(tensor)) in self._living


class Hollow(TorchDispatchMode):
    """Inside, operations on large or unknown values compute shapes alone.

    Raises ValueNeededError if code reads an unknown value, or calls `needed` with it. `real_number` is called instead
    if that value is a single real number, such as a loss, and not random; the code reads what it returns."""

    def __init__(
        self,
        needed: Callable[[ValueNeededError], NoReturn] | None = None,
        real_number: Callable[[ValueNeededError], float] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._hollow = HollowStorages()
        self._drawn = HollowStorages()
        """Random numbers. Code that reads one decides by it, and no number is right for that."""
        self._results: dict[Any, _Results] = {}
        """By operation and the shapes of its arguments."""
        self._needed = needed or _refuse
        self._real_number = real_number or self._needed
        self._methods = _ReadingMethods(self._hollow, self._needed)

    def __enter__(self) -> Hollow:
        self._methods.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        self._save = torch.save
        torch.save = torch.serialization.save = self._refuse_to_save
        return self

    def __exit__(self, *error: Any) -> None:
        torch.save = torch.serialization.save = self._save
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._methods.__exit__(*error)  # type: ignore[no-untyped-call]

    def _refuse_to_save(self, *_: Any, **__: Any) -> NoReturn:
        """Takes the place of torch.save, which would write a checkpoint without values over a good one."""
        self._needed(ValueNeededError("torch.save"))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, OpOverload):  # of higher order: it calls others
            return func(*args, **kwargs)
        if unwraps_first(types):
            return NotImplemented
        tensors = list(tensors_in((*args, *kwargs.values())))
        if any(one.is_meta or isinstance(one, FakeTensor) for one in tensors):
            return func(*args, **kwargs)
        if kwargs.get("device") == _META:
            return func(*args, **kwargs)
        unknown = any(one in self._hollow for one in tensors)
        if func in _READS or (
            torch.Tag.dynamic_output_shape in func.tags and not _is_a_selection(func, args)
        ):
            if unknown and func is item and args[0].is_floating_point() and args[0] not in self._drawn:
                return self._real_number(ValueNeededError(str(func)))
            if unknown:
                self._needed(ValueNeededError(str(func)))
            return func(*args, **kwargs)
        if func.is_view or func in _SHARES_STORAGE:
            return func(*args, **kwargs)
        unknown = unknown or _draws(func) or _is_large(tensors)
        if func.namespace == "c10d":
            return self._collective(func, args, kwargs, unknown=unknown)
        if schema_of(func).name in (
            "_c10d_functional::wait_tensor",
            "_c10d_functional::wait_tensors",
            "_c10d_functional::_wrap_tensor_autograd",
        ):
            return args[0]
        made = self._operation(func, args, kwargs, tensors, unknown=unknown)
        if _draws(func):
            for one in tensors_in(made):
                self._drawn.add(one)
        return made

    def _operation(
        self, func: OpOverload, args: Any, kwargs: Any, tensors: list[torch.Tensor], *, unknown: bool
    ) -> Any:
        returned, written, makes_new = _aliases(func)
        if not makes_new:
            if not unknown:
                return func(*args, **kwargs)
            self._written(func, args, kwargs, written)
            found = tuple(_argument(func, args, kwargs, one) for one in returned if one is not None)
            return found[0] if len(found) == 1 else found or None
        results = self._results_of(func, args, kwargs, unknown=unknown)
        if results is None:  # it has no rule for shapes: its values are computed, and mean nothing
            made = func(*args, **kwargs)
            if unknown:
                self._all_unknown(made)
            return made
        if not unknown and not results.is_large:
            return func(*args, **kwargs)
        self._written(func, args, kwargs, written)
        outputs = results.made if isinstance(results.made, tuple) else (results.made,)
        found = tuple(
            mapped(partial(self._allocated, results, tensors), one)
            if alias is None
            else _argument(func, args, kwargs, alias)
            for one, alias in zip(outputs, returned, strict=True)
        )
        return found if isinstance(results.made, tuple) else found[0]

    def _results_of(self, func: OpOverload, args: Any, kwargs: Any, *, unknown: bool) -> _Results | None:
        """Null if the operation has no rule for shapes, or reads values that are known."""
        key = (func, _shape_of(args), _shape_of(tuple(kwargs.items())))
        try:
            return self._results[key]
        except (KeyError, TypeError):  # not yet known; or with an argument that has no hash
            pass
        shapes = _Shapes()
        try:
            results = _Results(func(*shapes.of(args), **shapes.of_keywords(kwargs)), shapes)
        except NotImplementedError:
            return None
        except RuntimeError as error:
            if "cannot be called on meta tensors" not in str(error):
                raise
            if unknown:
                self._needed(ValueNeededError(str(func)))
            return None
        with suppress(TypeError):
            self._results[key] = results
        return results

    def _collective(self, func: OpOverload, args: Any, kwargs: Any, *, unknown: bool) -> Any:
        """The result of an operation of a process group, as if all ranks had taken part. The first argument is what it
        writes, or sends."""
        outputs = list(tensors_in(args[0]))
        if not unknown:
            func(*args, **kwargs)  # the fake group gives every rank this rank's values
        elif schema_of(func).name != "c10d::send":
            self._all_unknown(outputs)
        future: torch.futures.Future[Any] = torch.futures.Future()
        future.set_result(outputs)
        work = create_work_from_future(future).boxed()
        return work if len(schema_of(func).returns) == 1 else (args[0], work)

    def _allocated(self, results: _Results, tensors: list[torch.Tensor], shape: torch.Tensor) -> torch.Tensor:
        origin = results.origin_of(shape)
        if origin is not None:
            shared = tensors[origin]
            return shared.as_strided(
                shape.size(), shape.stride(), shared.storage_offset() + shape.storage_offset()
            )
        made = _memory(shape)
        self._hollow.add(made)
        return made

    def _written(self, func: OpOverload, args: Any, kwargs: Any, names: tuple[str, ...]) -> None:
        for name in names:
            if func is overflow_check and name == "found_inf":
                continue  # no gradient overflows
            self._all_unknown(_argument(func, args, kwargs, name))

    def _all_unknown(self, made: Any) -> None:
        for one in tensors_in(made):
            self._hollow.add(one)


def _memory(shape: torch.Tensor) -> torch.Tensor:
    size = shape.untyped_storage().nbytes()
    if size < _LARGEST_ALLOCATION:
        return torch.empty_strided(shape.size(), shape.stride(), dtype=shape.dtype, device="cpu")
    # Linux refuses to allocate more than there is, as for all gradients of a large model in one bucket, but not to map
    # it; such a tensor cannot be resized
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
    return torch.frombuffer(mapped, dtype=shape.dtype).as_strided(shape.size(), shape.stride())


class _ReadingMethods(TorchFunctionMode):
    """Refuses the methods that read memory without an operation."""

    def __init__(self, hollow: HollowStorages, needed: Callable[[ValueNeededError], NoReturn]) -> None:
        super().__init__()
        self._hollow = hollow
        self._needed = needed

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _READING_METHODS and type(args[0]) in PLAIN and args[0] in self._hollow:
            self._needed(ValueNeededError(f"{func.__name__}()"))
        return func(*args, **(kwargs or {}))


def _is_a_selection(func: OpOverload, args: Any) -> bool:
    """Whether it is an index by numbers, whose result has the shape of the numbers; a boolean mask must be read."""
    is_index = schema_of(func).name.startswith(("aten::index", "aten::_unsafe_index"))
    return is_index and not any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in args[1])


def _is_large(tensors: Iterable[torch.Tensor]) -> bool:
    numbers = integers = 0
    for one in tensors:
        if one.dtype.is_floating_point or one.dtype.is_complex:
            numbers += size_of(one)
        else:
            integers += size_of(one)
    return numbers > _COMPUTED_BYTES or integers > _COMPUTED_INTEGER_BYTES


class _Shapes:
    """The arguments of an operation on the meta device."""

    def __init__(self) -> None:
        self.made: list[torch.Tensor] = []
        """Each tensor among the arguments, in their order."""

    def of(self, arguments: Any) -> Any:
        return mapped(self._on_meta, arguments)

    def of_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        shapes = {name: self.of(one) for name, one in keywords.items()}
        if "device" in shapes:
            shapes["device"] = torch.device("meta")
            shapes.pop("pin_memory", None)
        return shapes

    def _on_meta(self, tensor: torch.Tensor) -> torch.Tensor:
        shape = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
        self.made.append(shape)
        return shape


class _Results:
    """The results of an operation on the meta device."""

    def __init__(self, made: Any, shapes: _Shapes) -> None:
        self.made = made
        self.is_large = _is_large(tensors_in(made))
        self._arguments = shapes.made  # alive as long as their numbers are used
        self._origins = {id(storage_of(one)): number for number, one in enumerate(shapes.made)}

    def origin_of(self, result: torch.Tensor) -> int | None:
        """The tensor among the arguments whose storage the result has, although the operation's schema does not say so:
        its number; null if none."""
        return self._origins.get(id(storage_of(result)))


def mapped(function: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:
    """An argument or a result of an operation with another tensor for each of its tensors, also in lists."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        others = [mapped(function, one) for one in value]
        return others if isinstance(value, list) else tuple(others)
    return value


def _shape_of(argument: Any) -> Any:
    """Equal for arguments with which an operation has results of the same shape, if it has tensors among them."""
    if isinstance(argument, torch.Tensor):
        return argument.size(), argument.stride(), argument.dtype
    if isinstance(argument, list | tuple):
        return tuple(map(_shape_of, argument))
    return type(argument), argument


@cache
def _draws(func: OpOverload) -> bool:
    """Whether it draws random numbers other than integers, which choose examples: parameters are never known."""
    integers = schema_of(func).name.startswith(("aten::randint", "aten::randperm", "aten::random_"))
    return torch.Tag.nondeterministic_seeded in func.tags and not integers


@cache
def _aliases(func: OpOverload) -> tuple[tuple[str | None, ...], tuple[str, ...], bool]:
    """For each result the argument that it is, null if it is new; the arguments that are written; whether there is a
    new result."""
    schema = schema_of(func)
    written = {
        next(iter(one.alias_info.before_set), one.name): one.name
        for one in schema.arguments
        if one.alias_info is not None and one.alias_info.is_write
    }
    returned = tuple(
        None if one.alias_info is None else written.get(next(iter(one.alias_info.before_set), ""))
        for one in schema.returns
    )
    return returned, tuple(written.values()), None in returned


def _argument(func: OpOverload, args: Any, kwargs: Any, name: str) -> Any:
    if name in kwargs:
        return kwargs[name]
    index = next(number for number, one in enumerate(schema_of(func).arguments) if one.name == name)
    return args[index] if index < len(args) else None


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage:
    """The tensor's storage. Raises NotImplementedError if it has none."""
    if tensor.layout is not torch.strided:
        raise NotImplementedError(
            f"a tensor has the layout {tensor.layout}, and a shadow counts dense tensors only: make it dense, as an "
            "embedding's gradient is with sparse=False"
        )
    return tensor.untyped_storage()
