"""The fingerprint of a run: its code, machine and settings, for comparisons with other runs.

It is a flat object of text. A missing key is unknown or does not matter for the run. The macro fingerprint_class says
which keys must be equal for a fair comparison of two runs, and which are only shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.common.custom_file import label
from bench.common.files import digest
from bench.machine.environment import OBEYED
from bench.machine.user_code import UserCode
from bench.records.run_spec import RunSpec, settings_digest
from bench.records.vocabulary import COMMAND, DeviceType

Facts = Mapping[str, str]
"""Facts of one node: environment.gather()."""

_ALWAYS = ("torch", "python", "image", "training_code", "scalebench", "commit", "hostname")
_OF_A_DEVICE: dict[DeviceType, tuple[str, ...]] = {
    "cpu": ("cpu_model", "cpus_given"),
    "cuda": ("driver", "cuda", "rocm"),
}
_AS = {"hostname": "nodes"}
"""Keys of the fingerprint by fact, if their names differ."""


def fingerprint(
    spec: RunSpec, nodes: Sequence[Facts], rank_facts: Mapping[str, Any], user_code: UserCode | None = None
) -> dict[str, str]:
    """The fingerprint of the run `spec`, from the facts of its nodes, what its ranks reported, and the user's code."""
    found = {"settings": _settings(spec, rank_facts), "device_type": spec.device_type}
    facts = [*_ALWAYS, *_OF_A_DEVICE[spec.device_type]]
    found |= {_AS.get(fact, fact): _distinct(node.get(fact) for node in nodes) for fact in facts}
    found["variables"] = _distinct(_variables(node) for node in nodes)
    if spec.device_type == "cuda":
        found |= _gpus(nodes, rank_facts)
    elif spec.axis != "threads":  # on the threads axis they are the size, not a setting
        found["threads"] = str(spec.threads)
    found |= {key: str(rank_facts[key]) for key in ("nccl", "rccl", "transport") if rank_facts.get(key)}
    own = custom_files(spec)
    if user_code is not None:
        own |= user_code.facts(rank_facts.get("modules", {}))
    return {key: value for key, value in found.items() if value} | own


def custom_files(spec: RunSpec) -> dict[str, str]:
    """Digests of the user's files that the suite names, as in `FILE.py:CLASS`. Files of one name share a key."""
    found: dict[str, set[str]] = {}
    for path in map(Path, spec.custom_files):
        with suppress(OSError):  # removed during the run; the run's outcome says so
            content = digest(path.read_bytes())
            found.setdefault(f"content of {path.name}", set()).add(content)
    return {key: _distinct(digests) for key, digests in found.items()}


def _distinct(values: Iterable[str | None]) -> str:
    """The distinct known values, sorted; empty if none is known."""
    return ", ".join(sorted({value for value in values if value}))


def _gpus(nodes: Sequence[Facts], rank_facts: Mapping[str, Any]) -> dict[str, str]:
    """GPU models as ranks report them, or else those of the nodes; and power limits of all GPUs of these models."""
    models = rank_facts.get("device_names") or [
        value for node in nodes for key, value in node.items() if re.fullmatch(r"gpu\d+_name", key)
    ]
    limits = [
        f"{float(limit):g}"
        for node in nodes
        for key, model in node.items()
        if re.fullmatch(r"gpu\d+_name", key) and any(model in name for name in models)
        if (limit := node.get(key.replace("_name", "_power_limit_w")))
    ]
    return {"gpu": _distinct(models), "gpu_power_limit_w": _distinct(limits)}


def _variables(node: Facts) -> str:
    """Such as `NCCL_ALGO=Ring NCCL_PROTO=LL`; `none set` if no variable is set, since an empty value means unknown."""
    return " ".join(f"{key}={value}" for key, value in sorted(node.items()) if key in OBEYED) or "none set"


def _settings(spec: RunSpec, rank_facts: Mapping[str, Any]) -> str:
    """Digest of the settings. The folders of a user's own files are left out: `my_model.py:MyWorkload`. Empty for a
    command of which a rank ended too early to report: the batch is among the settings, and only the probes count it."""
    if spec.workload == COMMAND and len(rank_facts.get("commands", ())) < spec.world_size:
        return ""
    named = {"workload": label(spec.workload), "strategy": label(spec.strategy)}
    return settings_digest(spec.to_json() | named)
