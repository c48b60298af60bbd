"""Asked by test_gpu_session.py in a process forked from the warm server, as a rank is."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from pathlib import Path


def main(answer: Connection, _question: str) -> None:
    import torch

    inherited = torch.cuda.is_initialized()
    contexts = [
        str(path) for path in map(_target, Path("/proc/self/fd").iterdir()) if path.name == "nvidia-uvm"
    ]
    torch.zeros(1, device="cuda").add_(1).item()  # which fails in a child of a process that had used CUDA
    answer.send_bytes(json.dumps({"inherited": inherited, "contexts": contexts}).encode())


def _target(descriptor: Path) -> Path:
    """What it is open on; only a CUDA context opens /dev/nvidia-uvm."""
    try:
        return descriptor.readlink()
    except OSError:  # the one that listed them
        return descriptor
