"""The fingerprint of a run: what it was made with and where, for comparisons with other runs.

A flat object of text. A key that is missing is not known, or does not matter to the run. Which keys must be equal for
two runs to be compared as like with like, and which are only worth knowing, fingerprint_class.sql says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.files import digest
from bench.launch.environment import OBEYED
from bench.records.run_spec import RunSpec
from bench.records.vocabulary import DeviceType

Facts = Mapping[str, str]
"""Of one node, as environment.gather() finds them."""

_ALWAYS = ("torch", "python", "image", "training_code", "scalebench", "commit", "hostname")
_OF_A_DEVICE: dict[DeviceType, tuple[str, ...]] = {
    "cpu": ("cpu_model", "cpus_given"),
    "cuda": ("driver", "cuda"),
}
_AS = {"hostname": "nodes"}
"""Fact -> key, where they differ."""
_NOT_OF_A_RUN = ("repeats", "until", "max_repeats", "timeout_s", "nonfinite", "profiled", "selfcheck")
"""Of the measurement: how often, how long and until what, which changes no run that is ok; and what follows its
measured steps."""
_SETTINGS = (
    "workload_options", "data", "train", "strategy", "strategy_options", "scaling", "axis", "batch_per_rank",
    "global_batch",
)  # fmt: skip
"""Of a run, beside its workload and its measurement, that its training depends on. Threads are a key of their own."""


def fingerprint(spec: RunSpec, nodes: Sequence[Facts], said: Mapping[str, Any]) -> dict[str, str]:
    """Of the run `spec`: `nodes` are the facts of its own nodes, `said` is what its ranks said of themselves."""
    found = {"settings": _settings(spec), "device_type": spec.device_type}
    facts = [*_ALWAYS, *_OF_A_DEVICE[spec.device_type]]
    found |= {_AS.get(fact, fact): _distinct(node.get(fact) for node in nodes) for fact in facts}
    found["variables"] = _distinct(_variables(node) for node in nodes)
    if spec.device_type == "cuda":
        found |= _gpus(nodes, said)
    elif spec.axis != "threads":  # where they are the axis, they are the size
        found["threads"] = str(spec.threads)
    found |= {key: str(said[key]) for key in ("nccl", "transport") if said.get(key)}
    return {key: value for key, value in found.items() if value} | own_file(spec.workload)


def own_file(workload: str) -> dict[str, str]:
    """The content of the user's file that a workload `FILE.py:CLASS` comes from."""
    path = Path(workload.rpartition(":")[0])
    try:
        return {f"content of {path.name}": digest(path.read_bytes())} if ":" in workload else {}
    except OSError:  # taken away while it ran: that it did is in the run's outcome
        return {}


def _distinct(values: Iterable[str | None]) -> str:
    """All that differ, in order; empty where none is known."""
    return ", ".join(sorted({value for value in values if value}))


def _gpus(nodes: Sequence[Facts], said: Mapping[str, Any]) -> dict[str, str]:
    """Models as the ranks name their devices, else all of the nodes; limits of all devices of these models."""
    models = said.get("device_names") or [
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
    """`NCCL_ALGO=Ring NCCL_PROTO=LL`; `none set` where none is, which is known, too."""
    return " ".join(f"{key}={value}" for key, value in sorted(node.items()) if key in OBEYED) or "none set"


def _settings(spec: RunSpec) -> str:
    """Digest of what was asked for; of a user's own workload without the folder: `my_model.py:MyWorkload`."""
    asked = spec.to_json()
    own = ":" in spec.workload
    settings = {name: asked[name] for name in _SETTINGS} | {
        "workload": spec.workload.rpartition("/")[2] if own else spec.workload,
        "measure": {key: value for key, value in asked["measure"].items() if key not in _NOT_OF_A_RUN},
    }
    return digest(json.dumps(settings, sort_keys=True).encode())
