"""AMD's GPUs for a torch that is built for ROCm: how many HIP will see, by the kernel's files. Nothing else of them is
read, and no run on one was tried yet."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from bench.common.errors import InputError
from bench.common.system_files import text_of
from bench.machine import gpu_vendor
from bench.records.messages import Gpu

KERNEL_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""A folder for each CPU and GPU that the kernel's driver of compute has. Containers see it, too."""


def uuids() -> list[str | None]:
    """The UUID of each GPU as ROCR_VISIBLE_DEVICES has it, `GPU-` and 16 digits; null if it has none of its own, as the
    partitions of a GPU. A node whose file cannot be read or has no such number is left out."""
    found: list[str | None] = []
    nodes = [folder for folder in KERNEL_NODES.glob("*") if folder.name.isdecimal()]
    for node in sorted(nodes, key=lambda node: int(node.name)):
        text = text_of(node / "properties")  # empty for a GPU that the control group does not give
        facts = dict(re.findall(r"^(simd_count|unique_id) (\d{1,20})$", text, re.MULTILINE))
        if int(facts.get("simd_count", 0)):  # a CPU has 0
            number = int(facts.get("unique_id", 0))
            found.append(f"GPU-{number:016x}" if number else None)
    return [uuid if found.count(uuid) == 1 else None for uuid in found]


def visible() -> list[Gpu]:
    """The GPUs that HIP will see, found without HIP. Raises InputError for a wrong list of devices."""
    of_all = uuids()
    return [Gpu(index=index, uuid=of_all[place]) for index, place in enumerate(visible_indices(of_all))]


def visible_indices(of_all: Sequence[str | None]) -> list[int]:
    """Indices of the GPUs that HIP will see, in its order, out of the UUIDs of all. Raises InputError for an entry that
    is no GPU or names one twice: HIP would stop reading there."""
    left = list(range(len(of_all)))
    for variable in gpu_vendor.variables() if left else ():
        wanted = os.environ.get(variable)
        if wanted is not None:
            chosen = _chosen(variable, wanted, [of_all[index] for index in left])
            left = [left[index] for index in chosen]
    return left


def _chosen(variable: str, wanted: str, of_left: Sequence[str | None]) -> list[int]:
    if wanted.strip() in gpu_vendor.NO_DEVICES:
        return []
    found = [_index(word.strip(), of_left) for word in wanted.split(",")]
    have = f"GPUs 0 to {len(of_left) - 1}" if len(of_left) > 1 else "GPU 0 alone" if of_left else "no GPU"
    if None in found:
        word = wanted.split(",")[found.index(None)].strip()
        raise InputError(
            f"{variable}={wanted}: {word!r} is not a GPU of this machine, which has {have}: name those, or unset it "
            "to use all"
        )
    if len(set(found)) < len(found):
        raise InputError(f"{variable}={wanted} names a GPU twice: HIP would show none; name each once")
    return [index for index in found if index is not None]


def _index(word: str, of_left: Sequence[str | None]) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) < len(of_left) else None
    named = [
        index
        for index, uuid in enumerate(of_left)
        if word.startswith("GPU-") and uuid and uuid.startswith(word)
    ]
    return named[0] if len(named) == 1 else None
