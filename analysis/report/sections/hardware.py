"""The machine: devices, processors, memory, software, network and allocation of every node; differences are marked."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from markupsafe import Markup

from analysis.database.rows import Row
from analysis.report.html import units
from analysis.report.html.markup import differing, folded, text, text_cell
from analysis.report.html.render import render
from analysis.tables.column import Column

MOST_HOSTS = 8
"""Host names that the table shows; the CSV has all."""

Facts = Mapping[str, str]
"""Facts of one node, by key."""


def nodes_of(environment: list[Row]) -> dict[int, dict[str, str]]:
    """Facts by node, from rows of queries/environment.sql."""
    nodes: dict[int, dict[str, str]] = {}
    for row in environment:
        for node in row["nodes"].split(", "):
            nodes.setdefault(int(node), {})[row["key"]] = row["value"]
    return dict(sorted(nodes.items()))


def hardware(session: Row, environment: list[Row], fingerprint: list[Row]) -> Markup:
    """The facts of the machine in groups, other facts folded, then the facts in which runs of the session differ.
    `session`, `environment` and `fingerprint` are from queries/session.sql, environment.sql and fingerprint.sql."""
    nodes = nodes_of(environment)
    groups = [(text(title), list(_lines(nodes, read))) for title, read in _GROUPS]
    groups[0] = (groups[0][0], [*_slots(session, nodes), *groups[0][1]])
    groups = [(title, lines) for title, lines in groups if lines]
    if not groups:
        return Markup()
    others = sorted(_lines(nodes, _other_facts), key=lambda line: not line["differs"])
    return render(
        "sections/hardware",
        columns=_COLUMNS if len(nodes) > 1 else _COLUMNS[:2],
        groups=groups,
        others=others,
        different_columns=_DIFFERENT_COLUMNS,
        different=fingerprint,
        is_serious=any(row["class"] == "must_equal" for row in fingerprint),
    )


def _slots(session: Row, nodes: Mapping[int, Facts]) -> Iterator[Row]:
    """Where the session's ranks ran."""
    if session["devices"]:
        yield _everywhere("ranks ran on", session["devices"])
    slots = json.loads(session["slots"] or "{}")
    if "nodes" in slots:
        yield _everywhere("nodes", f"{slots['nodes']:,}")
        yield _everywhere("slots per node", f"{slots['slots_per_node']:,} (ranks at once)")
    hosts = [facts["hostname"] for facts in nodes.values() if "hostname" in facts]  # always differ
    if hosts:
        more = f" and {len(hosts) - MOST_HOSTS:,} more" if len(hosts) > MOST_HOSTS else ""
        yield _everywhere("hosts" if len(hosts) > 1 else "host", ", ".join(hosts[:MOST_HOSTS]) + more)


def _everywhere(name: str, value: str) -> Row:
    return {"name": name, "value": value, "nodes": "all", "differs": False}


def _lines(
    nodes: dict[int, dict[str, str]], read: Callable[[Facts], Iterable[tuple[str, str]]]
) -> Iterator[Row]:
    """One row per fact if all nodes agree, else one per value."""
    found = {node: dict(read(facts)) for node, facts in nodes.items()}
    for name in dict.fromkeys(name for facts in found.values() for name in facts):
        where: dict[str | None, list[int]] = {}
        for node, facts in found.items():
            where.setdefault(facts.get(name), []).append(node)
        for value, of in where.items():
            agree = len(where) == 1
            shown = "all" if agree else ranges(of)
            yield {"name": name, "value": value, "nodes": shown, "differs": not agree}


