"""Which torch runs with a driver and its GPUs: the rows of the table "Which torch" in docs/cluster.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """One torch, as PyPI has it for Linux."""

    torch: str | None
    """Version for `--build-arg TORCH=`; null for the torch of uv.lock."""
    cuda: str
    driver: int
    """The oldest major version of the driver."""
    capability: tuple[int, int]
    """The oldest compute capability that it has code for."""


# Where these come from:
#   cuda, capability   torch.version.cuda and torch._C._cuda_getArchFlags() of each version
#   driver             https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
ROWS = (
    Row(torch=None, cuda="13.2", driver=580, capability=(7, 5)),
    Row(torch="2.10.0", cuda="12.8", driver=525, capability=(7, 0)),
    Row(torch="2.7.1", cuda="12.6", driver=525, capability=(5, 0)),
)
"""The newest torch first."""


def advice(driver: str | None, capabilities: Iterable[tuple[int, int] | None]) -> str:
    """What to install for this driver (`535.104.05`) and these GPUs. What is unknown rules nothing out."""
    number = (driver or "").split(".")[0]
    known = [capability for capability in capabilities if capability is not None]
    for row in ROWS:
        new_enough = not number.isdigit() or int(number) >= row.driver
        if new_enough and all(capability >= row.capability for capability in known):
            if row.torch is None:
                return "use the image as it is, or the torch of uv.lock: call ci/quickstart"
            return (
                f"build the image with `--build-arg TORCH={row.torch}`, or `pip install torch=={row.torch}`: it is "
                f"built for CUDA {row.cuda} (docs/cluster.md, Which torch)"
            )
    if number.isdigit() and int(number) < ROWS[-1].driver:
        return f"update the driver: {ROWS[-1].driver} or newer (docs/cluster.md, Which torch)"
    return (
        "use other GPUs: no torch that scalebench can use has code for these (docs/cluster.md, Which torch)"
    )
