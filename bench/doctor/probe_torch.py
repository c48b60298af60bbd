"""A program that tries the parts of torch that ranks need and prints the facts as one line of JSON.

An all-reduce with a single rank already opens the network device (gloo: the address of the host's name) and, with NCCL,
the GPU. Most broken installations fail there.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any


def probe() -> dict[str, Any]:
    """The fields of bench.doctor.facts.Torch."""
    import torch
    from torch import distributed

    from bench.common.errors import InputError
    from bench.machine import gpus
    from bench.train import check_gpus

    try:
        visible = gpus.visible()
        cuda_error = check_gpus.problem(visible) if visible else _cuda_error()
    except InputError as error:  # a wrong CUDA_VISIBLE_DEVICES
        visible, cuda_error = [], str(error)
    devices = 0 if cuda_error else len(visible) or torch.cuda.device_count()
    for_gpus = torch.version.cuda is not None or torch.version.hip is not None
    has_nccl = for_gpus and distributed.is_nccl_available()
    return {
        "version": str(torch.__version__),
        "cuda_build": torch.version.cuda,
        "rocm_build": torch.version.hip,
        "cuda_devices": devices,
        "cuda_error": cuda_error,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if has_nccl else None,
        "nccl_error": _all_reduce_error("nccl", "cuda") if has_nccl and devices else None,
        "gloo_error": _all_reduce_error("gloo", "cpu"),
        "torchvision_error": _torchvision_error(),
    }


def _cuda_error() -> str | None:
    import torch

    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:  # AssertionError: a build without CUDA
        return _first_line(error)
    return None


def _all_reduce_error(backend: str, device: str) -> str | None:
    """Error of an all-reduce with one rank; null if it worked. A wrong sum is an error, too."""
    import torch
    from torch import distributed
    from torch.distributed import HashStore  # type: ignore[attr-defined]

    try:
        distributed.init_process_group(
            backend, store=HashStore(), rank=0, world_size=1, timeout=timedelta(seconds=30)
        )
        value = torch.ones(4, device=device)
        distributed.all_reduce(value)
        total = float(value.sum())
        distributed.destroy_process_group()
    except (RuntimeError, ValueError) as error:
        return _first_line(error)
    return None if total == 4 else f"the sum of four ones was {total}"


def _torchvision_error() -> str | None:
    try:
        import torchvision  # noqa: F401 - whether it fits torch
    except ModuleNotFoundError:
        return None  # few workloads need it
    except (ImportError, RuntimeError, OSError) as error:
        return _first_line(error)
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe()) + "\n")
