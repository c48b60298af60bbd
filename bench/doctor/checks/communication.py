"""The backends of collectives, gloo for CPUs and NCCL or RCCL for GPUs, each tried with one rank."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, fail, ok


def check(facts: Facts) -> Verdicts:
    torch = facts.torch
    if torch is None:
        return
    if torch.gloo_error is None:
        yield ok("gloo works")
    else:
        yield fail(
            f"gloo does not work: {torch.gloo_error}",
            "make the host's name resolvable (a line in /etc/hosts), or set GLOO_SOCKET_IFNAME to an interface (lo)",
        )
    library = "RCCL" if facts.is_rocm else "NCCL"
    if torch.nccl_error is not None:
        yield fail(
            f"{library} {torch.nccl} does not work: {torch.nccl_error}",
            "call again with NCCL_DEBUG=INFO for its reason",
        )
    elif torch.cuda_devices > 0 and torch.nccl is None:
        yield fail(
            f"torch is built without {library}, which ranks on GPUs need",
            f"install torch for Linux with {'ROCm' if facts.is_rocm else 'CUDA'}",
        )
    elif torch.nccl is not None:
        yield ok(
            f"{library} {torch.nccl} "
            + ("works" if torch.cuda_devices else "is installed; no GPU to try it on")
        )
