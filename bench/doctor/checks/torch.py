"""torch: whether it can be imported and can use the GPUs."""

from __future__ import annotations

from bench.doctor.facts import Facts, Torch
from bench.doctor.finding import Verdict, Verdicts, fail, ok
from bench.doctor.which_torch import advice

_REINSTALL = "install torch and torchvision of one release, as docs/install.md shows"
_LOOK = "see CUDA_VISIBLE_DEVICES and `nvidia-smi`"
_REMEDIES = {
    # CUDA's texts, from driver_types.h
    "system not yet initialized": "GPUs with NVSwitch need the fabric manager, in the driver's version: "
    "`systemctl start nvidia-fabricmanager`, or tell the administrators",
    "driver on your system is too old": "libcuda.so.1 is missing here or older than the driver: in a container, use "
    "the option that brings the host's; else update the driver",
    "busy or unavailable": "another process has a GPU for itself (compute mode exclusive): see `nvidia-smi -q -d "
    "COMPUTE`, or choose others with CUDA_VISIBLE_DEVICES",
}
"""Remedies, by a part of CUDA's error."""


def check(facts: Facts) -> Verdicts:
    torch = facts.torch
    if torch is None:
        yield fail(f"torch cannot be used: {facts.torch_error}", _REINSTALL)
        return
    if torch.torchvision_error:
        yield fail(f"torchvision does not fit torch {torch.version}: {torch.torchvision_error}", _REINSTALL)
    if torch.rocm_build:
        build = f"built for ROCm {torch.rocm_build}"
    else:
        build = f"built for CUDA {torch.cuda_build}" if torch.cuda_build else "built without CUDA"
    if not facts.gpus or facts.slots is None or facts.slots.cuda_devices_per_node == 0:
        yield ok(f"{torch.version}, {build}; no GPU to use")
    elif torch.cuda_devices > 0:
        yield ok(f"{torch.version}, {build}; uses {torch.cuda_devices} GPUs")
    else:
        yield _unusable(torch, facts)


def _unusable(torch: Torch, facts: Facts) -> Verdict:
    seen = f"{facts.gpus} GPUs are installed"
    if torch.rocm_build is not None:
        return fail(
            f"{seen}, but torch cannot use them: {torch.cuda_error}",
            "see ROCR_VISIBLE_DEVICES and `rocminfo`, and whether you may open /dev/kfd (group render)",
        )
    if torch.cuda_build is None:
        return fail(f"{seen}, but torch {torch.version} is built without CUDA", _REINSTALL)
    newest = facts.nvidia.cuda
    if newest is not None and newest[0] < int(torch.cuda_build.split(".")[0]):
        return fail(
            f"{seen}, but the driver runs CUDA up to {newest[0]}.{newest[1]} and torch needs {torch.cuda_build}",
            _other_torch(facts),
        )
    error = str(torch.cuda_error)
    if "has no code" in error:  # train/check_gpus.py
        return fail(f"{seen}, but torch cannot use them: {error}", _other_torch(facts))
    remedy = next((remedy for words, remedy in _REMEDIES.items() if words in error), _LOOK)
    return fail(f"{seen}, but torch cannot use them: {error}", remedy)


def _other_torch(facts: Facts) -> str:
    return advice(facts.nvidia.kernel_driver, [gpu.capability for gpu in facts.nvidia.gpus])
