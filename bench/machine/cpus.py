"""The physical cores of this machine, and the cores of each rank. A CPU is a hardware thread, as Linux numbers them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from bench.common.system_files import number_in, text_of
from bench.records.messages import Gpu

SYSTEM_FILES = Path("/sys/devices/system/cpu")


def cores(allowed: Collection[int]) -> list[list[int]]:
    """The allowed CPUs by physical core, as `[[0, 112], [1, 113], ...]`, ordered by socket and NUMA node.

    A CPU of which Linux does not tell the place counts as a core of its own."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for cpu in sorted(allowed):
        found.setdefault(_place(cpu), []).append(cpu)
    return [found[place] for place in sorted(found)]


def _place(cpu: int) -> tuple[int, int, int]:
    """Socket, NUMA node, and the first CPU of the core."""
    files = SYSTEM_FILES / f"cpu{cpu}"
    nodes = [int(path.name[4:]) for path in files.glob("node[0-9]*")]
    socket = number_in(files / "topology/physical_package_id")
    try:
        siblings = numbers(text_of(files / "topology/thread_siblings_list"))
    except ValueError:
        siblings = []
    if socket is None or not siblings:
        return 0, 0, cpu
    return socket, min(nodes, default=0), min(siblings, default=cpu)


def numbers(text: str) -> list[int]:
    """The numbers of a list as Linux writes it: `0-2,7`. Raises ValueError if it is none."""
    ranges = [part.partition("-") for part in text.strip().split(",") if part]
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


def as_text(cpus: Collection[int]) -> str:
    """Numbers as Linux writes them: `0-2,7`."""
    found: list[list[int]] = []
    for cpu in sorted(cpus):
        if found and found[-1][1] == cpu - 1:
            found[-1][1] = cpu
        else:
            found.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def core_by_core(cores: Sequence[Sequence[int]]) -> list[int]:
    """One CPU of each core, then the second CPU of each, and so on."""
    siblings = max(map(len, cores), default=0)
    return [core[sibling] for sibling in range(siblings) for core in cores if sibling < len(core)]


def split(cores: Sequence[Sequence[int]], parts: int) -> list[list[int]]:
    """The CPUs of each of `parts` equal shares: whole cores, or single CPUs if there are fewer cores than shares. If
    there are fewer CPUs than shares, shares have CPUs in common."""
    if len(cores) >= parts:
        size = len(cores) // parts
        return [
            [cpu for core in cores[part * size : (part + 1) * size] for cpu in core] for part in range(parts)
        ]
    cpus = [cpu for core in cores for cpu in core]
    size = max(1, len(cpus) // parts)
    return [[cpus[(part * size + offset) % len(cpus)] for offset in range(size)] for part in range(parts)]


def near_gpus(cores: Sequence[Sequence[int]], gpus: Sequence[Gpu]) -> list[list[int]]:
    """CPUs for each GPU, in whole cores: GPUs that are near the same cores split them evenly. A GPU that is near none
    of these cores, or does not tell, gets cores that are near no GPU, or else a part of all."""
    near = [
        tuple(number for number, core in enumerate(cores) if not set(core).isdisjoint(gpu.cpus))
        for gpu in gpus
    ]
    everywhere = range(len(cores))
    near_none = tuple(number for number in everywhere if not any(number in numbers for numbers in near))
    near = [numbers or near_none or tuple(everywhere) for numbers in near]
    parts = {
        numbers: iter(split([cores[number] for number in numbers], near.count(numbers))) for numbers in near
    }
    return [next(parts[numbers]) for numbers in near]
