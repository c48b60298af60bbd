"""test_gpu_session.py runs this in a process forked from the warm server, as a rank is."""

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
    torch.zeros(1, device="cuda").add_(1).item()  # fails in a child of a process that has used CUDA
    answer.send_bytes(json.dumps({"inherited": inherited, "contexts": contexts}).encode())


def _target(descriptor: Path) -> Path:
    """The open file behind a descriptor; only a CUDA context opens /dev/nvidia-uvm."""
    try:
        return descriptor.readlink()
    except OSError:  # the descriptor that listed the others
        return descriptor
