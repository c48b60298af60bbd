"""The GPUs that this process may use, counted as CUDA does but without CUDA: a process that has touched CUDA cannot be
forked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pynvml

from bench.common.errors import InputError
from bench.machine import amd_gpus, gpu_vendor
from bench.records.messages import Gpu

UNKNOWN_GPU = "unknown"
"""The GPU of slices that do not tell it: they count as slices of the same one."""
_WORD_BITS = 64
"""Bits of a word of NVML's masks."""


def visible() -> list[Gpu]:
    """Whole GPUs and slices of this process. A GPU that is cut into slices counts as its slices, although CUDA shows a
    process only one of them. Empty without a driver. Raises InputError for a wrong CUDA_VISIBLE_DEVICES."""
    if gpu_vendor.is_amd():
        return amd_gpus.visible()
    return [gpu for gpu, _ in visible_with_handles()]


def visible_with_handles() -> list[tuple[Gpu, Any]]:
    """The same of NVIDIA's GPUs, each with NVML's handle, or null for a lost GPU."""
    with nvml() as works:
        if not works or (count := gpu_count()) == 0:  # `bench doctor` says why
            return []
        wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
        handles = dict.fromkeys(range(count)) | dict(gpu_handles())
        if wanted is None:
            chosen = [part for handle in handles.values() for part in _parts(handle)]
        elif wanted.strip() in gpu_vendor.NO_DEVICES:
            chosen = []
        else:
            chosen = _chosen(wanted, handles)
        found = [_gpu(index, handle) for index, handle in enumerate(chosen)]
        if any(gpu.sliced_gpu is not None for gpu in found):
            found = [replace(gpu, needs_its_name=gpu.uuid is not None) for gpu in found]
        return list(zip(found, chosen, strict=True))


@contextmanager
def nvml() -> Iterator[bool]:
    """Whether NVML can be used until the end of the block."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield False
        return
    try:
        yield True
    finally:
        pynvml.nvmlShutdown()


def nvml_problem() -> str | None:
    """Why NVML does not start; null if it does, and on a machine without a driver."""
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded):
        return None
    except pynvml.NVMLError as error:
        return str(error)
    pynvml.nvmlShutdown()
    return None


def gpu_count() -> int:
    """GPUs of the machine, including those that CUDA_VISIBLE_DEVICES hides."""
    try:
        return int(pynvml.nvmlDeviceGetCount())
    except pynvml.NVMLError:
        return 0


def gpu_handles() -> Iterator[tuple[int, Any]]:
    """Index and NVML's handle of each GPU of the machine that has one; a lost GPU has none."""
    for index in range(gpu_count()):
        with suppress(pynvml.NVMLError):
            yield index, pynvml.nvmlDeviceGetHandleByIndex(index)


def slices(handle: Any) -> list[Any] | None:
    """Handles of the MIG slices of a GPU in MIG mode; null if it is a whole GPU."""
    try:
        mode, _pending = pynvml.nvmlDeviceGetMigMode(handle)
        places = pynvml.nvmlDeviceGetMaxMigDeviceCount(handle) if mode == pynvml.NVML_DEVICE_MIG_ENABLE else 0
    except pynvml.NVMLError:  # GPUs without MIG, and those that do not permit the question
        return None
    if mode != pynvml.NVML_DEVICE_MIG_ENABLE:
        return None
    found = []
    for place in range(places):
        with suppress(pynvml.NVMLError):  # an empty place
            found.append(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place))
    return found


def _uuid(handle: Any) -> str | None:
    """Null if the GPU does not tell it."""
    with suppress(pynvml.NVMLError):
        return str(pynvml.nvmlDeviceGetUUID(handle))
    return None


def _parts(handle: Any) -> list[Any]:
    """The slices of a GPU, or itself. CUDA cannot use a GPU in MIG mode that has no slice."""
    cut = None if handle is None else slices(handle)
    return [handle] if cut is None else cut


def _chosen(wanted: str, handles: dict[int, Any]) -> list[Any]:
    """Handles of the entries of CUDA_VISIBLE_DEVICES."""
    uuids = {
        index: uuid
        for index, handle in handles.items()
        if handle is not None and (uuid := _uuid(handle)) is not None
    }
    found: dict[str, list[Any]] = {}
    for word in (entry.strip() for entry in wanted.split(",")):
        named = [index for index, uuid in uuids.items() if word.startswith("GPU-") and uuid.startswith(word)]
        if word.isdecimal() and int(word) in handles:
            key, parts = word.lstrip("0") or "0", _parts(handles[int(word)])
        elif len(named) == 1:
            key, parts = str(named[0]), _parts(handles[named[0]])
        elif (slice_handle := _slice(word)) is not None:
            key, parts = word, [slice_handle]
        else:
            have = f"GPUs 0 to {len(handles) - 1}" if len(handles) > 1 else "GPU 0 alone"
            raise InputError(
                f"CUDA_VISIBLE_DEVICES={wanted}: {word!r} is not a GPU of this machine, which has {have}: "
                "name those, or unset it to use all"
            )
        if key in found:
            raise InputError(
                f"CUDA_VISIBLE_DEVICES={wanted} names a GPU twice: CUDA would show none; name each once"
            )
        found[key] = parts
    chosen = [part for parts in found.values() for part in parts]
    told = [one for part in chosen if part is not None and (one := _uuid(part)) is not None]
    if len(set(told)) < len(told):  # a slice, and the GPU that it is part of
        raise InputError(f"CUDA_VISIBLE_DEVICES={wanted} names a slice twice: name each once")
    return chosen


def _slice(word: str) -> Any:
    """The handle of the slice with this UUID; null if there is none."""
    if word.startswith("MIG-"):
        with suppress(pynvml.NVMLError):
            return pynvml.nvmlDeviceGetHandleByUUID(word)
    return None


def _gpu(index: int, handle: Any) -> Gpu:
    """Every fact that NVML tells."""
    if handle is None:
        return Gpu(index=index)
    uuid = _uuid(handle)
    if uuid is None or not uuid.startswith("MIG-"):
        return Gpu(index=index, uuid=uuid, cpus=_near_cpus(handle))
    with suppress(pynvml.NVMLError):
        whole = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        return Gpu(index=index, uuid=uuid, sliced_gpu=_uuid(whole) or UNKNOWN_GPU, cpus=_near_cpus(whole))
    return Gpu(index=index, uuid=uuid, sliced_gpu=UNKNOWN_GPU)


def _near_cpus(handle: Any) -> list[int]:
    words = (os.cpu_count() or 1) // _WORD_BITS + 1
    with suppress(pynvml.NVMLError):
        masks = pynvml.nvmlDeviceGetCpuAffinity(handle, words)
        return [cpu for cpu in range(words * _WORD_BITS) if masks[cpu // _WORD_BITS] >> cpu % _WORD_BITS & 1]
    return []
