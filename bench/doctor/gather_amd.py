"""Facts of AMD's driver: from the kernel, which containers share, and from amdsmi."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

from bench.doctor.facts import Amd, Gpu
from bench.machine import amd_gpus


def gather_amd() -> Amd:
    """The driver and its GPUs. A machine without them is not an error."""
    with amd_gpus.opened() as amdsmi:
        if amdsmi is not None:
            gpus = tuple(_gpu(amdsmi, index, handle) for index, handle in enumerate(amd_gpus.handles(amdsmi)))
        else:
            gpus = tuple(Gpu(index=index, name="GPU of AMD") for index in range(len(amd_gpus.uuids(None))))
    return Amd(kernel_driver=amd_gpus.kernel_driver(), has_amdsmi=amdsmi is not None, gpus=gpus)


def _gpu(amdsmi: ModuleType, index: int, handle: Any) -> Gpu:
    """Every fact that can be read; an odd GPU does not hide the others."""
    found = Gpu(index=index)
    try:
        found = replace(found, name=amd_gpus.name(amdsmi, handle) or found.name)
        return replace(found, memory_bytes=amd_gpus.memory_bytes(amdsmi, handle))
    except amd_gpus.errors(amdsmi) as error:
        return replace(found, problem=" ".join(str(error).split()))