def ranges(numbers: list[int]) -> str:
    """Ascending numbers as text: `0–3, 7`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def _devices(facts: Facts) -> Iterator[tuple[str, str]]:
    kinds = Counter(_device(facts, key) for key in facts if re.fullmatch(r"gpu\d+_name", key))
    if kinds:
        yield "GPUs per node", "; ".join(f"{count} × {kind}" for kind, count in kinds.items())
    if "cpus_given" in facts and "cpus_online" in facts:
        yield "CPU cores per node", f"{facts['cpus_given']} given of {facts['cpus_online']} online"
    if "memory_bytes" in facts:
        yield "memory per node", _bytes(facts["memory_bytes"])
    yield from _named(facts, _DEVICES)


def _device(facts: Facts, name_key: str) -> str:
    """A GPU as text: `NVIDIA H200, 141 GiB, power limit 700 W`."""
    prefix = name_key.removesuffix("name")
    parts = [facts[name_key]]
    if memory := facts.get(f"{prefix}memory_bytes"):
        parts.append(_bytes(memory))
    if watts := facts.get(f"{prefix}power_limit_w"):
        parts.append(f"power limit {float(watts):g}\u00a0W" if re.fullmatch(r"[\d.]+", watts) else watts)
    return ", ".join(parts)


def _bytes(value: str) -> str:
    return units.bytes_(float(value)) if value.isdigit() else value


def _named(facts: Facts, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((label, facts[key]) for key, label in labels.items() if key in facts)


def _beginning(pattern: str) -> Callable[[Facts], Iterator[tuple[str, str]]]:
    return lambda facts: ((key, value) for key, value in facts.items() if re.match(pattern, key))


_DEVICES = {
    "cpu_model": "CPU",
    "driver": "GPU driver",
    "CUDA_VISIBLE_DEVICES": "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES": "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES": "ROCR_VISIBLE_DEVICES",
    "OMP_NUM_THREADS": "OMP_NUM_THREADS",
    "MKL_NUM_THREADS": "MKL_NUM_THREADS",
    "PYTORCH_ALLOC_CONF": "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_CUDA_ALLOC_CONF",
    "CUDA_LAUNCH_BLOCKING": "CUDA_LAUNCH_BLOCKING",
}
_SOFTWARE = {
    "torch": "PyTorch",
    "cuda": "CUDA",
    "rocm": "ROCm",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "rccl": "RCCL",
    "gloo": "gloo",
    "python": "Python",
    "scalebench": "scalebench",
    "commit": "scalebench's commit",
    "user_repository": "your repository",
    "user_commit": "your commit",
    "training_code": "digest of the code that ranks execute",
    "container": "container",
    "image": "digest of the image's labels",
    "os": "operating system",
}
_NETWORK = r"(?i:transport_|nccl_|gloo_|ucx_|nvlink|ib_|infiniband|interconnect|topology|pcie|fabric)"
_ALLOCATION = r"(?i:slurm)"
_GROUPS: tuple[tuple[str, Callable[[Facts], Iterable[tuple[str, str]]]], ...] = (
    ("Devices", _devices),
    ("Software", lambda facts: _named(facts, _SOFTWARE)),
    ("Network", _beginning(_NETWORK)),
    ("Allocation", _beginning(_ALLOCATION)),
)


def _other_facts(facts: Facts) -> Iterator[tuple[str, str]]:
    """Facts outside the groups, including those of single devices, so that no fact is left out."""
    shown = {*_DEVICES, *_SOFTWARE, "hostname", "cpus_given", "cpus_online", "memory_bytes"}
    grouped = re.compile(f"{_NETWORK}|{_ALLOCATION}")
    return ((key, value) for key, value in facts.items() if key not in shown and not grouped.match(key))


def _value(row: Row) -> str:
    return units.UNKNOWN if row["value"] is None else folded(row["value"])


_COLUMNS = [
    Column("fact", text_cell("name")),
    Column("value", lambda line: differing(_value(line)) if line["differs"] else _value(line)),
    Column("nodes", text_cell("nodes")),
]
_WEIGHTS = {"must_equal": "must be equal", "worth_knowing": "worth knowing"}
_DIFFERENT_COLUMNS = [
    Column("fact", text_cell("key")),
    Column("value", lambda row: differing(_value(row))),
    Column("weight", lambda row: text(_WEIGHTS[row["class"]])),
    Column("runs", lambda row: f"{row['runs']:,} on {row['device_type']}", number=True),
    Column("the first", text_cell("first_run")),
]
