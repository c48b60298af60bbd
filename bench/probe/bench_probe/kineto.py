"""What torch's profiler tells about an event. Older versions, such as 2.11, do not tell the kind of an event, and tell
the bytes and the group of an NCCL collective only in a Chrome trace."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

CALL = "record_param_comms"
"""Name of the event in which torch describes an NCCL collective."""
_OF_THE_USER = 7
"""torch's RecordScope::USER_SCOPE."""


def annotations_of(events: Iterable[Any]) -> set[str]:
    """Names of all regions that record_function marked."""
    return {event.name() for event in events if event.scope() == _OF_THE_USER}


def kind_of(event: Any, annotations: set[str]) -> str | None:
    """Kineto's kind: cpu_op, user_annotation, kernel, ...; null for a kind that no profile needs and torch does not
    tell."""
    if hasattr(event, "activity_type"):
        kind: str = event.activity_type()
        return kind
    name: str = event.name()
    is_of_driver = name.startswith(("cuda", "Memcpy", "Memset"))
    if event.device_type() == torch.autograd.DeviceType.CUDA:  # type: ignore[attr-defined]
        # a marked region is also an event of the GPU, from its first kernel to its last
        return None if name in annotations or is_of_driver else "kernel"
    return "user_annotation" if event.scope() == _OF_THE_USER else None if is_of_driver else "cpu_op"


def needs_trace(events: Iterable[Any]) -> bool:
    """Whether only a Chrome trace tells what NCCL's collectives have sent."""
    return any(event.name() == CALL and not hasattr(event, "extra_meta") for event in events)


def calls_of(events: Sequence[Any], trace: Path | None) -> dict[int, dict[str, str]]:
    """torch's description of each NCCL collective, by the id that its kernels are linked to. `trace`: a Chrome trace of
    the same steps, if `needs_trace`."""
    if not needs_trace(events):
        return {event.correlation_id(): event.extra_meta() for event in events if event.name() == CALL}
    if trace is None:
        return {}
    found = {}
    with gzip.open(trace) if trace.suffix == ".gz" else trace.open("rb") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if event.get("name") == CALL:
            fields = {key: str(value) for key, value in event.get("args", {}).items()}
            if "External id" in fields:
                found[int(fields.pop("External id"))] = fields
    return found
