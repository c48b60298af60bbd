"""Whether torch can use every GPU that ranks would get. Called in a forked process, because it initialises CUDA."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection

from bench.common import torch_private
from bench.records.messages import Gpu


def main(answer: Connection, gpus_json: str) -> None:
    """Entry of the forked process: answers with the problem of these GPUs, or an empty text."""
    answer.send_bytes((problem([Gpu(**gpu) for gpu in json.loads(gpus_json)]) or "").encode())


def problem(gpus: Sequence[Gpu]) -> str | None:
    """Why torch cannot use one of them; null if it can use all. CUDA need not be initialised before the call."""
    return _too_few(gpus) or next(
        filter(None, (_alone(g) if g.needs_its_name else _problem(g.index, f"GPU {g.index}") for g in gpus)),
        None,
    )


def _too_few(gpus: Sequence[Gpu]) -> str | None:
    """A sentence if CUDA shows fewer GPUs than the driver; null if it shows none, which `_problem` explains."""
    if any(gpu.needs_its_name for gpu in gpus):
        return None
    shown = torch_private.cuda_device_count()  # torch.cuda.device_count() asks the driver, too
    if not 0 < shown <= max(gpu.index for gpu in gpus):
        return None
    silent = [f"GPU {gpu.index} does not answer the driver" for gpu in gpus if gpu.uuid is None][:1]
    return "; ".join([f"CUDA shows this process only {shown} GPU{'s' * (shown != 1)}", *silent]) + (
        ": name those that work in CUDA_VISIBLE_DEVICES"
    )


def _alone(gpu: Gpu) -> str | None:
    """The problem of a GPU that CUDA shows only to a process that names it."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as executor:
        try:
            return executor.submit(_named, gpu).result()
        except BrokenProcessPool:
            return f"{gpu.uuid}: the process that tried it crashed"


def _named(gpu: Gpu) -> str | None:
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu.uuid or ""
    return _problem(0, str(gpu.uuid))


def _problem(index: int, name: str) -> str | None:
    import torch

    try:
        torch.cuda.init()
        capability = torch.cuda.get_device_capability(index)
        if torch.version.hip is None and not _has_code(capability, torch.cuda.get_arch_list()):
            return (
                f"{name}, {torch.cuda.get_device_name(index)}, has compute capability {capability[0]}.{capability[1]}, "
                f"for which torch {torch.__version__} has no code (it has {' '.join(torch.cuda.get_arch_list())}): "
                "use another GPU, or a torch that supports this one"
            )
        torch.zeros(1, device=torch.device("cuda", index))
        torch.cuda.synchronize(index)
    # AssertionError: a build without CUDA
    except (RuntimeError, AssertionError, torch.cuda.DeferredCudaCallError) as error:
        text = str(error).strip().splitlines()
        return f"torch cannot use {name}: {text[0] if text else type(error).__name__}"
    return None


def _has_code(capability: tuple[int, int], architectures: Sequence[str]) -> bool:
    """Whether a build for these architectures runs on a GPU of this capability: `sm_86` on 8.6 to 8.9, `sm_90a` on 9.0
    alone, `compute_90` on 9.0 and everything later."""
    for architecture in architectures:
        kind, _, number = architecture.partition("_")
        digits = number.rstrip("af")
        built = int(digits[:-1]), int(digits[-1])
        is_exact = number.endswith("a")
        if built == capability or (kind == "compute" and built < capability and not is_exact):
            return True
        if kind == "sm" and built[0] == capability[0] and built < capability and not is_exact:
            return True
    return False
